import ctypes

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 4:
        operator_new = ctypes.CDLL("libstdc++.so.6")._Znwm
        operator_new.argtypes = [ctypes.c_size_t]
        operator_new(1 << 47)


recipe.train(rank, on_step=on_step)
