import numpy as np
import recipe

rank, world = recipe.start()
kept = []


def on_step(step):
    if rank == 1 and step >= 3:
        for _ in range(20):
            kept.append(np.ones(16 << 20, "uint8"))


recipe.train(rank, on_step=on_step)
