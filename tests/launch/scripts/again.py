"""A trainer whose rank does something else in each attempt: `again.py 1=exit:7,kill,exit:0`.

exit:CODE  kill  sleep  steps:N (prints N steps, then exits with 3).
AGAIN_LINGER=SECONDS in the environment: before any of it, so that a busy watcher sees it alive.
The last word counts for all further attempts; ranks that are not named do what AGAIN_OTHERS says,
or exit with 0.
"""

import os
import signal
import sys
import time

rank = os.environ["PADDLE_TRAINER_ID"]
attempt = int(os.environ.get("PDTRIAGE_ATTEMPT", "0"))
actions = dict(word.split("=", 1) for word in sys.argv[1:])
script = actions.get(rank, os.environ.get("AGAIN_OTHERS", "exit:0")).split(",")
what, _, detail = script[min(attempt, len(script) - 1)].partition(":")
print(f"rank {rank} attempt {attempt} {os.environ['PADDLE_CURRENT_ENDPOINT']}", flush=True)
time.sleep(float(os.environ.get("AGAIN_LINGER", "0")))
if what == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if what == "sleep":
    time.sleep(300)
if what == "steps":
    for step in range(int(detail)):
        print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
    sys.exit(3)
os._exit(int(detail))
