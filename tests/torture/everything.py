"""All of it, and one table of what was tried and what was lost: nothing. `make torture` runs this.

`python -m tests.torture.everything [--lives 2000] [--acts 600] [--fuzz SECONDS] [--texts 2000]`
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from ..masking.test_rates import harmless_masked, planted_out
from .__main__ import live_all
from .killed_verbs import VERBS, kill_at_every_moment
from .lives import Loss, life_of
from .strangers import play_all
from .surroundings import is_possible

HEAD = "| tried | how many | what must not be | how often |\n|---|---|---|---|"
WORDS = {
    "orphans": "processes left behind",
    "bytes": "bytes lost",
    "first": "wrong first death",
    "code": "wrong exit code",
    "record": "record unreadable",
}


class Row(NamedTuple):
    tried: str
    number: int
    loss: str
    lost: int

    def __str__(self) -> str:
        return f"| {self.tried} | {self.number} | {self.loss} | {self.lost} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=2000)
    parser.add_argument("--acts", type=int, default=600)
    parser.add_argument(
        "--fuzz", type=float, default=200, help="seconds of processor time a target"
    )
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--at-once", type=int, default=4)
    asked = parser.parse_args()
    print(HEAD, flush=True)
    lost = 0
    for row in _rows(asked):
        lost += row.lost
        print(row, flush=True)
    print(f"\nseed {asked.seed}")
    return int(lost > 0)


def _rows(asked: argparse.Namespace) -> Iterator[Row]:
    yield from _lives(asked.lives, asked.seed, asked.at_once)
    yield from _strangers(asked.acts, asked.seed)
    kills, half = 0, 0
    for verb in VERBS:
        killed, found = kill_at_every_moment(verb)
        kills, half = kills + killed, half + len(found)
        for file in found:
            _tell(f"{verb}: {file}")
    yield Row(f"kills, at every 50 ms of {len(VERBS)} commands", kills, "half files", half)
    yield _fuzz(asked.fuzz)
    for tried, loss, lost in (
        ("planted secrets", "come through", planted_out(asked.seed, asked.texts)),
        ("harmless texts", "masked", harmless_masked(asked.seed, asked.texts)),
    ):
        for text in lost:
            _tell(f"{text.kind}: {text.text!r}")
        yield Row(tried, asked.texts, loss, len(lost))


def _lives(number: int, seed: int, at_once: int) -> Iterator[Row]:
    lives = [life_of(one, seed) for one in range(number)]
    lived = live_all([life for life in lives if is_possible(life.fate)], None, at_once)
    for part in Loss._fields:
        lost = sum(bool(getattr(loss, part)) for _, loss in lived)
        yield Row("random lives of jobs", len(lived), WORDS[part], lost)


def _strangers(acts: int, seed: int) -> Iterator[Row]:
    harms, done = [], 0
    for name, harm, tried, _ in play_all(acts, seed):
        if harm:
            _tell(f"{name}: {harm}")
        harms.append(harm)
        done += tried.total()
    yield Row(
        "hostile acts of strangers", done, "jobs stopped", sum(bool(h.stopped) for h in harms)
    )
    yield Row(
        "hostile acts of strangers", done, "verdicts changed", sum(bool(h.verdict) for h in harms)
    )


def _fuzz(seconds: float) -> Row:
    words = [sys.executable, "-m", "tests.fuzz", f"--seconds={seconds}"]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    inputs = sum(map(int, re.findall(r"inputs: (\d+)", told)))
    findings = len(re.findall(r"(?m)^\S+ +FAILED", told))
    if findings:
        _tell(told)
    return Row("inputs for every reader and parser", inputs, "findings", findings)


def _tell(loss: str) -> None:
    """Beside the table."""
    print(loss, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
