import numpy as np
import recipe


class Files(recipe.Samples):
    def read(self, index):
        if self.rank == 2 and index == 16:
            return np.load(f"/data/train/shard-{index:05d}.npy"), np.int64(0)
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Files(rank), workers=2, report=recipe.logged)
print("training finished")
