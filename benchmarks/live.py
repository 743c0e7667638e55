"""Measures the live view. Every number in the documentation about it comes from here.

    python benchmarks/live.py load      CPU and memory while eight ranks write 100 lines/s each
    python benchmarks/live.py latency   from a line in a log to its announcement
    python benchmarks/live.py verdict   from the first death to the end, report printed
    python benchmarks/live.py answer    from a death, or a signal, to what is done about it, while
                                        the reader of the logs is busy with hostile lines, or hangs
    python benchmarks/live.py flood     CPU and memory while one rank writes many lines
    python benchmarks/live.py follow    line to event, and CPU, at 8, 64 and 512 files with 50,000
                                        lines/s together, beside `tail -F`; writes a table

The others print one JSON object each.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import following
from following import cpu_of
from results import keep

from pdtriage.launch.supervise.processes import running_processes
from pdtriage.record.reader import read_records

RUN = [sys.executable, "-m", "pdtriage", "run", "--log_level", "ERROR"]

STEADY = """
import sys, time
began = time.monotonic()
for step in range(int(sys.argv[1])):
    print(f"2024-01-01 10:00:00,000 INFO epoch: {step // 1000}, step: {step}, loss: 0.51234, "
          "lr: 0.001000, reader_cost: 0.01 s, batch_cost: 0.1 s, ips: 320.0 images/s", flush=True)
    pause = began + (step + 1) / 100 - time.monotonic()
    if pause > 0:
        time.sleep(pause)
"""
FLOOD = """
import sys
for step in range(int(sys.argv[1]) // 100):
    sys.stdout.write("".join(f"epoch: {step}, step: {n}, loss: 0.51234, ips: 320.0 images/s\\n"
                             for n in range(100)))
"""
LATENCY = """
import os, time
print("epoch: 0, step: 1, loss: 0.5", flush=True)
time.sleep(3)
if os.environ["PADDLE_TRAINER_ID"] == "1":
    print(f"at {time.time()}", flush=True)
    print("ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 1.0GB memory on "
          "GPU 0, 15.7GB memory has been allocated and available memory is only 12.0MB.",
          flush=True)
time.sleep(4)
"""


HOSTILE = """
import base64, time
line = base64.b64encode(b"Base" * 3000 + b"64").decode()
trace = 'Traceback (most recent call last):\\n  File "a.py", line 1, in f\\n'
while True:
    print((trace + line + "\\n") * 50, flush=True)
    time.sleep(0.01)
"""
VERDICT = """
import os, time
for step in range(25):
    print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
    time.sleep(0.1)
if os.environ["PADDLE_TRAINER_ID"] == "3":
    raise OSError(5, "Input/output error", "/data/part-7")
time.sleep(30)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["load", "latency", "verdict", "answer", "flood", "follow"])
    parser.add_argument("--seconds", type=int, help="30, of each row of `follow` 10")
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--files", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--rate", type=int, default=50_000, help="lines a second, of `follow`")
    parser.add_argument("--into", type=Path, help="append the table of `follow` to this file, too")
    asked = parser.parse_args()
    if asked.what == "follow":
        text = following.table(asked.files, asked.rate, asked.seconds or 10)
        keep("Following", text, asked.into)
        return
    if asked.what == "load":
        result = measure_load(asked.seconds or 30)
    elif asked.what == "flood":
        result = measure_flood(asked.lines)
    elif asked.what == "answer":
        result = measure_answer(asked.tries)
    elif asked.what == "verdict":
        result = measure_verdict(asked.tries)
    else:
        result = measure_latency(asked.tries)
    print(json.dumps(result, indent=1))


def measure_load(seconds: int) -> dict[str, object]:
    """After five seconds, when everything is loaded, until shortly before the end.

    Of the launcher and all processes it keeps for itself; memory that several of them share is
    counted once.
    """
    with script(STEADY) as (path, logs):
        process = start(path, logs, 8, str((seconds + 8) * 100))
        time.sleep(5)
        ours = own_processes(process.pid)
        before, began = sum(map(cpu_of, ours)), time.monotonic()
        first = sum(map(share_of_memory, ours))
        time.sleep(seconds)
        share = (sum(map(cpu_of, ours)) - before) / (time.monotonic() - began)
        last = sum(map(share_of_memory, ours))
        process.wait()
    return {"cpu_percent": round(100 * share, 2), "memory_mb": [first, last]}


