import sys

import recipe

rank, world = recipe.start()


def bar(step, loss):
    done = "#" * (step + 1)
    sys.stderr.write(
        f"\rTraining: {(step + 1) * 100 // 12:3d}%|{done:<12}| {step + 1}/12 loss={loss:.3f}"
    )
    sys.stderr.flush()


recipe.train(rank, report=bar)
sys.stderr.write("\n")
print("Done.")
