"""Given the folder of one run, when another run appends to it, then the last is judged as alone.

Not every pair holds: two programs that print neither a time, a pid nor a beginning leave nothing
to tell them apart. `PDTRIAGE_PAIRS=500 pytest tests/runs/test_appended_runs.py` draws more of them.
"""

from __future__ import annotations

import os
import random

import pytest

from .appended import expected, outcome, pairs

DRAWN = int(os.environ.get("PDTRIAGE_PAIRS", "40"))
FRESH = 4
ENOUGH = 0.96
"""Of all drawn pairs."""


@pytest.mark.parametrize("seed", [13, 14])
def test_a_run_behind_another_is_judged_as_if_it_were_alone(seed: int) -> None:
    drawn = pairs(seed, DRAWN) + pairs(random.SystemRandom().randrange(1 << 32), FRESH)
    failed = [
        pair for pair in drawn if outcome([pair.earlier, pair.later], pair.left) != expected(pair)
    ]
    assert len(failed) <= (1 - ENOUGH) * len(drawn) + FRESH, failed
