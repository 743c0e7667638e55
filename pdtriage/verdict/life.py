"""Signs that a process lived on after something that looked bad, and that its training had ended.

A step clears any error of the log it stands in, for a while: a reader thread that died leaves its
queue behind. What went on for longer than any queue lasts is cleared for good. Lines like those
above the error are as good as steps. What did not end its process by itself is also cleared by what
no dying process writes: an evaluation, a saved model, the end of training; a mere line of warning
also by minutes of further lines and by steps of a rank that waits for this one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pdtriage.knowledge import Format
from pdtriage.model import Progress, Rank, Says
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from pdtriage.verdict.rank_reading import Observation

BELOW = 2
"""Lines at most between an exception with its message and the word that it was overcome."""
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
OFTEN = 20
"""Times that the same is said; a rank has fewer readers that might die of it."""
LOOKS_FINAL = 5
"""Lines as before below an exception that seems to have ended its process: it was caught."""
ONE_STEP = 60.0
"""Seconds that a step which was on its way may still take."""
CRASH_SIGNALS = frozenset({4, 6, 7, 8, 11})
"""What a process sends itself, or the kernel for what it did; others come from outside."""
_STAMP = lazy_compile(r"\b\d{1,2}:\d{2}:\d{2}\b")
_MILESTONES: tuple[Says, ...] = ("evaluated", "model-saved", "wraps-up", "training-done")


def end_of(found: Observation) -> int:
    """The last line that an event is about."""
    return max(found.event.last_line, found.event.last_seen, found.event.line)


def last_line_about(found: Observation) -> int:
    """The last line that surely tells of an event; what follows an exception may be no message."""
    return max(found.event.last_seen, found.event.line)


def milestones_in(known: Iterable[Observation]) -> list[Observation]:
    """Evaluations, saved models and the end of training, in their order."""
    return [f for f in known if f.says(*_MILESTONES)]


class Rest(NamedTuple):
    """What a log holds besides an error, as far as it may show that its process went on."""

    rank: Rank
    milestones: Sequence[Observation] = ()
    trouble: Sequence[int] = ()
    """The last lines of all that looked bad."""
    finishes: Sequence[Format] = ()
    """How a line looks that says that training is done."""
    lost_peers: Sequence[int] = ()
    """Where it says that it lost another rank."""
    ended_by_peers: Sequence[int] = ()
    """Where it ended by that."""
    ends: Sequence[int] = ()
    """Where exceptions begin that nobody caught and that follow from no earlier one."""
    dying: Sequence[int] = ()
    """Where a runtime says that it ends the process; what it was thrown is printed below."""
    recoveries: Sequence[Format] = ()
    """How a line looks that says what was done instead."""
    often: Collection[str] = ()
    """Signatures that were met more often than a job has readers to die of it."""


def is_survived(found: Observation, rest: Rest) -> bool:
    """Whether the process went on after an error."""
    rank = rest.rank
    if found.category == "numeric.nan" and not _goes_on_by_its_words(found, rest):
        later = steps_after(found, rank.progress)
        return any(step.loss is not None and math.isfinite(step.loss) for step in later)
    return bool(signs_after(found, rank)) or is_outlived(found, rest)


def is_outlived(found: Observation, rest: Rest) -> bool:
    """Whether a process outlived an error: longer than prepared work lasts, or to a good end."""
    rank, milestones = rest.rank, rest.milestones
    if _goes_on_by_its_words(found, rest) or _began_after(found, rank):
        return True
    if was_caught(found) and _has_ended_otherwise(found, rest):
        return True
    if was_caught(found) and found.event.block and _was_ended_by_a_signal(found, rank):
        return True
    if was_caught_unclear(found) and any(n > end_of(found) + 1 for n in rest.ended_by_peers):
        return True
    if is_of_a_thread_aside(found) and any(n > end_of(found) for n in rest.ended_by_peers):
        return True
    signs = signs_after(found, rank)
    if signs and (signs[-1] - end_of(found) > 2 * PREPARED_STEPS or len(signs) > PREPARED_STEPS):
        return True
    if found.ends_process or found.category == "numeric.nan":
        return False
    if _came_to_a_milestone(found, rest) or _came_to_its_end(found, rest):
        return True
    return _wrote_on(found, rank, milestones, rest.trouble)


def may_take_effect_later(found: Observation) -> bool:
    """A reader or another thread died: its process goes on with what was prepared, and then waits.

    What the main thread has caught and printed is over.
    """
    in_reader = is_mere_line(found) or bool(found.signature.stack)
    return "thread" in found.event.fields or (
        in_reader and found.category.partition(".")[0] == "data"
    )


def _goes_on_by_its_words(found: Observation, rest: Rest) -> bool:
    """It says itself what was done instead; of what was caught the line below it may, or what
    stands before the words of the error."""
    if found.ends_process or "thread" in found.event.fields:
        return False
    event, rank = found.event, rest.rank
    if "overcome" in event.fields:
        return True
    said = [event.text]
    if event.block:
        said = [*event.after[:1], event.text.partition(": ")[0]]
        if 0 < rank.last_line - end_of(found) <= BELOW:
            said += rank.tail[-1:]
    return any(_says_one_of(words, tuple(rest.recoveries)) for words in said)


@lru_cache(maxsize=4096)
def _says_one_of(words: str, forms: Sequence[Format]) -> bool:
    """Remembered: each error is asked several times, and thousands of victims say the same."""
    return any(form.search(words) for form in forms)


def _has_ended_otherwise(found: Observation, rest: Rest) -> bool:
    """Its process came as far as to lose a peer, or raised an exception that nobody caught."""
    if any(line > end_of(found) + 1 for line in rest.lost_peers):
        return True
    if not found.event.block or _is_dying(found, rest):
        return False
    return any(line > end_of(found) for line in rest.ends)


def _began_after(found: Observation, rank: Rank) -> bool:
    """Whether an exception was printed before the process had begun its work, as where an optional
    module is missing: what ends a process is not followed by its own first lines."""
    if not found.event.block or rank.mixed or may_take_effect_later(found):
        return False
    end = end_of(found)
    return any(
        event.line > end and file == found.file and "process-starts" in event.says
        for file, event in rank.events
    )


def _was_ended_by_a_signal(found: Observation, rank: Rank) -> bool:
    """Somebody saw its process end by a signal that no exception sends, and not for memory."""
    ending = rank.exit
    if ending is None or ending.signal is None or ending.stopped:
        return False
    return ending.signal not in CRASH_SIGNALS and not found.category.startswith("memory")


def _is_dying(found: Observation, rest: Rest) -> bool:
    """The end had begun above it, and nothing that a living process writes stands between."""
    begun = max((line for line in rest.dying if line < found.event.line), default=None)
    if begun is None:
        return False
    alive = [*rest.rank.ordinary, *(step.line for step in rest.rank.progress)]
    return not any(begun < line < found.event.line for line in alive)


def was_caught(found: Observation) -> bool:
    """Whether an exception was caught outside of threads and readers, so that it is over."""
    if found.ends_process or found.event.role != "cause" or "thread" in found.event.fields:
        return False
    return found.category != "numeric.nan" and not found.signature.stack


def was_caught_unclear(found: Observation) -> bool:
    """Whether somebody else's connection, nobody knows whose, broke and that was caught."""
    if found.ends_process or not found.event.block or "thread" in found.event.fields:
        return False
    return found.signature.points == "peer" and found.signature.generic


