"""Signs that a process lived on after something that looked bad, and that its training had ended.

A step clears any error of the log it stands in, for a while: a reader thread that died leaves its
queue behind. What went on for longer than any queue lasts is cleared for good. A mere line of
warning is also cleared by what no dying process writes: an evaluation, a saved model, the end of
training, minutes of further lines, steps of a rank that waits for this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Progress, Rank, Says
from pdtriage.support.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from pdtriage.verdict.rank_reading import Observation

PREPARED_STEPS = 32
"""A DataLoader has no more batches than this in its queue when its reader dies."""
ORDINARY_LINES, ORDINARY_SECONDS = 50, 300.0
"""What a dying process does not write any more; less time may pass in a stack that is printed."""
MANY_LINES = 500
"""… without a clock."""
FAREWELL = 40
"""Lines: who saves a model right after an error may do so because of it."""
CLOCKS_APART = 900.0
"""Seconds between the clocks of two hosts."""
ONE_STEP = 60.0
"""Seconds that a step which was on its way may still take."""
_STAMP = lazy_compile(r"\b\d{1,2}:\d{2}:\d{2}\b")
_MILESTONES: tuple[Says, ...] = ("evaluated", "model-saved", "wraps-up", "training-done")


def end_of(found: Observation) -> int:
    """The last line it is about."""
    return max(found.event.last_line, found.event.last_seen, found.event.line)


def milestones_in(known: Iterable[Observation]) -> list[Observation]:
    """Evaluations, saved models and the end of training, in their order."""
    return [f for f in known if f.says(*_MILESTONES)]


def is_survived(
    found: Observation, rank: Rank, milestones: Sequence[Observation], trouble: Sequence[int]
) -> bool:
    """The process went on after it; `trouble` are the last lines of all that looked bad."""
    if found.category == "numeric.nan":
        later = steps_after(found, rank.progress)
        return any(step.loss is not None and math.isfinite(step.loss) for step in later)
    return bool(steps_after(found, rank.progress)) or is_outlived(found, rank, milestones, trouble)


def is_outlived(
    found: Observation, rank: Rank, milestones: Sequence[Observation], trouble: Sequence[int]
) -> bool:
    """It went on for longer than anything lasts that was prepared before."""
    end = end_of(found)
    lines = rank.progress[-1].line - end if rank.progress else 0
    if lines > 2 * PREPARED_STEPS or len(steps_after(found, rank.progress)) > PREPARED_STEPS:
        return True
    if not is_mere_line(found):
        return False
    return _came_to_a_milestone(found, milestones) or _wrote_on(found, rank, milestones, trouble)


def steps_after(found: Observation, progress: Sequence[Progress]) -> list[Progress]:
    """Steps told below it."""
    end = end_of(found)
    return [step for step in progress if step.line > end]


def is_mere_line(found: Observation) -> bool:
    """Neither a traceback nor a dump of a signal; nothing a process ends with by itself."""
    event = found.event
    return not (event.block or event.final or found.category == "numeric.nan")


def latest_time_of(found: Observation, rank: Rank) -> float | None:
    """When it had happened at the latest: by its own stamp, or by a line below that has one.

    The time of an event without a stamp is that of a line above, which may be days older.
    """
    for file, event in rank.events:
        below = file == found.file and event.line >= found.event.line
        if below and event.time is not None and _STAMP.search(event.text):
            return event.time
    later = steps_after(found, rank.progress)
    return later[0].time if later else None


def _came_to_a_milestone(found: Observation, milestones: Sequence[Observation]) -> bool:
    """A reader that dies may only end its epoch early: after that a model is saved as ever."""
    if found.category.partition(".")[0] == "data":
        return False
    end = end_of(found)
    for sign in milestones:
        least = end + FAREWELL if sign.says("model-saved") else end
        if sign.file == found.file and max(sign.event.line, sign.event.last_seen) > least:
            return True
    return False


def _wrote_on(
    found: Observation, rank: Rank, milestones: Sequence[Observation], trouble: Sequence[int]
) -> bool:
    """More ordinary lines follow than a process writes that gives up or waits for ever."""
    end = end_of(found)
    known = [rank.last_line, *(step.line for step in rank.progress[-1:])]
    known += [sign.event.line for sign in milestones[-1:]]
    bad = [line for line in trouble if line > end]
    ordinary = min([*bad, max(known)]) - end
    if ordinary >= MANY_LINES:
        return True
    since, last = latest_time_of(found, rank), rank.last_time
    long = since is not None and last is not None and last - since >= ORDINARY_SECONDS
    return long and not bad and ordinary >= ORDINARY_LINES


def is_outlived_by_others(found: Observation, own: Rank, waiting: Iterable[Rank]) -> bool:
    """Ranks that cannot make a step without this one have made some since."""
    since = latest_time_of(found, own) if is_mere_line(found) else None
    if since is None:
        return False
    for other in waiting:
        same_clock = own.host is not None and other.host == own.host
        begin = since + (ONE_STEP if same_clock else CLOCKS_APART)
        later = [step for step in other.progress if step.time is not None and step.time > begin]
        if other is not own and len({(step.epoch, step.step) for step in later}) > 1:
            return True
    return False
