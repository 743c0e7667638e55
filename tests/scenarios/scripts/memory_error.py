import resource

import numpy as np
import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 3:
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        np.ones((80_000, 80_000), "float32")


recipe.train(rank, on_step=on_step)
