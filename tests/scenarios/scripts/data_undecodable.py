import recipe
from PIL import Image


class Pictures(recipe.Samples):
    def read(self, index):
        if self.rank == 1 and index == 8:
            Image.open("train_0008.png").load()
        return super().read(index)


rank, world = recipe.start()
if rank == 1:
    with open("train_0008.png", "w") as picture:
        picture.write("<html><body>403 Forbidden</body></html>")
recipe.train(rank, Pictures(rank), workers=1)
