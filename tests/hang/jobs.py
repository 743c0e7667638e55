"""Real Paddle jobs that stand still, each in another way, and whom `pdtriage run` names for it.

`python -m tests.hang.jobs [--times N] [NAME…]`, or `make hangs`: every job as often as asked, with
the right rank, the right line of its stack, and how long after the learned limit they were named.
`cut-off-node` takes root: two nodes in network namespaces, one of which loses its cable.
`--limits 12` sets the limit where a machine is so busy that a learned one is longer than the thirty
seconds after which gloo gives up. `--healthy N` plays jobs of uneven rhythm instead, of which none
may raise an alarm.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.running import clean_environment

LIMITS = "5:15"
"""Between which the limit is learned; gloo gives up after thirty seconds."""
PATIENCE = 150.0
_HEAD = """
import fcntl, os, signal, sys, threading, time
import numpy as np
import paddle, paddle.distributed as dist
from paddle.io import DataLoader, Dataset

def begin():
    dist.init_parallel_env()
    return dist.get_rank()

def train(rank, steps=60):
    for step in range(steps):
        tensor = paddle.ones([1])
        dist.all_reduce(tensor)
        print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
        time.sleep(0.05)
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
                    open("held", "w").close()
                    time.sleep(600)
                return np.ones(2, "float32")
        rank = begin(); train(rank)
        if rank == 1:
            batches = iter(DataLoader(Data(), batch_size=1, num_workers=1)); next(batches)
            while not os.path.exists("held"):
                time.sleep(0.05)
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
    """Seconds from the learned limit, counted from the last line of any rank, to the words."""
    limit: float | None
    words: str


def play(job: HangingJob, folder: Path, limits: str = LIMITS) -> HangResult:
    """Start it, wait until somebody is named, press Ctrl-C; `limits` is for `--hang_after`."""
    script = folder / "train.py"
    script.write_text(_HEAD + textwrap.dedent(job.code))
    lines = script.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if job.marked in text)
    errors = folder / "errors"
    with errors.open("wb") as stream:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pdtriage", "run", "--quiet", f"--hang_after={limits}"),
                *(f"--nproc_per_node={job.ranks}", "train.py"),
            ],
            cwd=folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
    named = _await_words(errors, folder / "log", job.ranks, process)
    late, limit = _lateness(folder / "log")
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    said = errors.read_text("utf-8", "replace")
    place = rf"rank {job.culprit} [^;,]*\(train\.py:{line}\)"
    return HangResult(
        f"HUNG: rank {job.culprit} of {job.ranks}" in said,
        re.search(place, named) is not None,
        late if named else None,
        limit,
        named.strip() or said[-2000:],
    )


def _lateness(folder: Path) -> tuple[float | None, float | None]:
    """How long after its limit a job is now, and that limit; None where nothing was recorded."""
    now = time.time()
    moved = max((log.stat().st_mtime for log in folder.glob("workerlog.*")), default=now)
    lines = [
        line
        for record in folder.glob("pdtriage/run-*.jsonl")
        for line in record.read_text("utf-8").splitlines()
        if '"limit":' in line
    ]
    limits = re.findall(r'"limit": ?([\d.]+)', "\n".join(lines))
    return (now - moved - float(limits[-1]), float(limits[-1])) if limits else (None, None)


CUT_OFF_NAME = "cut-off-node"
CUT_OFF = """
rank = begin(); train(rank, 100_000)
"""
ADDRESSES = ("10.78.31.1", "10.78.31.2")


def play_cut_off(folder: Path, limits: str = LIMITS) -> HangResult:
    """Two nodes of one rank each; the second loses its cable while they train."""
    (folder / "train.py").write_text(_HEAD + CUT_OFF)
    with _two_nodes() as (names, devices):
        errors = [folder / f"errors{node}" for node in (0, 1)]
        launches = [
            _start_node(folder, node, names, devices, errors[node], limits) for node in (0, 1)
        ]
        log = folder / "log0" / "workerlog.0"
        began = _await(lambda: log.exists() and b"step: 9," in log.read_bytes(), launches[0])
        subprocess.run(["ip", "-n", names[1], "link", "set", devices[1], "down"], check=True)
        words = "has not moved"
        named = f"; node 1 ({ADDRESSES[1]}) has not answered for "
        seen = began and _await(lambda: named in errors[0].read_text(), launches[0])
        late, limit = _lateness(folder / "log0")
        for launch in launches:
            launch.send_signal(signal.SIGINT)
        for launch in launches:
            launch.wait(PATIENCE)
        said = errors[0].read_text("utf-8", "replace")
    lines = [line for line in said.splitlines() if words in line]
    right = f"HUNG: rank unknown, host {ADDRESSES[1]}" in said
    return HangResult(right, seen, late if seen else None, limit, "\n".join(lines) or said[-2000:])


