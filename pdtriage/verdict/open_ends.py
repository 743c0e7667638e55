"""Logs that merely stop: where, when, after which rhythm, and what would tell why.

That alone is neither a failure nor a hang: such a job may still run, or was killed without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from pdtriage.hang.rhythm import rhythm_of
from pdtriage.model import Rank, Text
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.life import steps_after
from pdtriage.verdict.rank_reading import RankReading

PATIENCE = 3
"""So many times its rhythm a job that runs may be silent: it evaluates, or saves a model."""
LEAST_SILENCE = 10.0
ZONE = 900.0
"""Offsets between the clock of a log and that of a file system are multiples of this …"""
FARTHEST_ZONE = 14 * 3600.0
SAME_MOMENT = 60.0
"""… within these seconds."""
_BAR = lazy_compile(
    r"\d{1,3}% {0,3}(?:\|[^|]{0,300}\| *)?(?P<step>\d{1,12})/(?P<total>\d{1,12}) \[[\d:]+<"
)
LAST_OF_FRAME = 3
"""A frame of a traceback, the code that is quoted and the row of carets below it."""
_FRAME = lazy_compile(r'^ {0,4}File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,7})')
_EPOCH = lazy_compile(r"\b[Ee]poch: ?\[ ?(?P<step>\d{1,9})/ ?(?P<total>\d{1,9}) ?\]")


def still_grows(evidence: RunEvidence) -> bool:
    """The newest line is younger than the job's own rhythm allows, and somebody may write more."""
    facts = evidence.facts
    if facts.seen_at is None or facts.writers_gone:
        return False
    rank = _furthest(_readings_with_lines(evidence))
    rhythm = rhythm_of(rank.progress) if rank else None
    if rank is None or rhythm is None:
        return False
    ages = [facts.seen_at - time for time in _modification_times(evidence)]
    return bool(ages) and min(ages) <= max(PATIENCE * rhythm, LEAST_SILENCE)


def notes_on_open_end(evidence: RunEvidence) -> tuple[Text, ...]:
    """The sentences a person needs where no log says how the run ended."""
    spoken = _readings_with_lines(evidence)
    rank = _furthest(spoken)
    if rank is None or any(r.stopped or r.ended_well or not r.quiet for r in spoken):
        return ()
    times = [r.rank.last_time for r in spoken if r.rank.last_time is not None]
    error = _last_error(spoken)
    broken = _broken_off(rank)
    missing = wording.WITHOUT_END_BUT_ERROR if error or broken else wording.WITHOUT_END
    parts = [
        _where_it_stops(rank, missing),
        _when(max(times)) if times else None,
        _rhythm(rank),
        _silence(evidence),
    ]
    told = [part for part in parts if part is not None]
    en = "; ".join(part.en for part in told)
    zh = "；".join(part.zh for part in told)
    more = [text for text in (error, broken) if text is not None]
    return (Text(f"{en}.", f"{zh}。"), *more, wording.WHAT_TELLS_AN_END)


def _readings_with_lines(evidence: RunEvidence) -> list[RankReading]:
    return [reading for reading in evidence.readings if reading.rank.lines]


def _furthest(spoken: Sequence[RankReading]) -> Rank | None:
    return max(spoken, key=lambda r: r.position).rank if spoken else None


def _modification_times(evidence: RunEvidence) -> list[float]:
    """When its files changed last; a copy is younger than the lines in it."""
    return [
        rank.modified
        for rank in (reading.rank for reading in _readings_with_lines(evidence))
        if rank.modified is not None
        and rank.last_time is not None
        and _is_one_moment(rank.modified, rank.last_time)
    ]


def _is_one_moment(modified: float, logged: float) -> bool:
    """A log's own clock is of a time zone that nobody tells."""
    apart = modified - logged
    off = (apart + ZONE / 2) % ZONE - ZONE / 2
    return abs(apart) <= FARTHEST_ZONE + SAME_MOMENT and abs(off) <= SAME_MOMENT


def _last_error(spoken: Sequence[RankReading]) -> Text | None:
    """The last error that a rank went on after, for a few steps only: it may have died of it."""
    errors = [(found, reading) for reading in spoken for found in reading.survived]
    if not errors:
        return None
    found, reading = max(errors, key=lambda it: (it[0].event.time or 0.0, it[0].event.line))
    later = bool(steps_after(found, reading.rank.progress))
    place = f"{found.file}:{found.event.line}"
    return wording.went_on_before_open_end(place, found.title, later)


def _broken_off(rank: Rank) -> Text | None:
    """Whether a log breaks off within a traceback, and at which of its frames."""
    said = [line for line in rank.tail if line.strip()][-LAST_OF_FRAME:]
    frames = [found for line in said if (found := _FRAME.match(line))]
    if rank.mixed or not frames or not said[-1][:1].isspace():
        return None
    return wording.breaks_off_in_traceback(frames[-1]["file"], frames[-1]["line"])


def _where_it_stops(rank: Rank, missing: Text) -> Text:
    """Where a log stops: its last step, epoch or progress bar, with the number it announced."""
    if not rank.progress:
        return wording.stops_without_step(missing)
    last = rank.progress[-1]
    text = next((line for line in reversed(rank.tail) if line.strip()), "")
    bars = list(_BAR.finditer(text))
    if bars and last.total is None:
        return wording.stops_in_bar(int(bars[-1]["step"]), int(bars[-1]["total"]), missing)
    epoch = _EPOCH.search(text)
    if epoch and last.total is None:
        return wording.stops_in_epoch(int(epoch["step"]), int(epoch["total"]), missing)
    return wording.stops_at_step(last.step, last.total, missing)


def _when(time: float) -> Text:
    try:
        moment = datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):  # a stamp no calendar holds
        moment = "?"
    return wording.last_time_in_logs(moment)


def _rhythm(rank: Rank) -> Text | None:
    rhythm = rhythm_of(rank.progress)
    return None if rhythm is None else wording.rhythm(rhythm)


def _silence(evidence: RunEvidence) -> Text | None:
    """How long nobody has written; a copy does not tell."""
    seen, grown = evidence.facts.seen_at, _modification_times(evidence)
    return wording.silent_for(max(0.0, seen - max(grown))) if seen and grown else None
