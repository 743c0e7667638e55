"""The logs of one node cut into runs, and what was written in the same run laid side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.runs.folders import Log
from pdtriage.runs.matching import (
    PROOF,
    STRONG,
    Trace,
    affinity,
    align,
    has_ended_before,
    strongest,
)
from pdtriage.runs.run_boundaries import Others, Segment, StartTimes, empty_part, split
from pdtriage.support.fast_namedtuple import NamedTuple

MOST_COMPARED = 8
"""Parts of a run that another one is compared with; a node has hundreds of logs at most."""
UNTOLD: Mapping[str, str] = {}


class ProcessStart(NamedTuple):
    """One start of a process, as a side file tells it."""

    launch: int
    attempt: int
    values: Mapping[str, str]
    """Its environment."""
    written: float | None = None
    """When that file was written last, if this start stands at its end."""


class Part:
    """What one process wrote in one run."""

    __slots__ = ("launch", "log", "segment", "trace", "values")

    def __init__(self, log: Log, segment: Segment, start: ProcessStart | None = None) -> None:
        self.log = log
        self.segment = segment
        self.values = start.values if start else UNTOLD
        self.launch = (start.launch, start.attempt) if start else None
        """And the attempt, where a side file tells them."""
        written = log.modified if segment and segment[-1].is_last else None
        self.trace = Trace(segment, self.values, self.launch, written)


def parts_of_logs(
    logs: Sequence[Log],
    starts: Mapping[tuple[str, int], Sequence[ProcessStart]] | None = None,
    launches: Mapping[tuple[str, int], int] | None = None,
) -> list[list[Part]]:
    """The runs in each of these logs, oldest first; `starts` are what side files tell of them,
    `launches` how many a console tells of."""
    told, counted = starts or {}, launches or {}
    parts = [_parts_of(log, told.get(log.key, ())) for log in logs]
    most = max((len(own) for own in parts), default=1)
    if most == 1 and all(counted.get(log.key, 1) == 1 for log in logs):
        return parts
    # the ranks of a node are split together
    begun = [[part.trace.begun for part in own if part.trace.begun is not None] for own in parts]
    again: list[list[Part]] = []
    all_times = sorted(moment for own in begun for moment in own)
    for log, own in zip(logs, begun, strict=True):
        others = Others(StartTimes(all_times, own), most, counted.get(log.key, 1))
        again.append(_parts_of(log, told.get(log.key, ()), others))
    return again


def _parts_of(log: Log, starts: Sequence[ProcessStart], others: Others | None = None) -> list[Part]:
    """Its runs with the environments they were started in: by their ports, else counted from the
    newest, as logs may be lost or rotated away at the old end.

    A process that was started after the last one that wrote may not have written a word.
    """
    segments = split(log, len(starts) or None, others)
    if not starts:
        return [Part(log, segment) for segment in segments]
    if len(starts) == len(segments) == 1 and others is None:
        return [Part(log, segments[0], starts[0])]
    told = [Part(log, segment) for segment in segments]
    known = [(start, Trace(values=start.values, modified=start.written)) for start in starts]
    parts: list[Part] = []
    for start, found in align(known, told, _fits_start, _is_older_start):
        if found is not None:
            parts.append(Part(log, found.segment, start[0] if start else None))
        elif start is not None and parts:
            parts.append(Part(log, empty_part(log), start[0]))
    return parts


def _fits_start(known: tuple[ProcessStart, Trace], part: Part) -> float:
    return affinity(known[1], part.trace)


def _is_older_start(known: tuple[ProcessStart, Trace], part: Part) -> bool:
    return has_ended_before([known[1]], [part.trace])


def side_by_side(
    logs: Sequence[list[Part]], stale: set[tuple[str, int]] | None = None
) -> list[list[Part]]:
    """The parts of all logs that are of one run together, oldest run first.

    `stale` are logs that the newest run did not write.
    """
    rows: list[list[Part]] = []
    barred = stale or set()
    for own in sorted(logs, key=lambda parts: (_is_barred(parts, barred), -len(parts))):
        newest = rows[-1] if rows and _is_barred(own, barred) else None
        rows = [
            _with_part([] if row is None else row, part)
            for row, part in align(rows, own, _Comparison(newest), _precedes)
        ]
    for row in rows:
        row.sort(key=lambda part: part.log.key)
    return rows


def _with_part(row: list[Part], part: Part | None) -> list[Part]:
    """The same list, longer: a copy for every rank would take the square of their number."""
    if part is not None:
        row.append(part)
    return row


def launches_in(rows: Sequence[list[Part]]) -> list[tuple[int, int]]:
    """The number of the launch of every run, and which attempt of it this was."""
    numbers: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        known = next((part.launch for part in row if part.launch), None)
        if known is None:
            found.append((number, 0))
        else:
            found.append((numbers.setdefault(known[0], number), known[1]))
    return found


class _Comparison:
    """How well a part fits to those of a run."""

    def __init__(self, barred: list[Part] | None) -> None:
        self._barred = barred

    def __call__(self, row: list[Part], part: Part) -> float:
        score = strongest(affinity(known.trace, part.trace) for known in row[:MOST_COMPARED])
        return score if row is not self._barred or score >= STRONG else -PROOF


def _precedes(row: list[Part], part: Part) -> bool:
    return has_ended_before((known.trace for known in row), [part.trace])


def _is_barred(parts: Sequence[Part], stale: set[tuple[str, int]]) -> bool:
    return bool(parts) and parts[0].log.key in stale