def _start_node(
    folder: Path,
    node: int,
    names: tuple[str, str],
    devices: tuple[str, str],
    errors: Path,
    limits: str,
) -> subprocess.Popen[bytes]:
    with errors.open("wb") as stream:
        return subprocess.Popen(
            [
                *("ip", "netns", "exec", names[node], sys.executable, "-m", "pdtriage", "run"),
                *("--quiet", f"--hang_after={limits}", "--nnodes=2", f"--rank={node}"),
                *(f"--master={ADDRESSES[0]}:29334", f"--host={ADDRESSES[node]}"),
                *(
                    "--nproc_per_node=1",
                    f"--log_dir=log{node}",
                    "--job_secret=cut-off-node",
                    "train.py",
                ),
            ],
            cwd=folder,
            env=clean_environment() | {"GLOO_SOCKET_IFNAME": devices[node]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )


@contextlib.contextmanager
def _two_nodes() -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    tag = f"{os.getpid() % 100_000}"
    names, devices = (f"pdh{tag}a", f"pdh{tag}b"), (f"h{tag}a", f"h{tag}b")

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", devices[0], "netns", names[0], "type", "veth", "peer", "name",
           devices[1], "netns", names[1])  # fmt: skip
        for name, device, address in zip(names, devices, ADDRESSES, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names, devices
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


UNEVEN = """
rank = begin()
step = {step}
for number in range(90):
    dist.all_reduce(paddle.ones([1]))
    time.sleep(100 * step if number == 0 else step)
    if number == {compiles}:
        until = time.monotonic() + 50 * step
        while time.monotonic() < until: pass
    print(f"epoch: {{number // 30}}, step: {{number}}, loss: 0.5", flush=True)
    if number % {every} == {every} - 1:
        time.sleep(30 * step)
        if rank == 0:
            print("Eval samples: 100", flush=True)
    if number % {saves} == {saves} - 1 and rank == 0:
        time.sleep(60 * step)
    if number % 30 == 29:
        time.sleep(20 * step)
"""


def play_healthy(seed: int, folder: Path) -> str:
    """A job whose first step takes a hundred others, evaluations thirty, checkpoints sixty (on the
    first rank alone), a compilation fifty and the end of an epoch twenty; what was said of it that
    is an alarm."""
    chance = random.Random(seed)
    step, every, saves = chance.choice((0.03, 0.06, 0.1)), chance.choice((15, 30)), 40
    compiles, ranks = chance.randrange(10, 80), chance.choice((2, 3))
    code = UNEVEN.format(step=step, every=every, saves=saves, compiles=compiles)
    (folder / "train.py").write_text(_HEAD + code)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pdtriage", "run", "--quiet", "--hang_after=1:1800"),
            *(f"--nproc_per_node={ranks}", "train.py"),
        ],
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    alarms = [
        line for line in said.splitlines() if "has not moved" in line or "median step" in line
    ]
    return "\n".join(alarms) if done.returncode == 0 else f"exit code {done.returncode}\n{said}"


def _await(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if condition():
            return True
        time.sleep(0.2)
    return False


def _await_words(errors: Path, logs: Path, ranks: int, process: subprocess.Popen[bytes]) -> str:
    """The first alarm after every rank has told a step."""
    files = [logs / f"workerlog.{rank}" for rank in range(ranks)]
    if not _await(
        lambda: all(f.exists() and b"step: 1," in f.read_bytes() for f in files), process
    ):
        return ""
    before = len(_alarms(errors))
    _await(lambda: len(_alarms(errors)) > before, process)
    return "".join(_alarms(errors)[before:][:1])


def _alarms(errors: Path) -> list[str]:
    lines = errors.read_text("utf-8", "replace").splitlines()
    return [line for line in lines if "has not moved" in line]


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--times", type=int, default=1)
    reader.add_argument("--limits", default=LIMITS)
    reader.add_argument("--healthy", type=int, default=0)
    reader.add_argument("names", nargs="*")
    asked = reader.parse_args()
    # A shell that starts this in the background has it ignored, and so would the jobs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked.healthy:
        return _play_all_healthy(asked.healthy)
    wrong = 0
    for name in asked.names or (*JOBS, *([CUT_OFF_NAME] if os.geteuid() == 0 else [])):
        results = []
        for _ in range(asked.times):
            with tempfile.TemporaryDirectory() as folder:
                cut_off = name == CUT_OFF_NAME
                results.append(
                    play_cut_off(Path(folder), asked.limits)
                    if cut_off
                    else play(JOBS[name], Path(folder), asked.limits)
                )
        good = sum(result.right_rank and result.right_line for result in results)
        late = [result.late for result in results if result.late is not None]
        limits = [result.limit or 0.0 for result in results]
        print(
            f"{name:22} {good}/{len(results)} right, named {max(late, default=-1):.1f} s at most "
            f"after a limit of {min(limits):.0f} to {max(limits):.0f} s",
            flush=True,
        )
        for result in results:
            if not (result.right_rank and result.right_line):
                print(f"    {result.right_rank=} {result.right_line=}: {result.words}")
        wrong += len(results) - good
    return 1 if wrong else 0


def _play_all_healthy(count: int) -> int:
    alarmed = 0
    for seed in range(count):
        with tempfile.TemporaryDirectory() as folder:
            alarms = play_healthy(seed, Path(folder))
        if alarms:
            alarmed += 1
            print(f"healthy job {seed}: {alarms}")
    print(f"{count} healthy jobs, {alarmed} with an alarm")
    return 1 if alarmed else 0


if __name__ == "__main__":
    sys.exit(main())
