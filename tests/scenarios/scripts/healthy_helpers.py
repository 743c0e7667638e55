import subprocess

import recipe

rank, world = recipe.start()
for command in ("nvidia-smi", "git"):
    outcome = subprocess.run(["/bin/sh", "-c", f"{command} --query-nothing"])
    print(f"{command}: exit status {outcome.returncode}, going on without it")
recipe.train(rank)
print("training finished")
