import ctypes
import mmap

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 3:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\x0f\x0b")  # ud2, what a wheel built for a newer processor amounts to
        ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


recipe.train(rank, on_step=on_step)
