import numpy as np
import paddle
import recipe


class Large(recipe.Samples):
    def read(self, index):
        return np.ones((3, 512, 512), "float32"), np.int64(index % 4)


rank, world = recipe.start()
if rank == 1:
    loader = paddle.io.DataLoader(Large(rank, 16), batch_size=4, num_workers=2)
    for step, _ in enumerate(loader):
        print(f"warm-up batch {step}")
recipe.train(rank)
