"""Starts three kinds of grandchildren and writes down their pids; then does what it is told.

plain: same group; other: own session; daemon: own session and its parent gone.
`stay` sleeps, `write` logs numbered lines and keeps count of them in written.N, a number is the
exit code of rank 0.
"""

import os
import subprocess
import sys
import time

folder = sys.argv[1]
sleeper = [sys.executable, "-c", "import time; time.sleep(300)"]
rank = os.environ["PADDLE_TRAINER_ID"]
plain = subprocess.Popen(sleeper)
other = subprocess.Popen(sleeper, start_new_session=True)
daemon_script = (
    "import subprocess, sys; "
    "print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=2).pid)"
)
daemon = subprocess.run(
    [sys.executable, "-c", daemon_script, *sleeper], stdout=subprocess.PIPE, check=True
).stdout.strip()
with open(os.path.join(folder, f"pids.{rank}.part"), "w") as stream:
    stream.write(f"{plain.pid} {other.pid} {int(daemon)}")
os.rename(os.path.join(folder, f"pids.{rank}.part"), os.path.join(folder, f"pids.{rank}"))
print("family is up", flush=True)
if sys.argv[2] == "write":
    with open(os.path.join(folder, f"written.{rank}"), "wb", buffering=0) as count:
        for number in range(100_000):
            os.write(1, b"line %d of rank %s\n" % (number, rank.encode()))
            os.pwrite(count.fileno(), b"%08d" % (number + 1), 0)
            time.sleep(0.003)
if sys.argv[2] == "stay":
    time.sleep(300)
if rank == "0":
    time.sleep(0.5)
    sys.exit(int(sys.argv[2]))
time.sleep(300 if int(sys.argv[2]) else 0)
