"""What of several logs was written in the same run: by ports, times and pids, not by its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from pdtriage.runs.run_boundaries import (
    OTHER_START,
    SAME_START,
    Segment,
    is_by_unix_time,
    times_of,
)
from pdtriage.scan.clock import near

OVERLAP = 60.0
LONG_SILENT, LONG_DEAD = 3600.0, 43200.0
START_BYTES = 1 << 13
"""How far into a run its first time tells when it began."""
COPYING = 60.0
"""Seconds in which all files of a folder are copied or unpacked."""
SIBLINGS = 64
"""Between the pids of processes that were started together."""
PROOF, STRONG, WEAK = 16.0, 6.0, 1.0
_PORT = re.compile(r":(\d{1,5})\b")
_Item = TypeVar("_Item")
_Other = TypeVar("_Other")


class Trace:
    """What a part of a log, or of a console, tells of the run it is of."""

    __slots__ = (
        "begun",
        "died",
        "launch",
        "modified",
        "pids",
        "ports",
        "senders",
        "since",
        "times",
        "words",
    )

    def __init__(
        self,
        segment: Segment = (),
        values: Mapping[str, str] | None = None,
        launch: tuple[int, int] | None = None,
        modified: float | None = None,
    ) -> None:
        """`launch` and attempt are known where a side file tells them; `modified` is when its file
        was written last, if it stands at the end of it."""
        self.launch = launch
        self.modified = modified
        events = [event for span in segment for event in span.events]
        self.times = times_of(segment)
        self.begun = _begin_of(segment)
        self.since = None if self.begun is not None else _end_before(segment)
        """It began after that."""
        self.pids = frozenset(pid for span in segment for pid in span.pids)
        stopped = [event for event in events if event.role == "victim"]
        self.senders = frozenset(e.fields["sender"] for e in stopped if e.fields.get("sender"))
        died = [e.time for e in events if is_by_unix_time(e) and e.time is not None]
        self.died = max(died, default=None)
        """By UTC."""
        ports = (event.fields.get("master_port") for event in events)
        self.ports = _union(ports_of(values or {}), filter(None, ports))
        self.words = frozenset(e.text for e in events if e.ends_at and "signal" not in e.fields)


def ports_of(values: Mapping[str, str]) -> frozenset[str]:
    """Ports of the job that a launcher's table or an environment tells."""
    job = _ports_in(
        f"{values.get('PADDLE_MASTER', '')} {values.get('PADDLE_TRAINER_ENDPOINTS', '')}"
    )
    return _union(job, _PORT.findall(values.get("PADDLE_CURRENT_ENDPOINT", "")))


@lru_cache(maxsize=64)
def _ports_in(text: str) -> frozenset[str]:
    """All ranks of a job list the same endpoints: a hundred thousand of them are read once."""
    return frozenset(_PORT.findall(text))


def _union(ports: frozenset[str], others: Iterable[str]) -> frozenset[str]:
    """Both sets together; the same object where that adds nothing."""
    more = [port for port in others if port not in ports]
    return ports.union(more) if more else ports


def affinity(some: Trace, other: Trace) -> float:
    """How much speaks for one run; less than nothing where it speaks against it."""
    if some.launch is not None and other.launch is not None:
        return PROOF if some.launch == other.launch else -PROOF
    score = 0.0
    if some.ports and other.ports:
        score += -STRONG if some.ports.isdisjoint(other.ports) else STRONG + 2
    if some.senders & other.senders:
        score += STRONG
    if some.died is not None and other.died is not None:
        score += STRONG if abs(some.died - other.died) <= SAME_START else 0.0
    if some.begun is not None and other.begun is not None:
        apart = abs(some.begun - near(other.begun, some.begun))
        score += STRONG if apart <= SAME_START else WEAK if apart <= OTHER_START else -STRONG - 2
    elif some.times and other.times:
        score += _overlap(some, other)
    elif _has_ended_before(some, other) or _has_ended_before(other, some):
        score -= STRONG
    if any(abs(a - b) <= SIBLINGS for a in some.pids for b in other.pids):
        score += WEAK
    if some.words and other.words:
        score += WEAK if some.words & other.words else 0.0
    return score


