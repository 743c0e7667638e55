import ctypes

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 3:
        # lldiv(1, 0): the processor itself refuses the division
        ctypes.CDLL("libc.so.6").lldiv(ctypes.c_longlong(1), ctypes.c_longlong(0))


recipe.train(rank, on_step=on_step)
