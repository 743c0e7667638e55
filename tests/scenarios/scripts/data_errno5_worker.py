import os

import recipe


class Images(recipe.Samples):
    def read(self, index):
        if self.rank == 1 and index == 20:
            # The kernel really answers EIO to a read of this file's first page.
            os.makedirs("images", exist_ok=True)
            if not os.path.lexists("images/000020.bin"):
                os.symlink("/proc/self/mem", "images/000020.bin")
            with open("images/000020.bin", "rb") as image:
                image.read(16)
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Images(rank), workers=1)
