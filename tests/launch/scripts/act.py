"""A trainer whose rank does what its argument says: `act.py 0=sleep 1=exit:7:0.2 …`.

exit:CODE[:AFTER]  signal:NUMBER[:AFTER]  sleep  stubborn (ignores SIGTERM)  tidy (cleans up on it)
until:PATH[:CODE] (exits with CODE, else 0, once that file is there)
Ranks that are not named exit with 0.
"""

import os
import signal
import sys
import time


def tidy(*_):
    print("cleaned up", flush=True)
    sys.exit(0)


rank = os.environ["PADDLE_TRAINER_ID"]
actions = dict(word.split("=", 1) for word in sys.argv[1:])
what, *details = actions.get(rank, "exit:0").split(":")
if what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if what == "tidy":
    signal.signal(signal.SIGTERM, tidy)
print(f"rank {rank} {what}", flush=True)
while what == "until" and not os.path.exists(details[0]):
    time.sleep(0.05)
if what == "until":
    os._exit(int(details[1]) if len(details) > 1 else 0)
if len(details) > 1:
    time.sleep(float(details[1]))
if what == "exit":
    os._exit(int(details[0]))
if what == "signal":
    os.kill(os.getpid(), int(details[0]))
time.sleep(300)
