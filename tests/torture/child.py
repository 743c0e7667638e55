"""A trainer that lives as it was told: `child.py FOLDER RANK=DEED:END:SECONDS …`.

Plain Python without any import that takes time, so that hundreds of them live in minutes. What it
wrote, and whom it left behind, it notes down in FOLDER.
"""

import contextlib
import os
import signal
import sys
import time

LINE = "epoch: 0, step: {}, loss: 0.5\n"


def main() -> None:
    folder, *plans = sys.argv[1:]
    rank = os.environ["PADDLE_TRAINER_ID"]
    deed, end, seconds = dict(plan.split("=") for plan in plans)[rank].split(":")
    notes = os.path.join(folder, rank)
    wrote = write(LINE.format(1))
    open(notes + ".began", "w").close()
    do(deed, os.path.join(folder, "log"), f"workerlog.{rank}", notes)
    if deed == "flood":
        for step in range(20):
            wrote += write(LINE.format(step) * 5_000)
    time.sleep(float(seconds))
    wrote += write(LINE.format(2))
    if end == "raise":
        wrote += write("OSError: [Errno 5] Input/output error: '/data/part-7'\n", 2)
    with open(notes + ".writing", "w") as stream:
        stream.write(str(wrote))
    os.rename(notes + ".writing", notes + ".wrote")  # it may be stopped at any moment
    leave(end)


def write(text: str, stream: int = 1) -> int:
    """How much of it was taken: a disk may be full."""
    left = memoryview(text.encode())
    with contextlib.suppress(OSError):
        while left:
            left = left[os.write(stream, left) :]
    return len(text) - len(left)


def do(deed: str, logs: str, name: str, notes: str) -> None:
    log = os.path.join(logs, name)
    if deed == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif deed == "fork":
        sleeper(notes, deaf=True)
    elif deed == "daemon":
        sleeper(notes, twice=True)
    elif deed == "stray":
        sleeper(notes, twice=True, naked=True)
    elif deed == "rotate":
        os.rename(log, log + ".1")
        open(log, "w").close()
    elif deed == "truncate":
        with open(log, "rb+") as old, open(log + ".1", "wb") as copy:
            copy.write(old.read())
            old.truncate(0)
    elif deed == "delete":
        os.remove(log)
    elif deed == "link":
        os.remove(log)
        os.symlink("/proc/self/environ", log)
    elif deed == "pipe":
        os.remove(log)
        os.mkfifo(log)
    elif deed == "folder":
        remove(logs, os.path.dirname(notes))


def remove(logs: str, notes: str) -> None:
    """Once all ranks are there: before that nobody could start them."""
    while sum(note.endswith(".began") for note in os.listdir(notes)) < int(
        os.environ["PADDLE_TRAINERS_NUM"]
    ):
        time.sleep(0.01)
    for folder, _, files in os.walk(logs, topdown=False):
        with contextlib.suppress(OSError):  # somebody writes there
            for file in files:
                os.remove(os.path.join(folder, file))
            os.rmdir(folder)


def sleeper(notes: str, *, deaf: bool = False, twice: bool = False, naked: bool = False) -> None:
    """A process that would stay for a minute."""
    if os.fork():
        return
    if twice:
        os.setsid()
        if os.fork():
            os._exit(0)
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(notes + ".left", "w") as stream:
        stream.write(str(os.getpid()))
    if naked:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
    time.sleep(60)
    os._exit(0)


def leave(end: str) -> None:
    if end == "raise":
        os._exit(1)
    elif end.startswith("exit"):
        os._exit(int(end[4:]))
    elif end.startswith("kill"):
        os.kill(os.getpid(), int(end[4:]))
    time.sleep(60)


main()
