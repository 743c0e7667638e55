"""The watch over a job that stands still, with processes that can be seen only later."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from queue import Queue

import pytest

from pdtriage.hang.rhythm import HangLimits, RankSample
from pdtriage.hang.take import StackTarget
from pdtriage.live import hang
from pdtriage.model.stacks import Standstill

from .test_hang import MINUTES, needs_py_spy

WAITING = "import time\ndef wait():\n    print('up', flush=True)\n    time.sleep(600)\nwait()\n"


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words, stdout=subprocess.PIPE) as started:
        try:
            yield started
        finally:
            started.kill()


@needs_py_spy
def test_who_could_not_be_seen_at_first_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang, "LOOK_AGAIN", (2.0, 4.0, 6.0))
    told: Queue[Standstill] = Queue()
    with ExitStack() as stack:
        python = stack.enter_context(process(sys.executable, "-c", WAITING))
        assert python.stdout is not None
        python.stdout.readline()
        other = stack.enter_context(process("sleep", "600"))
        first = [StackTarget(other.pid, rank=0), StackTarget(python.pid, rank=1)]
        later = [StackTarget(python.pid, rank=0), StackTarget(python.pid, rank=1)]
        looks = iter([first, first, later])
        monitor = hang.HangMonitor(
            HangLimits(1.0, 1.0),
            "stacks",
            lambda: {python.pid: RankSample((0, 3), 10.0)},
            lambda: next(looks),
            told.put,
        )
        monitor.start()
        stack.callback(monitor.close)
        found = told.get(timeout=MINUTES)
        assert [bool(one.frames) for one in found.stacks] == [False, True]
        found = told.get(timeout=MINUTES)
        assert [bool(one.frames) for one in found.stacks] == [True, True]
        assert (found.reason, found.moved_on) == ("hang", False)
        time.sleep(3 * hang.LOOK_EVERY)
        assert told.empty(), "all was seen: nobody looks any more"
        assert monitor.standstill == found


@needs_py_spy
def test_stacks_are_begun_before_the_limit_and_forgotten_where_the_job_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hang, "AHEAD", MINUTES)
    monkeypatch.setattr(hang, "AHEAD_SHARE", 1.0)
    told: Queue[Standstill] = Queue()
    with ExitStack() as stack:
        moved, stands = (stack.enter_context(process(sys.executable, "-c", WAITING)) for _ in "ab")
        sizes, targets = iter([1.0, 1.0]), iter([moved, stands])
        monitor = hang.HangMonitor(
            HangLimits(4.0, 4.0),
            "stacks",
            lambda: {1: RankSample((0, 3), next(sizes, 2.0))},
            lambda: [StackTarget(next(targets).pid, rank=0)],
            told.put,
        )
        monitor.start()
        stack.callback(monitor.close)
        found = told.get(timeout=MINUTES)
    assert [one.pid for one in found.stacks] == [stands.pid]
    assert next(targets, None) is None
    assert found.is_hang
