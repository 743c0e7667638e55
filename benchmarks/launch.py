"""Measures the launch core. Every number in the documentation about `pdtriage run` comes from here.

    python benchmarks/launch.py start    command to first line of user code, against Paddle's
    python benchmarks/launch.py order    who died first of eight, within moments
    python benchmarks/launch.py verdict  first death to exit, teardown included
    python benchmarks/launch.py load     CPU and memory while eight ranks write
    python benchmarks/launch.py cycles   start, stop and kill at random moments

Each prints one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pdtriage.record.reader import read_records
from pdtriage.record.schema import RunRecord

OURS = [sys.executable, "-m", "pdtriage.launch"]
RUN = [sys.executable, "-m", "pdtriage", "run"]
PADDLES = [sys.executable, "-m", "paddle.distributed.launch"]
SCRIPTS = Path(__file__).parent.parent / "tests" / "launch" / "scripts"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["start", "order", "verdict", "load", "cycles"])
    parser.add_argument("--tries", type=int)
    arguments = parser.parse_args()
    measure = {
        "start": measure_start,
        "order": measure_order,
        "verdict": measure_verdict,
        "load": measure_load,
        "cycles": measure_cycles,
    }[arguments.what]
    print(json.dumps(measure(arguments.tries) if arguments.tries else measure(), indent=1))


def measure_start(tries: int = 5) -> dict[str, object]:
    """Both launchers in turn, so that a noisy machine is noisy for both."""
    with folder() as where:
        script = where / "first.py"
        script.write_text("import time; print(time.time(), flush=True)\n")
        times: dict[str, list[float]] = {"pdtriage": [], "paddle": []}
        for attempt in range(tries):
            for name, command in (("pdtriage", OURS), ("paddle", PADDLES)):
                logs = where / f"{name}{attempt}"
                began = time.time()
                subprocess.run(
                    [*command, "--nproc_per_node=2", "--log_dir", str(logs), str(script)],
                    check=True,
                    capture_output=True,
                )
                first = min(float((logs / f"workerlog.{i}").read_text()) for i in (0, 1))
                times[name].append(first - began)
    medians = {name: round(statistics.median(seconds), 3) for name, seconds in times.items()}
    return {"seconds": medians, "ratio": round(medians["pdtriage"] / medians["paddle"], 3)}


def measure_order(tries: int = 100) -> dict[str, object]:
    """Eight die in a known order, until that took at most 10 ms so many times."""
    quick, slow = Tries(), Tries()
    while len(quick.spans) < tries:
        order = random.Random(len(quick.spans) + len(slow.spans)).sample(range(8), 8)
        with folder() as where:
            logs, dominoes = where / "log", str(SCRIPTS / "dominoes.py")
            process = start("--nproc_per_node=8", dominoes, str(where), logs=logs)
            words = ",".join(str(rank) for rank in order)
            toppled = subprocess.run(
                [sys.executable, dominoes, str(where), words], check=True, stdout=subprocess.PIPE
            )
            process.wait(30)
            span = float(toppled.stdout)
            recorded = [death.rank for death in record_of(logs).deaths]
            (quick if span <= 10 else slow).add(span, recorded, order)
    return {"within_10_ms": quick.summary(), "slower": slow.summary()}


@dataclass
class Tries:
    spans: list[float] = field(default_factory=list)
    first_right: int = 0
    all_right: int = 0

    def add(self, span: float, recorded: Sequence[int | None], order: list[int]) -> None:
        self.spans.append(span)
        self.first_right += recorded[0] == order[0]
        self.all_right += recorded == order

    def summary(self) -> dict[str, float]:
        if not self.spans:
            return {"tries": 0}
        return {
            "tries": len(self.spans),
            "first": self.first_right,
            "whole_order": self.all_right,
            "median_span_ms": round(statistics.median(self.spans), 1),
        }


def measure_verdict(tries: int = 20) -> dict[str, object]:
    """From the death of a rank to the exit of the launcher; seven others have to be stopped."""
    seconds = []
    for _ in range(tries):
        with folder() as where:
            actions = [f"{rank}=sleep" for rank in range(7)] + ["7=exit:3:1"]
            process = start(
                "--nproc_per_node=8", str(SCRIPTS / "act.py"), *actions, logs=where / "log"
            )
            process.wait(60)
            ended = time.time()
            seconds.append(ended - record_of(where / "log").deaths[0].time)
    seconds.sort()
    return {
        "tries": tries,
        "median_s": round(statistics.median(seconds), 3),
        "p95_s": round(seconds[int(0.95 * (tries - 1))], 3),
    }


def measure_load(seconds: int = 20) -> dict[str, object]:
    """Eight ranks, 100 lines a second each."""
    with folder() as where:
        script = where / "talk.py"
        script.write_text(
            "import time\n"
            f"end = time.time() + {seconds + 10}\n"
            "step = 0\n"
            "while time.time() < end:\n"
            "    print(f'step {step} loss 0.123456 ips 1234.5', flush=True)\n"
            "    step += 1\n"
            "    time.sleep(0.01)\n"
        )
        process = start("--nproc_per_node=8", str(script), logs=where / "log")
        time.sleep(3)
        before, began = cpu_of(process.pid), time.monotonic()
        time.sleep(seconds)
        used, passed = cpu_of(process.pid) - before, time.monotonic() - began
        memory = memory_of(process.pid)
        process.terminate()
        process.wait(60)
    return {"share_of_a_core": round(used / passed, 4), "memory_mb": round(memory, 1)}


def measure_cycles(tries: int = 200) -> dict[str, object]:
    """Nothing may be left behind, whatever ends the launcher and whenever."""
    rng = random.Random(1)
    result = {"cycles": tries, "orphans": 0, "unreadable_records": 0, "locked": 0}
    result |= {"lines": 0, "incomplete_logs": 0}
    for _ in range(tries):
        with folder() as where:
            logs = where / "log"
            process = start(
                "--nproc_per_node=3",
                "--grace=1",
                str(SCRIPTS / "family.py"),
                str(where),
                "write",
                logs=logs,
                command=rng.choice([OURS, RUN]),
            )
            time.sleep(rng.uniform(0, 2))
            process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            process.wait(60)
            tally(result, where, logs)
    return dict(result)


def tally(result: dict[str, int], where: Path, logs: Path) -> None:
    records = read_records(logs)
    pids = [p.pid for record in records for p in record.processes]
    pids += [int(pid) for path in where.glob("pids.?") for pid in path.read_text().split()]
    pids += [record.guardian_pid for record in records if record.guardian_pid]
    if not wait_for(lambda: not any(running(pid) for pid in pids), 15):
        result["orphans"] += 1
    records = read_records(logs)
    started = list(logs.glob("workerlog.*"))
    if started and not (records and records[-1].processes and records[-1].ended):
        result["unreadable_records"] += 1
    # A guardian that was started before the record was is known by nothing but its lock.
    if not wait_for(partial(unlocked, logs / "pdtriage" / "lock"), 5):
        result["locked"] += 1
    for rank in range(3):
        written = int(text(where / f"written.{rank}") or 0)
        result["lines"] += written
        result["incomplete_logs"] += not complete(text(logs / f"workerlog.{rank}"), rank, written)


def complete(log: str, rank: int, written: int) -> bool:
    """Every line a rank has counted is there, in order; at most one more, not counted yet."""
    lines = [f"line {number} of rank {rank}\n" for number in range(written + 1)]
    counted = "".join(lines[:written])
    _, greeting, rest = log.partition("family is up\n")
    return rest in (counted, counted + lines[-1]) if greeting else written == 0


def unlocked(lock: Path) -> bool:
    if not lock.exists():
        return True
    with open(lock) as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def start(*arguments: str, logs: Path, command: Sequence[str] = OURS) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*command, "--log_dir", str(logs), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        yield Path(name)


def record_of(logs: Path) -> RunRecord:
    return read_records(logs)[-1]


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def wait_for(condition: object, seconds: float = 30) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
