"""Signs that a program came to its end and nothing went wrong, where no launcher tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.knowledge import Format
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict.rank_reading import Observation, RankReading

LONG_LIFE = 600.0
"""Seconds after which an orderly exit without an error is that of a program that did its work."""
_LAST_EPOCH = lazy_compile(r"\b[Ee]poch\b\W{0,3}(\d{1,6}) ?/ ?\1\b")
"""Of epochs that are counted from 1, with their number."""


def says_finished(reading: RankReading, finishes: Sequence[Format]) -> bool:
    """By words, deeds or steps that come last, and nothing speaks against it."""
    if not reading.quiet or reading.stopped is not None:
        return False
    return (
        reading.done is not None
        or _tells_its_end(reading, finishes)
        or _wrapped_up(reading)
        or _shut_down(reading)
        or _came_to_the_last_epoch(reading)
    )


def finished_together(readings: Sequence[RankReading], finishes: Sequence[Format]) -> bool:
    """Every process that tells how far it came says that it has finished, and the rest is silent.

    As a rule only the first rank of a job prints anything; it does not get to the end alone.
    """
    if any(not reading.quiet or reading.stopped for reading in readings):
        return False
    finished: list[RankReading] = []
    others: list[RankReading] = []
    for reading in readings:
        (finished if says_finished(reading, finishes) else others).append(reading)
    telling = any(reading.rank.progress or reading.milestones for reading in finished)
    return bool(finished) and (telling or not others) and all(map(_may_have_ended, others))


def servers_were_ended(readings: Sequence[RankReading]) -> bool:
    """A launcher ends parameter servers when all trainers have left, and stops no trainer then."""
    servers = [r for r in readings if r.rank.role == "server"]
    trainers = [r for r in readings if r.rank.role == "worker" and r.rank.lines]
    worked = any(trainer.rank.progress or trainer.milestones for trainer in trainers)
    left = all(t.quiet and not t.stopped and t.rank.exit is None for t in trainers)
    told = [server for server in servers if server.stopped]
    return bool(told) and worked and left and all(server.quiet for server in servers)


def end_of_training_before(found: Observation, reading: RankReading) -> Observation | None:
    """What it said when its training had ended, where this failure came only after that."""
    before = [
        sign
        for sign in reading.milestones
        if sign.says("training-done", "wraps-up") and sign.where < found.where
    ]
    last_step = reading.rank.progress[-1].line if reading.rank.progress else 0
    return before[0] if before and before[-1].event.line > last_step else None


def last_saved(found: Observation, reading: RankReading) -> Observation | None:
    """The last model it had saved before this failure."""
    saved = [f for f in reading.milestones if f.says("model-saved") and f.where < found.where]
    return saved[-1] if saved else None


def _tells_its_end(reading: RankReading, finishes: Sequence[Format]) -> bool:
    """In its last lines; a step below takes it back."""
    rank = reading.rank
    lines = rank.last_lines or tuple((rank.last_offset, line) for line in rank.tail[-1:])
    last_step = rank.progress[-1].offset if rank.progress else 0
    return any(
        offset >= last_step and re.search(form.pattern, line)
        for offset, line in lines
        for form in finishes
    )


def _wrapped_up(reading: RankReading) -> bool:
    """It did what programs do behind their last step."""
    last_step = reading.rank.progress[-1].line if reading.rank.progress else None
    if last_step is None:
        return False
    return any(f.says("wraps-up") and f.event.line > last_step for f in reading.milestones)


def _shut_down(reading: RankReading) -> bool:
    """It left in good order after it had worked: an exception would stand above that."""
    rank = reading.rank
    ends = [e for _, e in rank.events if "shuts-down" in e.says]
    last_step = rank.progress[-1].line if rank.progress else 0
    if not ends or ends[-1].line < last_step:
        return False
    first, last = rank.first_time, rank.last_time
    lived = last - first if first is not None and last is not None else 0.0
    return bool(rank.progress or reading.milestones) or lived >= LONG_LIFE


def _came_to_the_last_epoch(reading: RankReading) -> bool:
    """Its last step is of the last epoch, and an evaluation or a saved model follows."""
    rank = reading.rank
    evaluated = {f.event.line for f in reading.milestones}  # an evaluation counts its own steps
    trained = [step for step in rank.progress if step.line not in evaluated]
    last_step = trained[-1] if trained else None
    if last_step is None or not any(f.event.line > last_step.line for f in reading.milestones):
        return False
    return any(
        offset == last_step.offset and _LAST_EPOCH.search(line) for offset, line in rank.last_lines
    )


def _may_have_ended(reading: RankReading) -> bool:
    """It says nothing of how far it came, and nobody saw it end."""
    return not (reading.rank.exit or reading.rank.progress)
