"""Given a long log, when its steps are sampled, then the last one and every new start are seen."""

from __future__ import annotations

import pytest

from pdtriage.scan.sampling import FIRST_PROBE

from .builders import facts_of

QUIET = b"reader: shard of no interest, queue 12/64, cache hit 0.812, nothing else to tell here\n"


def test_the_last_step_of_a_long_log() -> None:
    facts = facts_of(_steps(range(20_000)))
    assert facts.progress[-1].step == 19_999
    assert len(facts.progress) < 400


def test_the_very_line_where_a_counter_falls_back() -> None:
    facts = facts_of(_steps([*range(20), *range(3), *range(3)]) * 1)
    assert [p.step for p in facts.progress].count(0) == 3
    dense = b"".join(b"epoch 0 step %d loss 0.5\n" % step for step in [*range(150), *range(140)])
    starts = [p.line for p in facts_of(dense).progress if p.step == 0]
    assert starts == [1, 151]


def test_steps_behind_an_error_far_from_both_ends() -> None:
    error = b"OSError: [Errno 5] Input/output error\n"
    raw = _steps(range(3000)) + error + _steps(range(3000, 6000))
    facts = facts_of(raw)
    line = next(event.line for event in facts.events if "Errno 5" in event.text)
    assert any(line < p.line <= line + 4 for p in facts.progress)


def test_what_a_progress_bar_overwrote_is_not_its_last_step() -> None:
    bar = b"".join(b"\r%3d%%|###   | %d/100 [00:01<00:09, 9.0it/s]" % (n, n) for n in range(1, 101))
    assert facts_of(bar + b"\n").progress[-1].step == 100


@pytest.mark.parametrize("silence", [4_000, 70_000, 300_000, 900_000])
@pytest.mark.parametrize("count", [40, 400])
def test_the_last_step_before_a_long_silence(count: int, silence: int) -> None:
    facts = facts_of(_steps(range(count)) + QUIET * (silence // len(QUIET)))
    assert facts.progress[-1].step == count - 1


def test_steps_in_the_middle_only() -> None:
    quiet = QUIET * 2_000
    assert facts_of(quiet + _steps(range(9)) + quiet).progress[-1].step == 8


def test_a_step_across_the_border_of_what_is_looked_at() -> None:
    """Its beginning alone fits another counter, which would then be believed to the end."""
    step = b"global step %d, epoch: %d, batch: %d, loss: 0.5, speed: 3.1 step/s\n"
    for before in range(FIRST_PROBE - 60, FIRST_PROBE):
        begin = QUIET * (before // len(QUIET)) + b"-" * (before % len(QUIET) - 1) + b"\n"
        raw = begin + b"".join(step % (n, n // 50, n % 50) + QUIET for n in range(100, 300))
        assert {p.step for p in facts_of(raw).progress} <= set(range(100, 300))


def _steps(numbers: object) -> bytes:
    assert hasattr(numbers, "__iter__")
    return b"".join(b"epoch 0 step %d loss 0.5\n" % step + QUIET for step in numbers)


def test_steps_and_stamps_behind_the_prefix_of_a_wrapper() -> None:
    """Also of formats that begin a line; the clock is the wrapper's, the pid the program's."""
    stamp = b"2024-01-01T00:00:%02d.000000001Z stdout F "
    said = [b"I0304 05:06:07.000000  77 trainer.cc:8] ready\n"]
    said += [b"step %3d/100 - loss: 0.5 - acc: 0.5\n" % step for step in range(1, 51)]
    facts = facts_of(b"".join(stamp % second + line for second, line in enumerate(said)))
    assert (facts.progress[-1].step, facts.progress[-1].total) == (50, 100)
    (told,) = facts.stamps
    assert (told.time, told.pid) == (1704067200.0, 77)


def test_the_last_step_of_a_training_stands_above_those_of_the_evaluation_behind_it() -> None:
    """Both are told by the same trainer, and only the first tell the epoch."""
    trained = "[2022/01/02 03:04:05] [Train][Epoch {}/9][Iter: {}/80]lr: 0.1, loss: 1.5\n"
    tested = "[2022/01/02 03:04:06] [Eval][Epoch 9][Iter: {}/60]loss: 1.5, top1: 0.5\n"
    raw = "".join(trained.format(epoch, n) for epoch in range(1, 10) for n in range(80))
    for evaluation in (2, 60):
        told = facts_of((raw + "".join(map(tested.format, range(evaluation)))).encode())
        steps = [(step.epoch, step.step) for step in told.progress if step.epoch]
        assert steps[-1] == (9, 79)
