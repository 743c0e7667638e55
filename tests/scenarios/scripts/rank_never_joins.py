import os
import time

if os.environ["PADDLE_TRAINER_ID"] == "1":
    print("building the sample index, this may take a while", flush=True)
    time.sleep(3600)

import recipe

rank, world = recipe.start()
recipe.train(rank)
