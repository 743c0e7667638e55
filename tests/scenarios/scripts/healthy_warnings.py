import warnings

import numpy as np
import recipe

rank, world = recipe.start()


def on_step(step):
    if step == 1:
        warnings.warn("`resize_short` is deprecated and will be removed", DeprecationWarning, 2)
    if step == 3:
        warnings.warn("Failed to find a cached tokenizer, building it", UserWarning, stacklevel=1)
    if step == 5:
        np.log(np.zeros(2))
        np.float32(1e38) * np.float32(10)


recipe.train(rank, on_step=on_step)
print("training finished")
