"""Hints about watch."""

from __future__ import annotations

import time

from pdtriage.live.hang import HangWatch
from pdtriage.live.log_follower import ProcessStatus


def status(name: str, step: int | None, quiet: float) -> ProcessStatus:
    return ProcessStatus(name, step, None, time.monotonic() - quiet, pid=4000 + (step or 0))


def test_one_that_speaks_is_enough() -> None:
    watch = HangWatch(10)
    assert watch.hint([status("rank 0", 5, 60), status("rank 1", 5, 2)]) is None


def test_a_watch_is_told_once_and_names_the_slowest() -> None:
    watch = HangWatch(10)
    quiet = [status("rank 0", 7, 60), status("rank 1", 5, 42)]
    hint = watch.hint(quiet)
    assert hint is not None
    assert "for 42 s; furthest behind: rank 1, step 5" in hint.now.en
    assert "`py-spy dump --pid 4005` (rank 1)" in hint.now.en
    assert "42 秒" in hint.now.zh
    assert "no process had written a line for 42 s; furthest behind: rank 1" in hint.later.en
    assert watch.hint(quiet) is None


def test_the_next_watch_is_told_again() -> None:
    watch = HangWatch(10)
    assert watch.hint([status("rank 0", 7, 60)]) is not None
    assert watch.hint([status("rank 0", 8, 1)]) is None
    assert watch.hint([status("rank 0", 8, 20)]) is not None


def test_zero_means_never() -> None:
    assert HangWatch(0).hint([status("rank 0", 7, 6_000)]) is None
