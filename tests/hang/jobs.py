"""Real Paddle jobs that stand still, each in another way, and whom `pdtriage run` names for it.

`python -m tests.hang.jobs [--times N] [NAME…]`, or `make hangs`: every job as often as asked, with
the right rank, the right line of its stack, and how long after the limit that was decided.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

from tests.running import clean_environment

LIMIT = 8
"""Seconds; gloo gives up after thirty."""
PATIENCE = 150.0
_HEAD = """
import fcntl, os, signal, sys, threading, time
import numpy as np
import paddle, paddle.distributed as dist
from paddle.io import DataLoader, Dataset

def begin():
    dist.init_parallel_env()
    return dist.get_rank()

def train(rank, steps=12):
    for step in range(steps):
        tensor = paddle.ones([1])
        dist.all_reduce(tensor)
        print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
        time.sleep(0.1)
"""


class HangingJob(NamedTuple):
    """A script, how many ranks it has, and what is to be named."""

    code: str
    culprit: int | None
    marked: str
    """Words of the line the culprit stands in."""
    ranks: int = 3


JOBS = {
    "sleeping": HangingJob(
        """
        rank = begin(); train(rank)
        if rank == 1:
            time.sleep(600)  # culprit
        train(rank)
        """,
        1,
        "# culprit",
    ),
    "pipe": HangingJob(
        """
        rank = begin(); train(rank)
        if rank == 2:
            reading, writing = os.pipe()
            os.read(reading, 1)  # culprit
        train(rank)
        """,
        2,
        "# culprit",
    ),
    "endless-loop": HangingJob(
        """
        def spin():
            while True: pass  # culprit
        rank = begin(); train(rank)
        if rank == 0:
            spin()
        train(rank)
        """,
        0,
        "# culprit",
    ),
    "lock-of-a-worker": HangingJob(
        """
        class Data(Dataset):
            def __len__(self): return 8
            def __getitem__(self, index):
                self.lock = open("lock", "w")
                fcntl.flock(self.lock, fcntl.LOCK_EX)
                if index:
                    time.sleep(600)
                return np.ones(2, "float32")
        rank = begin(); train(rank)
        if rank == 1:
            batches = iter(DataLoader(Data(), batch_size=1, num_workers=1)); next(batches)
            with open("lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # culprit
        train(rank)
        """,
        1,
        "# culprit",
    ),
    "deadlocked-loader": HangingJob(
        """
        class Data(Dataset):
            def __len__(self): return 8
            def __getitem__(self, index):
                lock = threading.Lock()
                lock.acquire()
                lock.acquire()
        rank = begin(); train(rank)
        if rank == 2:
            for batch in DataLoader(Data(), batch_size=1, num_workers=1):  # culprit
                pass
        train(rank)
        """,
        2,
        "# culprit",
    ),
    "sigstop": HangingJob(
        """
        rank = begin(); train(rank)
        if rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)  # culprit
        train(rank)
        """,
        1,
        "# culprit",
    ),
    "different-collectives": HangingJob(
        """
        rank = begin(); train(rank)
        if rank == 2:
            dist.barrier()  # culprit
        train(rank)
        """,
        2,
        "# culprit",
    ),
    "missing-at-a-barrier": HangingJob(
        """
        rank = begin(); train(rank)
        if rank != 1:
            dist.barrier()
        dist.all_reduce(paddle.ones([3]))  # culprit
        train(rank)
        """,
        1,
        "# culprit",
        4,
    ),
}


class HangResult(NamedTuple):
    """What was said of one job."""

    right_rank: bool
    right_line: bool
    late: float | None
    """Seconds between the limit and the decision to take stacks."""
    words: str


def play(job: HangingJob, folder: Path) -> HangResult:
    """Start it, wait until somebody is named, press Ctrl-C."""
    script = folder / "train.py"
    script.write_text(_HEAD + textwrap.dedent(job.code))
    lines = script.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if job.marked in text)
    errors = folder / "errors"
    with errors.open("wb") as stream:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pdtriage", "run", "--quiet", f"--hang_after={LIMIT}"),
                *(f"--nproc_per_node={job.ranks}", "train.py"),
            ],
            cwd=folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
    named = _await_words(errors, process)
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    said = errors.read_text("utf-8", "replace")
    match = re.search(r"has not moved for (\d+) s", named)
    late = float(match[1]) - LIMIT if match else None
    return HangResult(
        f"HUNG: rank {job.culprit} of {job.ranks}" in said,
        f"train.py:{line}" in named,
        late,
        named.strip() or said[-2000:],
    )


def _await_words(errors: Path, process: subprocess.Popen[bytes]) -> str:
    """The alarm that names places in the script after training began; the last one there is."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        told = [
            line
            for line in errors.read_text("utf-8", "replace").splitlines()
            if "has not moved" in line and "train.py:" in line and "init_parallel_env" not in line
        ]
        if told:
            return told[-1]
        time.sleep(0.2)
    return ""


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--times", type=int, default=1)
    reader.add_argument("names", nargs="*")
    asked = reader.parse_args()
    wrong = 0
    for name in asked.names or JOBS:
        results = []
        for _ in range(asked.times):
            with tempfile.TemporaryDirectory() as folder:
                results.append(play(JOBS[name], Path(folder)))
        good = sum(result.right_rank and result.right_line for result in results)
        late = [result.late for result in results if result.late is not None]
        print(f"{name:22} {good}/{len(results)} right, seen {max(late, default=-1):.0f} s late")
        for result in results:
            if not (result.right_rank and result.right_line):
                print(f"    {result.right_rank=} {result.right_line=}: {result.words}")
        wrong += len(results) - good
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
