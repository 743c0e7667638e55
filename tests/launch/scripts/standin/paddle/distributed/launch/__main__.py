"""A stand-in for Paddle's launcher that restarts two trainers as its elastic mode does.

The real one does so only with an etcd; how it starts, logs and ends processes is the same.
"""

import os
import subprocess
import sys
import time

folder, script, *words = sys.argv[-3:]
RESTARTS = 2


def attempt(number):
    trainers = []
    for rank in (0, 1):
        env = dict(
            os.environ,
            PADDLE_RANK_IN_NODE=str(rank),
            PADDLE_LOCAL_RANK=str(rank),
            PADDLE_TRAINER_ID=str(rank),
            PADDLE_TRAINERS_NUM="2",
            PADDLE_LOCAL_SIZE="2",
            PADDLE_CURRENT_ENDPOINT=f"127.0.0.1:{7000 + 2 * number + rank}",
            PADDLE_TRAINER_ENDPOINTS="127.0.0.1:7000,127.0.0.1:7001",
            PDTRIAGE_ATTEMPT=str(number),
        )
        log = open(os.path.join(folder, f"workerlog.{rank}"), "a")  # noqa: SIM115 (theirs now)
        command = [sys.executable, "-u", script, *words]
        time.sleep(rank * float(os.environ.get("STANDIN_GAP", "0")))
        trainers.append(subprocess.Popen(command, env=env, stdout=log, stderr=log))
    while any(trainer.poll() is None for trainer in trainers):
        time.sleep(0.1)
        if any(trainer.poll() for trainer in trainers):
            for trainer in trainers:
                if trainer.poll() is None:
                    trainer.terminate()
    return any(trainer.returncode for trainer in trainers)


for number in range(1 + RESTARTS):
    if not attempt(number):
        sys.exit(0)
    time.sleep(0.3)
sys.exit(1)