def is_of_a_thread_aside(found: Observation) -> bool:
    """Whether a thread died of an error that is none of data, memory or disks: a main program that
    came as far as to lose a peer had not waited for it."""
    return "thread" in found.event.fields and found.signature.generic


def signs_after(found: Observation, rank: Rank) -> list[int]:
    """Lines below an error that a living process writes: steps, and lines as above the error."""
    steps = [step.line for step in steps_after(found, rank.progress)]
    ordinary = [line for line in rank.ordinary if line > last_line_about(found)]
    if found.ends_process and len(ordinary) < LOOKS_FINAL:
        ordinary = []
    return sorted({*steps, *ordinary})


def steps_after(found: Observation, progress: Sequence[Progress]) -> list[Progress]:
    """Steps in the log below an error."""
    end = last_line_about(found)
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


def _came_to_a_milestone(found: Observation, rest: Rest) -> bool:
    """Whether a milestone came below the error; a dying reader may only end its epoch early. One
    that tells of sample after sample skips them and lives."""
    of_data = found.category.partition(".")[0] == "data"
    if of_data and not _is_of_skipped_samples(found, rest):
        return False
    end = last_line_about(found)
    for sign in rest.milestones:
        least = end + FAREWELL if sign.says("model-saved") else end
        if sign.file == found.file and max(sign.event.line, sign.event.last_seen) > least:
            return True
    return False


def _is_of_skipped_samples(found: Observation, rest: Rest) -> bool:
    """A line that means nothing alone, or an exception that was caught again and again."""
    caught = found.signature.id in rest.often and "thread" not in found.event.fields
    return found.signature.repeats > 1 or caught


def _came_to_its_end(found: Observation, rest: Rest) -> bool:
    """Whether it says below the error that training is done, and nothing else looks bad there."""
    if last_line_about(found) >= rest.rank.last_line or max(rest.trouble) > end_of(found):
        return False
    return tells_its_end(rest.rank, rest.finishes)


def tells_its_end(rank: Rank, finishes: Sequence[Format]) -> bool:
    """Whether the last line of a log says that training is done."""
    last = rank.tail[-1] if rank.tail and not rank.mixed else ""
    return bool(last) and any(form.search(last) for form in finishes)


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
