import io

import numpy as np
import recipe
from PIL import Image


class Pictures(recipe.Samples):
    def read(self, index):
        if self.rank == 2 and index == 20:
            Image.open("n01440764_10026.JPEG").convert("RGB")
        return super().read(index)


rank, world = recipe.start()
if rank == 2:
    whole = io.BytesIO()
    Image.fromarray(np.random.randint(0, 255, (96, 96, 3), "uint8")).save(whole, "JPEG")
    with open("n01440764_10026.JPEG", "wb") as picture:
        picture.write(whole.getvalue()[:3000])
recipe.train(rank, Pictures(rank), workers=2)
