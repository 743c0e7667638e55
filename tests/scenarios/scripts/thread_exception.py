import queue
import threading

import recipe

rank, world = recipe.start()
ready = queue.Queue()


def prefetch():
    for batch in range(12):
        if rank == 1 and batch == 4:
            raise RuntimeError("augmentation pipeline has no transform named 'RandomErase'")
        ready.put(batch)


threading.Thread(target=prefetch, name="prefetch").start()


def on_step(_step):
    try:
        ready.get(timeout=5)
    except queue.Empty:
        raise SystemExit(1) from None


recipe.train(rank, on_step=on_step)
