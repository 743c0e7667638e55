"""Trainers that die within moments, each only when the one before it is dead.

As a trainer, `dominoes.py FOLDER` leaves its pid in the folder and becomes a small sleeping
process. Started by hand, `dominoes.py FOLDER 3,0,2,…` kills the ranks in that order and prints how
many milliseconds lay between the first and the last death.
"""

import os
import select
import signal
import sys
import time
from pathlib import Path

folder = Path(sys.argv[1])


def sleep_as(rank):
    part = folder / f"{rank}.part"
    part.write_text(str(os.getpid()))
    part.rename(folder / rank)
    os.execvp("sleep", ["sleep", "300"])


def topple(order):
    fallen = []
    for pid in [sleeping(folder / rank) for rank in order]:
        death = select.epoll()
        death.register(os.pidfd_open(pid), select.EPOLLIN)
        os.kill(pid, signal.SIGKILL)
        death.poll()
        fallen.append(time.monotonic())
    print(round((fallen[-1] - fallen[0]) * 1000, 2))


def sleeping(path):
    """The pid of a trainer, once it is nothing but asleep: a big process takes long to die."""
    while not path.exists():
        time.sleep(0.01)
    pid = int(path.read_text())
    while Path(f"/proc/{pid}/comm").read_text().strip() != "sleep":
        time.sleep(0.01)
    return pid


if len(sys.argv) > 2:
    topple(sys.argv[2].split(","))
else:
    sleep_as(os.environ["PADDLE_TRAINER_ID"])
