"""Signs that a program came to its end and nothing went wrong, where no launcher tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.hang.rhythm import rhythm_of
from pdtriage.knowledge import Format
from pdtriage.model import Progress, Rank
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict.rank_reading import Observation, RankReading

LONG_LIFE = 600.0
"""Seconds after which an orderly exit without an error is that of a program that did its work."""
SHORT = 60.0
"""Seconds that may be left at the last step, where nothing tells how often steps are told."""
_SAYS_MORE = lazy_compile(r"\w")
_SAYS_ERROR = lazy_compile(r"^(?:fatal )?[Ee]rror\s?: ")
_SAYS_FATAL = lazy_compile(r"^[^\"'(]{0,60}?\b(?:CRITICAL|FATAL|critical|fatal)\b")


def says_finished(
    reading: RankReading, finishes: Sequence[Format], remainders: Sequence[Format]
) -> bool:
    """Whether a rank finished: its last words, deeds or steps say so, and nothing denies it."""
    if not reading.quiet or reading.stopped is not None:
        return False
    return (
        reading.done is not None
        or _tells_its_end(reading, finishes)
        or _has_wrapped_up(reading)
        or _shut_down(reading)
        or _came_to_the_last_steps(reading, remainders)
    )


def finished_together(
    readings: Sequence[RankReading], finishes: Sequence[Format], remainders: Sequence[Format]
) -> bool:
    """Every process that tells how far it came says that it has finished, and the rest is silent.

    As a rule only the first rank of a job prints anything; it does not get to the end alone.
    """
    if any(not reading.quiet or reading.stopped for reading in readings):
        return False
    finished: list[RankReading] = []
    others: list[RankReading] = []
    for reading in readings:
        (finished if says_finished(reading, finishes, remainders) else others).append(reading)
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
    """What a rank said when its training had ended, if this failure came only after that."""
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
    """Whether a rank tells its end in its last lines; a step below takes it back."""
    rank = reading.rank
    lines = rank.last_lines or tuple((rank.last_offset, line) for line in rank.tail[-1:])
    last_step = rank.progress[-1].offset if rank.progress else 0
    return any(
        offset >= last_step and form.search(line) for offset, line in lines for form in finishes
    )


def _has_wrapped_up(reading: RankReading) -> bool:
    """Whether a rank did what programs do behind their last step."""
    last_step = reading.rank.progress[-1].line if reading.rank.progress else None
    if last_step is None:
        return False
    return any(f.says("wraps-up") and f.event.line > last_step for f in reading.milestones)


def _shut_down(reading: RankReading) -> bool:
    """Whether a rank left in good order after its work: an exception would stand above that."""
    rank = reading.rank
    ends = [e for _, e in rank.events if "shuts-down" in e.says]
    last_step = rank.progress[-1].line if rank.progress else 0
    last_start = max((e.line for _, e in rank.events if "process-starts" in e.says), default=0)
    if not ends or ends[-1].line < max(last_step, last_start):
        return False
    first, last = rank.first_time, rank.last_time
    lived = last - first if first is not None and last is not None else 0.0
    return bool(rank.progress or reading.milestones) or lived >= LONG_LIFE


def _came_to_the_last_steps(reading: RankReading, remainders: Sequence[Format]) -> bool:
    """Its last step is of the last epoch, or no more time was left than passes between two that are
    told; an evaluation or a saved model follows, or there is no further step in that epoch. Where
    much more than that follows, something else was begun."""
    rank = reading.rank
    step = last_step_in_training(rank)
    if step is None or not rank.up_to_last_step:
        return False
    *above, line = rank.up_to_last_step
    after = [f.event.offset for f in reading.milestones if f.event.line > step.line]
    followed = bool(after and rank.last_lines) and after[-1] >= rank.last_lines[0][0]
    for form in remainders:
        if told := form.search(line):
            return followed and _is_the_last(told, rank)
    last = rank.progress[-1]
    for heading in reversed(above if last.step == last.total else ()):
        for form in remainders:
            told = form.search(heading)
            if told and not _SAYS_MORE.search(heading[: told.start()] + heading[told.end() :]):
                return _is_the_last(told, rank)
    return False


def last_step_in_training(rank: Rank) -> Progress | None:
    """The last step that is not of an evaluation, which counts steps of its own."""
    return next(iter(reversed(_steps_in_training(rank))), None)


def _steps_in_training(rank: Rank) -> list[Progress]:
    evaluated = {event.line for _, event in rank.events if "evaluated" in event.says}
    return [step for step in rank.progress if step.line not in evaluated]


def _is_the_last(told: re.Match[str], rank: Rank) -> bool:
    """Whether a step is the last, by the number of the epoch, else by the time that is left."""
    groups = told.groupdict()
    if groups.get("total"):
        return int(groups["epoch"]) == int(groups["total"])
    days, hours, minutes, seconds = (
        int(groups[name] or 0) for name in ("days", "hours", "minutes", "seconds")
    )
    left = ((24 * days + hours) * 60 + minutes) * 60 + seconds
    return left <= (rhythm_of(_steps_in_training(rank)) or SHORT)


def ends_on_a_fatal_word(rank: Rank) -> bool:
    """Whether the last line of a log is of the level that programs keep for their own end."""
    return bool(_SAYS_FATAL.match(_last_line_of(rank)))


def _last_line_of(rank: Rank) -> str:
    return rank.tail[-1] if rank.tail and not rank.mixed else ""


def _may_have_ended(reading: RankReading) -> bool:
    """Whether a rank says nothing of how far it came or what went wrong, and nobody saw it end."""
    rank = reading.rank
    bad = ends_on_a_fatal_word(rank) or _SAYS_ERROR.match(_last_line_of(rank))
    return not (rank.exit or rank.progress or bad)
