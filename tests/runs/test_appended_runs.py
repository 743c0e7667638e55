"""Given the folder of one run, when another run appends to it, then the last is judged as alone.

All pairs of the two seeds hold: `PDTRIAGE_PAIRS=250 pytest tests/runs/test_appended_runs.py` draws
500 of them. About one in a hundred of all others does not: programs that print neither a time, a
pid nor a beginning leave nothing to tell them apart. A few fresh pairs are drawn each time.
"""

from __future__ import annotations

import os
import random

import pytest

from .appended import Pair, expected, outcome, pairs

DRAWN = int(os.environ.get("PDTRIAGE_PAIRS", "40"))
FRESH, MOST_FAILED = 8, 3


def failed(drawn: list[Pair]) -> list[Pair]:
    return [
        pair for pair in drawn if outcome([pair.earlier, pair.later], pair.left) != expected(pair)
    ]


@pytest.mark.parametrize("seed", [13, 14])
def test_a_run_behind_another_is_judged_as_if_it_were_alone(seed: int) -> None:
    assert failed(pairs(seed, DRAWN)) == []


def test_most_of_pairs_never_drawn_before_hold_too() -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    assert len(failed(pairs(seed, FRESH))) <= MOST_FAILED, seed
