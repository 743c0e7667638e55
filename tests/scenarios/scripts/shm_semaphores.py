import os

import recipe

rank, world = recipe.start()
if rank == 1:
    with open("/dev/shm/feature-cache", "wb") as cache:
        cache.write(bytes(os.statvfs("/dev/shm").f_bavail * os.statvfs("/dev/shm").f_bsize))
recipe.train(rank, workers=2 if rank == 1 else 0)
