"""Years of logs that tell none, where those beside them do: a copied file says nothing by its time.

Ranks that print no dates have but the stamps of glog, and where a folder came from a repository or
an archive, all its files are of the day on which somebody unpacked it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pdtriage.model import FileFacts
from pdtriage.scan.clock import ALMOST_A_YEAR, DAY, days_to_month, near

FRESH = 2 * DAY
"""Seconds between the last line of a log and the time of its file, where that is no copy: the log
is of a time zone that nobody tells."""


def with_years(logs: Sequence[FileFacts]) -> Sequence[FileFacts]:
    """Facts of logs without a year, set in the year in which they end nearest to the others."""
    logs = [_near_what_it_tells(facts) for facts in logs]
    if not any(facts.undated for facts in logs):
        return logs
    dated: dict[str, list[float]] = {}
    for facts in logs:
        if not facts.undated:
            dated.setdefault(facts.file.folder, []).extend(_times_in(facts))
    spans = {folder: (min(times), max(times)) for folder, times in dated.items() if times}
    return [
        _in_years_of(facts, spans.get(facts.file.folder)) if facts.undated else facts
        for facts in logs
    ]


def _near_what_it_tells(facts: FileFacts) -> FileFacts:
    """A log that tells the year of some lines tells it of the others, too."""
    told = facts.last_dated
    if told is None or max(_times_in(facts), default=told) <= told + ALMOST_A_YEAR:
        return facts
    return _moved_facts(facts, lambda time: near(time, told) if time > told else time)


def _times_in(facts: FileFacts) -> list[float]:
    told = [each.time for each in facts.progress] + [each.time for each in facts.events]
    return [*(stamp.time for stamp in facts.stamps), *(time for time in told if time is not None)]


def _in_years_of(facts: FileFacts, others: tuple[float, float] | None) -> FileFacts:
    """`others` are the first and the last time that logs beside it tell."""
    ended, modified = max(_times_in(facts), default=None), facts.file.modified
    if ended is None or others is None or (modified and abs(modified - ended) <= FRESH):
        return facts
    first, last = others

    def distance(years: int) -> float:
        moment = _moved(ended, years)
        return max(first - moment, moment - last, 0.0)

    here = time.gmtime(ended).tm_year
    span = range(time.gmtime(first).tm_year - 1, time.gmtime(last).tm_year + 2)
    years = min((year - here for year in span), key=lambda each: (distance(each), -each))
    return _moved_facts(facts, lambda time: _moved(time, years)) if years else facts


def _moved_facts(facts: FileFacts, moved: Callable[[float], float]) -> FileFacts:
    return facts._replace(
        stamps=tuple(s._replace(time=moved(s.time)) for s in facts.stamps),
        progress=tuple(
            p if p.time is None else p._replace(time=moved(p.time)) for p in facts.progress
        ),
        events=tuple(e if e.time is None else e._replace(time=moved(e.time)) for e in facts.events),
    )


def _moved(moment: float, years: int) -> float:
    """A time on the same day and hour so many years later."""
    own = time.gmtime(moment)
    now, then = (days_to_month(own.tm_year + each, own.tm_mon) for each in (0, years))
    return moment + DAY * (then - now)
