"""Hints about silence."""

from __future__ import annotations

import time

from pdtriage.live.hang import Silence
from pdtriage.live.log_follower import Standing


def standing(name: str, step: int | None, quiet: float) -> Standing:
    return Standing(name, step, None, time.monotonic() - quiet, pid=4000 + (step or 0))


def test_one_that_speaks_is_enough() -> None:
    silence = Silence(10)
    assert silence.hint([standing("rank 0", 5, 60), standing("rank 1", 5, 2)]) is None


def test_a_silence_is_told_once_and_names_the_slowest() -> None:
    silence = Silence(10)
    quiet = [standing("rank 0", 7, 60), standing("rank 1", 5, 42)]
    hint = silence.hint(quiet)
    assert hint is not None
    assert "for 42 s; furthest behind: rank 1, step 5" in hint.now.en
    assert "`py-spy dump --pid 4005` (rank 1)" in hint.now.en
    assert "42 秒" in hint.now.zh
    assert "no process had written a line for 42 s; furthest behind: rank 1" in hint.later.en
    assert silence.hint(quiet) is None


def test_the_next_silence_is_told_again() -> None:
    silence = Silence(10)
    assert silence.hint([standing("rank 0", 7, 60)]) is not None
    assert silence.hint([standing("rank 0", 8, 1)]) is None
    assert silence.hint([standing("rank 0", 8, 20)]) is not None


def test_zero_means_never() -> None:
    assert Silence(0).hint([standing("rank 0", 7, 6_000)]) is None
