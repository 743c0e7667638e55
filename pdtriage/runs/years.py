"""Years of logs that tell none, where those beside them do: a copied file says nothing by its time.

Ranks that print no dates have but the stamps of glog, and where a folder came from a repository or
an archive, all its files are of the day on which somebody unpacked it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from pdtriage.model import FileFacts
from pdtriage.scan.clock import DAY, days_to_month

FRESH = 2 * DAY
"""Seconds between the last line of a log and the time of its file, where that is no copy: the log
is of a time zone that nobody tells."""


def with_years(logs: Sequence[FileFacts]) -> Sequence[FileFacts]:
    """Facts of logs without a year, set in the year in which they end nearest to the others."""
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


def _times_in(facts: FileFacts) -> list[float]:
    steps = [step.time for step in facts.progress if step.time is not None]
    return [*(stamp.time for stamp in facts.stamps), *steps]


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
    return _moved_facts(facts, years) if years else facts


def _moved_facts(facts: FileFacts, years: int) -> FileFacts:
    return facts._replace(
        stamps=tuple(s._replace(time=_moved(s.time, years)) for s in facts.stamps),
        progress=tuple(
            p if p.time is None else p._replace(time=_moved(p.time, years)) for p in facts.progress
        ),
        events=tuple(
            e if e.time is None else e._replace(time=_moved(e.time, years)) for e in facts.events
        ),
    )


def _moved(moment: float, years: int) -> float:
    """A time on the same day and hour so many years later."""
    own = time.gmtime(moment)
    now, then = (days_to_month(own.tm_year + each, own.tm_mon) for each in (0, years))
    return moment + DAY * (then - now)
