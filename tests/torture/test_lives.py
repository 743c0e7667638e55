"""A few of the lives of `make torture`, in every `make test`."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from .__main__ import table
from .lives import DEEDS, FATES, Life, Loss, RankLife, life_of, live


def test_nothing_is_lost_of_any_life() -> None:
    """Every deed of a rank and every fate of the launcher once, in turn."""
    fates = len(FATES)
    lives = [life_of(fates * deed + deed % fates) for deed in range(len(DEEDS))]
    assert {life.ranks[0].deed for life in lives} == set(DEEDS)
    assert {life.fate for life in lives} == set(FATES)
    with ThreadPoolExecutor(3) as pool:
        lost = dict(zip(lives, pool.map(live, lives), strict=True))
    assert {life: loss for life, loss in lost.items() if loss} == {}


def test_a_launcher_that_leaves_somebody_behind_is_found_out() -> None:
    """The measure itself: a launcher without any care loses a process and the exit code."""
    careless = """
import os, subprocess, sys
script = next(n for n, word in enumerate(sys.argv) if word.endswith("child.py"))
environment = os.environ | {"PADDLE_TRAINER_ID": "0"}
subprocess.call([sys.executable, *sys.argv[script:]], env=environment)
"""
    life = Life(0, (RankLife("daemon", "exit7", 0.1),), "nothing", 0.1)
    loss = live(life, (sys.executable, "-c", careless), patience=1)
    assert loss.orphans == 1
    assert loss.code == "0 instead of 7"
    assert "| all | 1 | 1 | " in table([(life, loss)])
    assert "| all | 1 | 0 | 0 | 0 | 0 | 0 |" in table([(life, Loss())])
