import resource

import paddle
import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 2 and step == 3:
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        paddle.zeros([80_000, 80_000])


recipe.train(rank, on_step=on_step)
