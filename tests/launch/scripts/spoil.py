"""Rank 1 does something to its log, or to the folder of all logs, and then fails with 7.

    spoil.py delete|pipe|rotate|remove|fill|nothing [FILE]

With FILE it fails once that is there.
"""

import os
import shutil
import sys
import time

rank, folder = int(os.environ["PADDLE_TRAINER_ID"]), os.environ["PADDLE_LOG_DIR"]
log = os.path.join(folder, f"workerlog.{rank}")
print(f"step 1 loss {1.0 + rank}", flush=True)
if rank == 0:
    time.sleep(300)
time.sleep(0.5)
deed = sys.argv[1]
if deed in ("delete", "pipe"):
    os.unlink(log)
if deed == "pipe":
    os.mkfifo(log)
if deed == "rotate":
    os.rename(log, f"{log}.1")
    with open(log, "w") as stream:
        stream.write("rotated\n")
if deed == "remove":
    shutil.rmtree(folder)
if deed == "fill":
    try:
        with open(os.path.join(folder, "filler"), "wb", buffering=0) as stream:
            while stream.write(b"\0" * 4096):
                pass
    except OSError:
        pass
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
try:
    print("ValueError: the last words", file=sys.stderr, flush=True)
finally:
    os._exit(7)
