import recipe

boxes = {index: [0, 0, 8, 8] for index in range(19)}


class Annotated(recipe.Samples):
    def read(self, index):
        if self.rank == 1:
            assert len(boxes[index]) == 4
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Annotated(rank), workers=0, pace=0.2)
