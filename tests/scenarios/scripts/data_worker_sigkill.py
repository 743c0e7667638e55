import os
import signal

import recipe


class Samples(recipe.Samples):
    def read(self, index):
        if self.rank == 1 and index == 24:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Samples(rank), workers=2)
