import ctypes

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 2 and step == 4:
        ctypes.string_at(0)


recipe.train(rank, on_step=on_step)
