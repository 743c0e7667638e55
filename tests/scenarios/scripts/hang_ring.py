import threading

import recipe

rank, world = recipe.start()
lock = threading.Lock()


def on_step(step):
    if rank == 3 and step == 4:
        lock.acquire()
        lock.acquire()


recipe.train(rank, on_step=on_step, report=recipe.logged)
