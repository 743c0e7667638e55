import os

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 4:
        os._exit(7)


recipe.train(rank, on_step=on_step)
