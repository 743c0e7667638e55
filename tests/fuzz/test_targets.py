"""A few hundred damaged inputs for every reader and parser; `python -m tests.fuzz` goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pdtriage.support import cache
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, seeds_of

SLOW = {"job": 4, "signatures": 40, "archive": 40}


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_that_strangers_write_makes_it_raise(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if target == "signatures":  # nobody wants to keep those
        monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path))
    chance, seeds = random.Random(15), seeds_of(target)
    for raw in seeds[:6]:
        TARGETS[target](raw)
    for _ in range(SLOW.get(target, 120)):
        TARGETS[target](mutated(seeds, chance))
