"""Given a long log, when its steps are sampled, then the last one and every new start are seen."""

from __future__ import annotations

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


def _steps(numbers: object) -> bytes:
    assert hasattr(numbers, "__iter__")
    return b"".join(b"epoch 0 step %d loss 0.5\n" % step + QUIET for step in numbers)
