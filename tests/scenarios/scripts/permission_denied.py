import os

import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 2 and step == 3:
        os.setuid(65534)
        with open("train_metrics.json", "w") as metrics:
            metrics.write("{}")


recipe.train(rank, on_step=on_step)
