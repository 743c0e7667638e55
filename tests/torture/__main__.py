"""Runs random lives and prints what was lost: `python -m tests.torture --lives 2000`.

With `--launcher paddle` the same lives under `python -m paddle.distributed.launch`, for comparison.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf

from .lives import DEEDS, FATES, Life, Loss, life_of, live
from .surroundings import is_possible

PADDLE = (sys.executable, "-m", "paddle.distributed.launch")
HEAD = (
    "| | lives | left processes behind | lost bytes | wrong first death | wrong exit code "
    "| record unreadable |\n|---|---|---|---|---|---|---|"
)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lives", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first life")
    parser.add_argument("--minutes", type=float, default=inf, help="none is begun after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fate", choices=FATES, help="only lives of this one")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--launcher", choices=["pdtriage", "paddle"], default="pdtriage")
    asked = parser.parse_args()
    command = PADDLE if asked.launcher == "paddle" else None
    lives = [life_of(asked.first + number, asked.seed) for number in range(asked.lives)]
    if asked.fate:
        lives = [life for life in lives if life.fate == asked.fate]
    if command is not None:
        lives = [life for life in lives if not life.fate.startswith("reader")]
    possible = [life for life in lives if is_possible(life.fate)]
    if len(possible) < len(lives):
        print(f"{len(lives) - len(possible)} lives are left out: they take root's rights")
    began = time.monotonic()
    lived = live_all(possible, command, asked.at_once, asked.minutes)
    print(table(lived))
    print(f"\n{len(lived)} lives in {time.monotonic() - began:.0f} s, seed {asked.seed}")
    return any(loss for _, loss in lived)


def live_all(
    lives: Sequence[Life], command: Sequence[str] | None, at_once: int, minutes: float = inf
) -> list[tuple[Life, Loss]]:
    """Those begun within so many minutes; what one loses is printed at once."""
    # What is started in the background is told to ignore it, and would tell its children so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()

    def begin(life: Life) -> tuple[Life, Loss] | None:
        if time.monotonic() - began > minutes * 60:
            return None
        return life, _told(life, live(life, command))

    with ThreadPoolExecutor(at_once) as pool:
        return [one for one in pool.map(begin, lives) if one is not None]


def table(lived: Iterable[tuple[Life, Loss]]) -> str:
    """By what was done to the launcher, and by what the first rank did."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for life, loss in lived:
        deed = next(iter({rank.deed for rank in life.ranks} & set(DEEDS[5:])), "") or "others"
        for row in ("all", f"launcher: {life.fate}", f"a rank: {deed}"):
            counts[row]["lives"] += 1
            for part, value in loss._asdict().items():
                counts[row][part] += bool(value)
    order = ["all", *(f"launcher: {fate}" for fate in FATES), *sorted(counts)]
    rows = [row for row in dict.fromkeys(order) if row in counts]
    parts = ("lives", *Loss._fields)
    lines = (" | ".join([row, *(str(counts[row][part]) for part in parts)]) for row in rows)
    return "\n".join([HEAD, *(f"| {line} |" for line in lines)])


def _told(life: Life, loss: Loss) -> Loss:
    if loss:
        words = " ".join(rank.word(place) for place, rank in enumerate(life.ranks))
        print(
            f"life {life.number}: {life.fate} after {life.moment} s, {words}: {loss}",
            file=sys.stderr,
        )
    return loss


if __name__ == "__main__":
    sys.exit(main())