def align(
    earlier: Sequence[_Item],
    later: Sequence[_Other],
    score: Callable[[_Item, _Other], float],
    precedes: Callable[[_Item, _Other], bool] | None = None,
) -> list[tuple[_Item | None, _Other | None]]:
    """Two lists in their order, items that belong together paired, and the rest with None.

    Where nothing tells, they are counted from the newest. `precedes` says of two that stand alone
    whether the first is the older one.
    """
    rows, columns = len(earlier), len(later)
    scores = [[score(one, other) + WEAK / 2 for other in later] for one in earlier]
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            matched = best[row - 1][column - 1] + scores[row - 1][column - 1]
            best[row][column] = max(matched, best[row - 1][column], best[row][column - 1])
    pairs: list[tuple[_Item | None, _Other | None]] = []
    row, column = rows, columns
    while row or column:
        if row and column:
            own = scores[row - 1][column - 1]
            if own > 0 and best[row][column] == best[row - 1][column - 1] + own:
                row, column = row - 1, column - 1
                pairs.append((earlier[row], later[column]))
                continue
        left = bool(row) and (not column or best[row][column] == best[row - 1][column])
        if left and column and precedes and best[row][column] == best[row][column - 1]:
            left = not precedes(earlier[row - 1], later[column - 1])
        if left:
            row -= 1
            pairs.append((earlier[row], None))
        else:
            column -= 1
            pairs.append((None, later[column]))
    return pairs[::-1]


def strongest(scores: Iterable[float]) -> float:
    """The affinity that decides between a part and the parts of a run: one proof is enough."""
    found = list(scores)
    if not found:
        return 0.0
    low, high = min(found), max(found)
    return high if high >= STRONG or -low <= high else low


def has_ended_before(some: Iterable[Trace], other: Iterable[Trace]) -> bool:
    """Whether one ended before the other: by the times of their files, else by those they tell.

    Files of about the same moment were copied together.
    """
    older, newer = list(some), list(other)
    written = [[t.modified for t in own if t.modified is not None] for own in (older, newer)]
    told = [[t.times[1] for t in own if t.times] for own in (older, newer)]
    for (left, right), least in ((written, COPYING), (told, 0.0), (written, 0.0)):
        if left and right and abs(max(left) - max(right)) > least:
            return max(left) < max(right)
    return False


def _begin_of(segment: Segment) -> float | None:
    """When it began, where it says so at its beginning."""
    for span in segment:
        stamps = [(s.offset, s.time) for s in span.facts.stamps if span.holds(s.offset)]
        steps = [(p.offset, p.time) for p in span.progress[:1] if p.time is not None]
        if stamps or steps:
            offset, time = min([*stamps, *steps])
            near_begin = offset - span.begin <= START_BYTES
            # how a file begins may be lost
            begins = span.begin > 0 or any("process-starts" in e.says for e in span.events[:8])
            return time if near_begin and begins else None
    return None


def _end_before(segment: Segment) -> float | None:
    """The last time that the same file tells above it, of the run before."""
    first = segment[0] if segment else None
    if first is None or not first.begin:
        return None
    return max(
        (stamp.time for stamp in first.facts.stamps if stamp.offset < first.begin), default=None
    )


def _overlap(some: Trace, other: Trace) -> float:
    """How much speaks for two logs being of one run, by their times alone."""
    if not some.times or not other.times:
        return 0.0
    begin, end = some.times
    first, last = near(other.times[0], begin), near(other.times[1], end)
    if max(begin, first) - min(end, last) <= OVERLAP:
        return 2 * WEAK
    after = other.begun is not None and end < first - LONG_SILENT
    before = some.begun is not None and last < begin - LONG_SILENT
    apart = _is_older(end, other.since) or _is_older(last, some.since)
    return -STRONG if after or before or apart else 0.0


def _is_older(last: float, since: float | None) -> bool:
    return since is not None and last < near(since, last) - LONG_SILENT


def _has_ended_before(some: Trace, other: Trace) -> bool:
    """Whether its file was written last before the other run had begun, by their files' times."""
    if some.modified is None or other.modified is None:
        return False
    if not other.times:  # it may have lasted for hours, but not behind the death of one of its own
        is_dead = some.died is not None or bool(some.words)
        return is_dead and some.modified < other.modified - LONG_DEAD
    lasted = other.times[1] - other.times[0]
    return some.modified < other.modified - lasted - LONG_SILENT
