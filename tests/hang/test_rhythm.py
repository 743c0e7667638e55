"""When a job stands still: learned from its own rhythm, with clocks of our own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.hang.rhythm import (
    LEAST_STEPS,
    HangLimits,
    JobRhythm,
    RankSample,
    parse_limits,
)

RANKS = 4


class Clockwork:
    """Ranks that step together, looked at every second of a clock that nobody waits for."""

    def __init__(self, limits: HangLimits | None = None) -> None:
        self.now = 1000.0
        self.step = 0
        self.lines = 0
        self.bytes = 0
        self.rhythm = JobRhythm(limits or HangLimits(), self.now)
        self.alarms: list[float] = []

    def pause(self, seconds: float, *, lines_every: float = 0.0) -> None:
        """Nothing but lines, for so long."""
        end, printed = self.now + seconds, self.now
        while self.now < end:
            self.now = min(end, self.now + max(1.0, seconds / 60))
            if lines_every and self.now - printed >= lines_every:
                printed = self.now
                self.lines += 1
            self.look()

    def steps(self, count: int, seconds: float) -> None:
        for _ in range(count):
            self.pause(seconds)
            self.step += 1
            self.lines += 1
            self.look()

    def look(self) -> None:
        position = (0, self.step) if self.step else None
        sample = RankSample(position, float(self.lines), self.bytes)
        state = self.rhythm.look(self.now, dict.fromkeys(range(RANKS), sample))
        if state.stands:
            self.alarms.append(state.still)


@settings(max_examples=20, deadline=None)
@given(
    st.floats(0.05, 15.0),
    st.lists(st.floats(0.5, 1.6), min_size=8, max_size=20),
    st.floats(20.0, 100.0),
    st.integers(5, 8),
    st.booleans(),
)
def test_uneven_but_healthy_jobs_raise_no_alarm(
    step: float, jitter: list[float], first: float, before: int, together: bool
) -> None:
    """A first step of a hundred, evaluations of thirty and checkpoints of sixty steps."""
    job = Clockwork()
    job.steps(1, first * step)
    for number, factor in enumerate(jitter):
        job.steps(1, step * factor)
        if number == before:
            job.pause(30 * step)
            if not together:
                job.steps(1, step)
            job.pause(60 * step)
    job.pause(30 * step, lines_every=5 * step)
    job.steps(2, step)
    assert job.alarms == []


@settings(max_examples=15, deadline=None)
@given(st.floats(0.05, 5.0), st.integers(LEAST_STEPS + 1, 20), st.floats(1.0, 20.0))
def test_a_job_that_stands_is_told_of_at_its_limit(step: float, count: int, first: float) -> None:
    job = Clockwork()
    job.steps(1, first)
    job.steps(count, step)
    limit = job.rhythm.limit
    assert job.alarms == []
    job.pause(limit + 20)
    assert job.alarms[0] <= limit + 10 + limit / 60


def test_start_up_has_the_upper_limit_only() -> None:
    job = Clockwork(HangLimits(60, 1800))
    job.pause(1700, lines_every=0)
    assert job.alarms == []
    job.pause(200)
    assert job.alarms


def test_a_job_that_prints_no_steps_has_the_upper_limit_only() -> None:
    job = Clockwork()
    for _ in range(50):
        job.lines += 1
        job.pause(1)
    job.pause(1700)
    assert job.alarms == []


def test_lines_alone_are_no_steps() -> None:
    """A rank that prints that it waits does not train."""
    job = Clockwork()
    job.steps(20, 1.0)
    job.pause(900, lines_every=10)
    assert job.alarms


def test_a_silent_checkpoint_moves_bytes() -> None:
    job = Clockwork()
    job.steps(20, 0.2)
    for _ in range(600):
        job.now += 1
        job.bytes += 8 << 20
        job.look()
    assert job.alarms == []


def test_a_reader_that_is_late_moves_no_standstill() -> None:
    """Its machine is busy: lines are there, what they say is known seconds later, or not for a
    while."""
    job = Clockwork()
    job.steps(20, 1.0)
    stood = job.now
    job.lines += 1
    job.look()
    for seconds, step in ((5.0, 21), (10.0, 0), (10.0, 21)):
        job.now += seconds
        job.step = step
        job.look()
    assert job.rhythm.state(job.now).still == job.rhythm.state(job.now).stepless == job.now - stood


def test_a_single_number_is_obeyed_at_once() -> None:
    job = Clockwork(parse_limits("5"))
    job.pause(4)
    assert job.alarms == []
    job.pause(2)
    assert job.alarms


def test_time_in_which_nobody_looked_does_not_count() -> None:
    job = Clockwork()
    job.steps(20, 1.0)
    job.now += 7200
    job.look()
    assert job.alarms == []


@pytest.mark.parametrize("text", ["x", "-1", "9:3", "nan", "5:inf", ""])
def test_limits_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S|^$"):
        parse_limits(text)
