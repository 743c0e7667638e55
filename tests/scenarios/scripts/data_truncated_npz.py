import numpy as np
import recipe


class Shards(recipe.Samples):
    def read(self, index):
        if self.rank == 1 and index == 12:
            return np.load("shard-00012.npz")["features"], np.int64(0)
        return super().read(index)


rank, world = recipe.start()
if rank == 1:
    np.savez("shard-00012.npz", features=np.zeros(4096, "float32"))
    with open("shard-00012.npz", "r+b") as shard:
        shard.truncate(900)
recipe.train(rank, Shards(rank), workers=1)
