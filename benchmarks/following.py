"""Following growing logs: how soon a line is an event, and what that costs, beside `tail -F`.

One process writes to all files, one `write` a line, the lines of a training that goes well. Now and
then a line is one that a signature knows, with the moment of its writing at its end. `pdtriage run`
and `tail -F` follow the same files at the same time; logs are asked for events as its alerts ask.
Used by `live.py follow`.
"""

from __future__ import annotations

import json
import os
import re
import select
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdtriage.live.followed_log import FollowedLog
    from pdtriage.support.language import Text

WARM_UP = 2.0
"""Seconds at the beginning that do not count: everything is loaded by then."""
ALARMS = 4
"""A second, each of another kind."""
BATCH = 0.01
_AT = re.compile(rb"at=(\d+)")
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Followed:
    """By one reader: the share of a core, and milliseconds from a line to its event."""

    cpu: float
    delays: Sequence[float]

    def cells(self) -> tuple[str, str, str]:
        share = f"{100 * self.cpu:.1f} %"
        if len(self.delays) < 2:
            return "-", "-", share
        last = statistics.quantiles(self.delays, n=100)[98]
        return f"{statistics.median(self.delays):.0f} ms", f"{last:.0f} ms", share


def table(sizes: Iterable[int], lines: int, seconds: float) -> str:
    rows = [
        f"| files, {lines:,} lines/s together | p50 | p99 | of a core | "
        "`tail -F` p50 | p99 | of a core | lines/s written |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for files in sizes:
        ours, tail, written = measured(files, lines, seconds)
        rows.append(f"| {files} | {' | '.join((*ours.cells(), *tail.cells()))} | {written:,.0f} |")
    return "\n".join(rows)


def measured(files: int, lines: int, seconds: float) -> tuple[Followed, Followed, float]:
    with tempfile.TemporaryDirectory(prefix="pdtriage-bench-") as folder:
        paths = [Path(folder) / f"workerlog.{number}" for number in range(files)]
        for path in paths:
            path.touch()
        ours = _started("follower", folder, files)
        ours.stdout.readline()  # it is ready
        tail = subprocess.Popen(
            ["tail", "-q", "-n", "+1", "-F", *map(str, paths)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        writer = _started("writer", folder, files, lines, WARM_UP + seconds)
        try:
            writer.stdout.readline()
            warm = time.monotonic() + WARM_UP
            _passed_on(tail.stdout.fileno(), lambda: time.monotonic() < warm)
            before, began = (cpu_of(ours.pid), cpu_of(tail.pid)), time.monotonic()
            passed = _passed_on(tail.stdout.fileno(), lambda: writer.poll() is None)
            took = time.monotonic() - began
            after = (cpu_of(ours.pid), cpu_of(tail.pid))
            told = json.loads(writer.stdout.read())
            time.sleep(0.5)  # the last lines are heard, too
            ours.stdin.close()
            heard = json.loads(ours.stdout.read())
        finally:
            for process in (ours, tail, writer):
                process.kill()
                process.wait()
    shares = [(late - early) / took for early, late in zip(before, after, strict=True)]
    return Followed(shares[0], heard), Followed(shares[1], passed), told["lines"] / told["seconds"]


def cpu_of(pid: int) -> float:
    """Seconds of processor time, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _started(part: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, part, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _passed_on(descriptor: int, going: Callable[[], bool]) -> list[float]:
    """Milliseconds from a line to its coming out of `tail`."""
    os.set_blocking(descriptor, False)
    delays: list[float] = []
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        rest = b""
        while going():
            if not selector.select(0.1):
                continue
            now = time.monotonic_ns()
            *whole, rest = (rest + os.read(descriptor, 1 << 20)).split(b"\n")
            delays += [(now - int(at[1])) / 1e6 for at in map(_AT.search, whole) if at]
    return delays


def write(folder: str, files: int, lines: int, seconds: float) -> None:
    """Lines at an even pace, one file after the other."""
    paths = [os.path.join(folder, f"workerlog.{number}") for number in range(files)]
    logs = [os.open(path, os.O_WRONLY | os.O_APPEND) for path in paths]
    alarms = _alarms()
    print("ready", flush=True)
    began, written, alarmed = time.monotonic(), 0, 0
    while (now := time.monotonic() - began) < seconds:
        for _ in range(int(now * lines) - written):
            step = written // files
            os.write(
                logs[written % files],
                b"2024-01-01 10:00:00,000 INFO epoch: %d, step: %d, loss: 0.51234, lr: 0.001000, "
                b"reader_cost: 0.01 s, batch_cost: 0.1 s, ips: 320.0 images/s\n"
                % (step // 1000, step),
            )
            written += 1
        if now > WARM_UP and alarmed < (now - WARM_UP) * ALARMS:
            line = alarms[alarmed % len(alarms)]
            os.write(logs[alarmed * 7 % files], line + b" at=%d\n" % time.monotonic_ns())
            alarmed += 1
        time.sleep(BATCH)
    print(json.dumps({"lines": written, "seconds": time.monotonic() - began}))


def listen(folder: str, files: int) -> None:
    """As `pdtriage run` listens, until standard input is closed."""
    from pdtriage.live.file_watch import Pace
    from pdtriage.live.log_follower import LogFollower
    from pdtriage.record.schema import ProcessRecord

    delays: list[float] = []
    follower = LogFollower(lambda _text: None)
    for number in range(files):
        record = ProcessRecord(
            "worker", number, number, None, None, 0, f"workerlog.{number}", 0, 0.0, 0.0
        )
        follower.follow(record, folder)
    follower.read_on()  # loads what it follows with
    follower.alerts = _Meter(delays)  # type: ignore[assignment]
    print("ready", flush=True)
    pace = Pace()
    while not select.select([sys.stdin], [], [], pace.pause(follower.read_on()))[0]:
        pass
    follower.read_on()  # what comes this late is late
    follower.close()
    print(json.dumps(delays))


class _Meter:
    """Stands where the alerts stand, and notes when there could have been one."""

    def __init__(self, delays: list[float]) -> None:
        self._delays = delays
        self._seen: set[bytes] = set()

    def in_logs(self, logs: Iterable[FollowedLog], _dead: object) -> list[Text]:
        for log in logs:
            if not (log.is_suspicious() and log.may_take_facts()):
                continue
            events = log.facts().events
            now = time.monotonic_ns()
            for event in events:
                at = _AT.search(event.text.encode())
                if at and at[1] not in self._seen:
                    self._seen.add(at[1])
                    self._delays.append((now - int(at[1])) / 1e6)
        return []


def _alarms() -> list[bytes]:
    """One line of every kind that can be a cause and stands in a single line."""
    from pdtriage.knowledge import load_knowledge
    from pdtriage.model import LogFile
    from pdtriage.scan import Engine, scan

    knowledge = load_knowledge()
    engine = Engine(knowledge)
    samples = [
        signature.samples[0].encode()
        for signature in knowledge.signatures.values()
        if signature.role == "cause" and signature.samples and "\n" not in signature.samples[0]
    ]
    file = LogFile("workerlog.0", "worker", "")
    marked = [(sample, scan(file, [sample + b" at=1\n"], engine).events) for sample in samples]
    return [sample for sample, found in marked if any("at=1" in event.text for event in found)]


if __name__ == "__main__":
    part, folder, number, *rest = sys.argv[1:]
    if part == "writer":
        write(folder, int(number), int(rest[0]), float(rest[1]))
    else:
        listen(folder, int(number))
