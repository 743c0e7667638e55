"""What watching a job costs: the processor time of `pdtriage run` itself, ranks left out.

`python benchmarks/watching.py [--ranks 8] [--seconds 60]`: ranks that tell two steps a second, on a
terminal of 100 columns with the table of ranks (`terminal`), and in a pipe (`pipe`). All that
pdtriage has started counts: the launcher, its guardian and the process that reads the logs.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

from pdtriage.hang.kernel_view import children_by_parent, descendants_of, vitals_of

SCRIPT = """
import time
for step in range(1_000_000):
    print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
    time.sleep(0.5)
"""
WARM_UP = 15.0


def measure(ranks: int, seconds: float, *, terminal: bool) -> float:
    """Share of a core."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(SCRIPT)
        ours, theirs = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pdtriage", "run", "--quiet"),
                *(f"--nproc_per_node={ranks}", "train.py"),
            ],
            cwd=folder,
            env=os.environ | {"TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        threading.Thread(target=_drain, args=(ours,), daemon=True).start()
        try:
            time.sleep(WARM_UP)
            began, before = time.monotonic(), _used_by(process.pid)
            time.sleep(seconds)
            passed, after = time.monotonic() - began, _used_by(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        return (after - before) / passed


def command_of(pid: int) -> list[str]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
    return [os.fsdecode(word) for word in words[:-1]]


def _used_by(launcher: int) -> float:
    """Seconds of processor time of pdtriage's own processes."""
    pids = [launcher, *descendants_of(launcher, children_by_parent())]
    commands = {pid: command_of(pid) for pid in pids}
    own = [pid for pid in pids if "train.py" not in commands[pid] or pid == launcher]
    return sum(vitals.cpu_seconds for pid in own if (vitals := vitals_of(pid)) is not None)


def _drain(end: int) -> None:
    try:
        while os.read(end, 1 << 16):
            pass
    except OSError:  # nobody is left at the other end of the terminal
        return


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--ranks", type=int, default=8)
    reader.add_argument("--seconds", type=float, default=60.0)
    asked = reader.parse_args()
    for name, terminal in (("pipe", False), ("terminal", True)):
        share = measure(asked.ranks, asked.seconds, terminal=terminal)
        print(f"{name}: {asked.ranks} ranks, {100 * share:.2f} % of a core", flush=True)


if __name__ == "__main__":
    main()
