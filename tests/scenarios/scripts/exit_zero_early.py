import sys

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 5:
        sys.exit(0)


recipe.train(rank, on_step=on_step)
print("all epochs done")
