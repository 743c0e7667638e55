"""One log while it is written."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from pdtriage.live import followed_log
from pdtriage.live.followed_log import FollowedLog, LiteralPrescan, LiveEngine
from pdtriage.model import LogFile

from .test_file_watch import append

FILE = LogFile("workerlog.0", "worker", "")
ERROR = b"""Traceback (most recent call last):
  File "/srv/train.py", line 3, in read
    raise error
OSError: [Errno 5] Input/output error: '/data/a.bin'
"""


def follow(log: Path, engine: LiveEngine, begin: int = 0) -> FollowedLog:
    return FollowedLog(str(log), FILE, engine, begin=begin, news_from=begin)


def test_an_error_becomes_an_event_once_it_is_whole(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    followed = follow(log, engine)
    for cut in (10, 60, 88):
        log.write_bytes(ERROR[:cut])
        followed.read_on()
        assert not [e for e in followed.facts().events if e.role == "cause"]
    log.write_bytes(ERROR)
    assert followed.read_on()
    assert followed.is_suspicious()
    causes = [event for event in followed.facts().events if event.role == "cause"]
    assert [(event.signature, event.line) for event in causes] == [("data.errno5", 4)]


def test_a_slow_question_does_not_keep_the_next_one_back_for_long(
    tmp_path: Path, engine: LiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one compiles its patterns."""
    log = tmp_path / "workerlog.0"
    log.write_bytes(ERROR)
    followed = follow(log, engine)
    followed.read_on()
    spent = iter((1.0, 9.0))
    now = time.monotonic()
    monkeypatch.setattr(followed_log.time, "thread_time", lambda: next(spent))
    monkeypatch.setattr(followed_log.time, "monotonic", lambda: now)
    followed.facts()
    assert not followed.may_take_facts()
    now += followed_log.LONGEST_REST
    assert followed.may_take_facts()


def test_a_word_cut_by_two_reads_still_alarms(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    followed = follow(log, engine)
    log.write_bytes(b"step 1\nTraceback (most rec")
    followed.read_on()
    assert not followed.is_suspicious()
    append(log, b"ent call last):\n")
    followed.read_on()
    assert followed.is_suspicious()


def test_even_the_longest_word_may_be_cut_before_its_last_letter(engine: LiveEngine) -> None:
    detector = engine.engine.detector
    prescan = LiteralPrescan(detector, frozenset(range(len(detector.literals))))
    longest = max(detector.literals, key=lambda word: len(word.encode())).encode()
    before = (b"x" * 99 + longest[:-1])[-prescan.reach :]
    hits: list[int] = []
    prescan.add(before, longest[-1:], lambda: hits.append(1))
    prescan.search()
    assert hits


def test_of_several_logs_only_the_one_that_wrote_it_alarms(
    tmp_path: Path, engine: LiveEngine
) -> None:
    followed = [follow(tmp_path / f"workerlog.{number}", engine) for number in range(4)]
    for number, text in enumerate(
        (b"step 1\nTraceback (most rec", b"ent call last):\n", ERROR, b"x")
    ):
        (tmp_path / f"workerlog.{number}").write_bytes(text)
        followed[number].read_on()
    assert [one.is_suspicious() for one in followed] == [False, False, True, False]


def test_what_was_seen_does_not_alarm_again(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    followed = follow(log, engine)
    log.write_bytes(ERROR)
    followed.read_on()
    assert followed.is_suspicious()
    followed.facts()
    append(log, b"epoch: 1, step: 2, loss: 0.5\n")
    followed.read_on()
    assert not followed.is_suspicious()


def test_a_step_a_little_further_up_is_found_as_well(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    followed = follow(log, engine)
    log.write_bytes(b"epoch: 1, step: 7, loss: 0.5\n" + b"saving the optimizer, please wait\n" * 30)
    followed.read_on()
    followed.read_step()
    assert followed.step is not None
    assert followed.step.step == 7


def test_steps_do_not_alarm(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    followed = follow(log, engine)
    log.write_bytes(b"".join(b"epoch: 1, step: %d, loss: 0.5\n" % n for n in range(200)))
    assert followed.read_on()
    assert not followed.is_suspicious()
    followed.read_step()
    assert followed.step is not None
    assert (followed.step.epoch, followed.step.step) == (1, 199)


def test_what_older_runs_wrote_is_only_counted(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(ERROR * 3)
    followed = follow(log, engine, begin=log.stat().st_size)
    append(log, b"step 1\n" + ERROR)
    followed.read_on()
    (cause,) = [event for event in followed.facts().events if event.role == "cause"]
    assert cause.line == 17
    assert cause.offset == (ERROR * 3 + b"step 1\n" + ERROR).rindex(b"OSError")


def test_a_file_that_begins_anew_is_read_from_its_top(tmp_path: Path, engine: LiveEngine) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"a first part that is longer than what follows it\n" * 20)
    followed = follow(log, engine)
    followed.read_on()
    log.write_bytes(ERROR)
    followed.read_on()
    assert followed.is_restarted()
    (cause,) = [event for event in followed.facts().events if event.role == "cause"]
    assert cause.line == 4


def test_a_log_without_end_does_not_fill_the_memory(
    tmp_path: Path, engine: LiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_log, "PIECE", 1 << 11)
    monkeypatch.setattr(followed_log, "MOST_UNSEEN", 1 << 11)
    log = tmp_path / "workerlog.0"
    steps = b"".join(b"epoch: 0, step: %d, loss: 0.5\n" % n for n in range(1_500))
    followed = follow(log, engine)
    log.write_bytes(b"")
    held = []
    tracemalloc.start()
    try:
        for _ in range(12):
            append(log, steps)
            while followed.read_on():
                pass
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(held[8:]) < 1.5 * max(held[2:6]), held
    assert followed.facts().bytes == log.stat().st_size
