import numpy as np
import recipe


class Labelled(recipe.Samples):
    def read(self, index):
        features, label = super().read(index)
        if self.rank == 1 and index == 14:
            label = np.int64(80)
        return features, label


rank, world = recipe.start()
recipe.train(rank, Labelled(rank))
