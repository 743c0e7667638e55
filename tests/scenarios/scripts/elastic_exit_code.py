import sys
from pathlib import Path

import recipe

rank, world = recipe.start()
first = Path(f"attempted.{rank}")
leave = rank == 1 and not first.exists()
first.touch()


def on_step(step):
    if leave and step == 3:
        print("peers changed, asking the launcher for a restart")
        sys.exit(101)


recipe.train(rank, on_step=on_step)
print("training finished")
