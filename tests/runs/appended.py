"""Folders that two recorded runs wrote to, one behind the other."""

from __future__ import annotations

import os
import random
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pdtriage

FIXTURES = Path(__file__).parents[1] / "fixtures"
CASES = sorted(
    path.parent
    for kind in ("scenarios", "healthy")
    for path in FIXTURES.glob(f"{kind}/*/cmd.txt")
    if not path.parent.name.startswith("history-")  # their logs were rotated: nothing precedes them
)
NOT_LOGS = ("label.json", "cmd.txt", "mtimes.json")
SIDE_FILES = r"envlog\.\d+|backup_env\.\d+\.json|endpoints\.log|\w+\.[a-z]{6}\.log|.*\.gpu\.log"
LEFT_OUT = {
    "whole": "",
    "no side files": SIDE_FILES,
    "logs alone": SIDE_FILES + r"|console\.log",
}
REWRITTEN = re.compile(r"backup_env\.\d+\.json|endpoints\.log")
"""Of these a launcher keeps what it wrote last; it appends to all others."""
ALL_REWRITTEN = re.compile(r"launch --server_num \d+ --worker_num")
"""By these words for parameter servers Paddle's older launcher is called, which overwrites logs."""
NOW = 1_795_000_000.0
DAY = 86_400.0


class Pair(NamedTuple):
    earlier: str
    later: str
    left: str
    """What is left of their files."""


class Outcome(NamedTuple):
    verdict: str
    cause: tuple[object, ...]
    """Category, signature, role and ranks of the first cause."""
    runs: int | None
    """None where the later one overwrote what it found."""


def pairs(seed: int, count: int) -> list[Pair]:
    drawing = random.Random(seed)
    return [_pair(drawing) for _ in range(count)]


def expected(pair: Pair) -> Outcome:
    """The last run as it is judged alone, and the runs of both."""
    earlier, later = alone(pair.earlier, pair.left), alone(pair.later, pair.left)
    if earlier.runs is None or _overwrites(FIXTURES / pair.later):
        return later._replace(runs=None)
    return later._replace(runs=earlier.runs + (later.runs or 0))


@cache
def alone(name: str, left: str) -> Outcome:
    return outcome([name], left)


def outcome(names: list[str], left: str) -> Outcome:
    """What is said of the last of these runs, which were written a day after another."""
    with TemporaryDirectory() as tmp:
        for age, name in zip(reversed(range(len(names))), names, strict=True):
            _append(FIXTURES / name, Path(tmp) / "job", left, NOW - age * DAY)
        report = pdtriage.analyze(Path(tmp) / "job")
    cause = report.root_causes[0] if report.root_causes else None
    told = (cause.category, cause.signature, cause.role, tuple(cause.ranks)) if cause else ()
    overwritten = len(names) > 1 and _overwrites(FIXTURES / names[-1])
    return Outcome(report.verdict, told, None if overwritten else len(report.runs))


@cache
def _overwrites(case: Path) -> bool:
    return bool(ALL_REWRITTEN.search((case / "cmd.txt").read_text()))


def _pair(drawing: random.Random) -> Pair:
    while True:
        earlier, later = drawing.sample(CASES, 2)
        left = drawing.choice(sorted(LEFT_OUT))
        both = [_files_of(case, left) for case in (earlier, later)]
        if all(both) and _is_of_nodes(both[0]) == _is_of_nodes(both[1]):
            return Pair(_name_of(earlier), _name_of(later), left)


def _is_of_nodes(files: dict[str, bytes]) -> bool:
    return any(name.startswith("node") for name in files)


def _name_of(case: Path) -> str:
    return case.relative_to(FIXTURES).as_posix()


def _append(case: Path, folder: Path, left: str, written: float) -> None:
    for name, raw in _files_of(case, left).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        anew = _overwrites(case) and path.name != "console.log"
        with path.open("wb" if anew or REWRITTEN.fullmatch(path.name) else "ab") as file:
            file.write(raw)
        os.utime(path, (written, written))


@cache
def _files_of(case: Path, left: str) -> dict[str, bytes]:
    return {
        path.relative_to(case).as_posix(): path.read_bytes()
        for path in sorted(case.rglob("*"))
        if path.is_file()
        and path.name not in NOT_LOGS
        and not re.fullmatch(LEFT_OUT[left], path.name)
    }
