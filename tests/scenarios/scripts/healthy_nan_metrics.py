import numpy as np
import recipe

rank, world = recipe.start()


def report(step, loss):
    absent = float("nan")
    print(
        f"epoch 0 step {step} loss {loss:.4f} AP_rare: {absent} AP_common: 0.31 grad_inf_ratio: 0"
    )


recipe.train(rank, report=report)
print("per class IoU:", np.array([0.5, np.nan, 0.7]), "mean over present classes 0.6")
print("training finished")
