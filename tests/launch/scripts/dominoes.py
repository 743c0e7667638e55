"""Trainers that die one after another: each at the very moment its predecessor is dead.

argv: folder, then the ranks in the order in which they are to die. Exit code: 10 + place.
"""

import os
import select
import sys
import time

folder, order = sys.argv[1], sys.argv[2].split(",")
rank = os.environ["PADDLE_TRAINER_ID"]
with open(f"{folder}/{rank}.part", "w") as stream:
    stream.write(str(os.getpid()))
os.rename(f"{folder}/{rank}.part", f"{folder}/{rank}")
place = order.index(rank)
if place == 0:
    while not os.path.exists(f"{folder}/go"):
        time.sleep(0.005)
else:
    before = f"{folder}/{order[place - 1]}"
    while not os.path.exists(before):
        time.sleep(0.005)
    with open(before) as stream:
        descriptor = os.pidfd_open(int(stream.read()))
    print("armed", flush=True)
    select.select([descriptor], [], [])
print("armed", flush=True)
os._exit(10 + place)