def measure_flood(lines: int) -> dict[str, object]:
    """Memory at quarters of the way, by the size of the log."""
    with script(FLOOD) as (path, logs):
        began = time.monotonic()
        process = start(path, logs, 1, str(lines))
        samples: list[int] = []
        while process.poll() is None:
            samples.append(sum(map(share_of_memory, own_processes(process.pid))))
            time.sleep(0.5)
        took = time.monotonic() - began
    kept = samples[:: max(1, len(samples) // 8)]
    return {"lines": lines, "seconds": round(took, 1), "memory_mb": kept, "most": max(samples)}


def measure_latency(tries: int) -> dict[str, object]:
    """From the moment a fatal line is written to the announcement on stderr."""
    delays = []
    for _ in range(tries):
        with script(LATENCY) as (path, logs):
            process = start(path, logs, 2)
            assert process.stderr is not None
            for line in process.stderr:
                if "rank 1 on" in line:
                    seen = time.time()
                    break
            process.wait()
            written = re.search(r"^at (\S+)", (logs / "workerlog.1").read_text(), re.M)
            assert written
            delays.append(seen - float(written[1]))
    return {
        "seconds": {"median": round(statistics.median(delays), 3), "most": round(max(delays), 3)}
    }


def measure_verdict(tries: int) -> dict[str, object]:
    """Eight ranks, one of which fails after a few seconds; the others obey SIGTERM."""
    delays = []
    for _ in range(tries):
        with script(VERDICT) as (path, logs):
            process = start(path, logs, 8)
            _, said = process.communicate()
            ended = time.time()
            assert "FAILED: rank 3 of 8" in said, said
            first = min(death.time for death in read_records(logs)[-1].deaths)
            delays.append(ended - first)
    return {
        "seconds": {"median": round(statistics.median(delays), 3), "most": round(max(delays), 3)}
    }


def measure_answer(tries: int) -> dict[str, object]:
    """A rank is killed, or the launcher told to stop; its record says when it knew, and when it
    told the others."""
    found: dict[str, list[float]] = {}
    for _ in range(tries):
        for reader in ("busy", "hangs"):
            for what in ("death", "signal"):
                found.setdefault(f"{what}, reader {reader}", []).append(_answer(what, reader))
    return {
        f"{name}, ms": {"median": round(statistics.median(t), 1), "most": round(max(t), 1)}
        for name, t in found.items()
    }


def _answer(what: str, reader: str) -> float:
    """Milliseconds."""
    with script(HOSTILE) as (path, logs):
        process = start(path, logs, 3, flags=("--settle=0", "--grace=1", "--analysis_budget=3"))
        while len(own_processes(process.pid)) < 3:
            time.sleep(0.05)
        time.sleep(3)  # for the reader to be in the middle of it
        if reader == "hangs":
            name = "pdtriage-reader\n"
            for pid in own_processes(process.pid):
                if Path(f"/proc/{pid}/comm").read_text() == name:
                    os.kill(pid, signal.SIGSTOP)
        began = time.time()
        if what == "death":
            os.kill(read_records(logs)[-1].processes[1].pid, signal.SIGKILL)
        else:
            process.send_signal(signal.SIGTERM)
        process.communicate()
        record = read_records(logs)[-1]
        moment = record.deaths[0].time if what == "death" else record.signals[0].time
        return 1000 * (moment - began)


def start(
    path: Path, logs: Path, ranks: int, *arguments: str, flags: Sequence[str] = ()
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RUN, f"--nproc_per_node={ranks}", "--log_dir", str(logs), *flags, str(path), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def own_processes(pid: int) -> list[int]:
    """The launcher, its guardian, and whoever reads logs for it."""
    ours = [pid]
    for entry in running_processes():
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{entry.pid}/comm").read_text()
            if entry.parent == pid and name.strip() in ("triage-guard", "pdtriage-reader"):
                ours.append(entry.pid)
    return ours


def share_of_memory(pid: int) -> int:
    """In MB; what n processes share counts a n-th."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+)", rollup, re.M)
    return round(int(found[1]) / 1024) if found else 0


@contextlib.contextmanager
def script(code: str) -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        path.write_text(code)
        yield path, Path(folder) / "log"


if __name__ == "__main__":
    main()
