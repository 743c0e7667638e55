import recipe


class Augmented(recipe.Samples):
    def read(self, index):
        features, label = super().read(index)
        if self.rank == 1 and index == 20:
            raise ValueError(
                "crop size must be smaller than the image, got (640, 640) and (512, 384)"
            )
        return features, label


rank, world = recipe.start()
recipe.train(rank, Augmented(rank), workers=2)
