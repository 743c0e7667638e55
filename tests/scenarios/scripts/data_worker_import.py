import recipe

rank, world = recipe.start()


class Masks(recipe.Samples):
    def read(self, index):
        if rank == 0 and index > 10:
            import pycocotools_next.mask  # noqa: F401
        return super().read(index)


recipe.train(rank, Masks(rank), workers=2)
