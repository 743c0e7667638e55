"""Which part of a log a recorded run wrote, also where the file was packed or rotated since.

A record knows how large the file was when a run began and ended. Put end to end, the pieces of a
rotated log are that file again, or several of them: wherever sizes go back, a new file was begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from pdtriage.model import FileFacts
from pdtriage.record.schema import ProcessRecord
from pdtriage.runs.folders import Log
from pdtriage.runs.run_boundaries import Segment, Span, facts_up_to
from pdtriage.support.fast_namedtuple import NamedTuple


class RecordedParts(NamedTuple):
    """A log cut by what records say of it."""

    segments: tuple[Segment, ...]
    """For each process in the order given; empty where nothing of it is left."""
    before: Log | None
    """What was there before the first of them."""


class _Stay(NamedTuple):
    """The processes that wrote to one and the same file, one after another."""

    processes: list[ProcessRecord]
    size: int | None
    """Of the file after the last of them; None where that is not known."""


def recorded_parts(log: Log, processes: Sequence[ProcessRecord]) -> RecordedParts:
    """A log cut where records say that processes began; `processes` wrote it, the oldest first."""
    if not processes:
        return RecordedParts((), log)
    if len(log.pieces) == 1 and _has_longer_line_ends(log.pieces[0], processes[-1].end_offset):
        processes = [_moved(process, log.pieces[0]) for process in processes]
    bounds = [0, *accumulate(piece.bytes for piece in log.pieces)]
    modified = [piece.file.modified for piece in log.pieces]
    seams = log.pieces[0].seams if len(log.pieces) == 1 else ()
    if seams:  # it was read as one
        modified = [seam.modified for seam in seams]
        ranges = _ranges(processes, [*(seam.offset for seam in seams), bounds[-1]], modified)
    else:
        ranges = _ranges(processes, bounds, modified)
    segments = tuple(_segment(log, bounds, begin, end) for begin, end in ranges)
    return RecordedParts(segments, _before(log, bounds, ranges[0][0]))


def process_key(process: ProcessRecord) -> tuple[str, int] | None:
    """Role and number of the log a record names, as logs are filed by."""
    name, _, number = (process.log or "").rpartition(".")
    return (process.role, int(number)) if name and number.isdecimal() else None


def _has_longer_line_ends(facts: FileFacts, recorded: int | None) -> bool:
    """Whether a file became one byte longer in every line: another system ends lines with two."""
    if not recorded or not facts.lines:
        return False
    return facts.bytes - facts.lines in (recorded, recorded - 1)


def _moved(process: ProcessRecord, facts: FileFacts) -> ProcessRecord:
    """What a record tells, with the places where things stand by now."""
    end = process.end_offset
    last = None if end is None else _moved_offset(end, facts)
    return process._replace(offset=_moved_offset(process.offset, facts), end_offset=last)


def _moved_offset(offset: int, facts: FileFacts) -> int:
    """Where the first thing of those stands that stood behind it."""
    things = (facts.events, facts.progress, facts.stamps, facts.echoes)
    behind = [
        thing.offset
        for listed in things
        for thing in listed
        if thing.offset - (thing.line - 1) >= offset
    ]
    return min(behind, default=facts.bytes) if offset else 0


def _ranges(
    processes: Sequence[ProcessRecord], bounds: list[int], modified: Sequence[float | None]
) -> list[tuple[int, int | None]]:
    """Begin and end of each in the pieces end to end; an end of None is the end of all."""
    stays = _stays(processes)
    starts = _starts(stays, bounds)
    found: list[tuple[int, int | None]] = []
    for number, (stay, start) in enumerate(zip(stays, starts, strict=True)):
        for process in stay.processes:
            at, end = start, process.end_offset
            if end is not None and end < process.offset:  # emptied while it was written
                if len(bounds) == 2 and bounds[-1] >= process.offset:
                    # or renamed: whoever followed it has all of it
                    found.append((process.offset, None))
                    continue
                at = starts[number + 1] if number + 1 < len(starts) else start
            begin = start + process.offset
            if process.offset == 0 and start > 0:
                known = [reached for _, reached in found if reached is not None]
                begin = _first_written(process, start, max(known, default=0), bounds, modified)
            found.append((begin, None if end is None else at + end))
    return found


def _stays(processes: Sequence[ProcessRecord]) -> list[_Stay]:
    stays: list[_Stay] = []
    reached = 0
    for process in processes:
        if not stays or process.offset < reached:
            stays.append(_Stay([], None))
        own, end = stays[-1].processes, process.end_offset
        own.append(process)
        emptied = end is not None and end < process.offset
        stays[-1] = _Stay(own, process.offset if emptied else end)
        if emptied:
            stays.append(_Stay([], end))
        reached = process.offset if end is None else end
    return stays


def _starts(stays: Sequence[_Stay], bounds: list[int]) -> list[int]:
    """Where each file begins in the pieces end to end: the newest reaches to the end of all."""
    starts: list[int] = []
    limit = bounds[-1]
    for processes, told in reversed(stays):
        size = max([told or 0, *(process.offset for process in processes[-1:])])
        fitting = [bound for bound in bounds if bound + size <= limit]
        exact = [b for b in fitting if told is not None and b + size in (limit, *bounds)]
        if len(bounds) == 2 and fitting:
            start = 0  # whoever wrote to it later, it is the same file
        elif exact or fitting:
            start = max(exact or (b for b in fitting if b < limit or not limit))
        else:  # the oldest of it is lost
            start = limit - size
        starts.append(start)
        limit = max(0, start)
    return starts[::-1]


def _first_written(
    process: ProcessRecord,
    start: int,
    reached: int,
    bounds: list[int],
    modified: Sequence[float | None],
) -> int:
    """Where a process began whose file was rotated or emptied while it wrote: in older pieces that
    were written to after its start, and are of no process before it."""
    for number in reversed(range(len(modified))):
        begin, time = bounds[number], modified[number]
        if begin >= start:
            continue
        if begin < reached or time is None or time < process.started:
            break
        start = begin
    return start


def _segment(log: Log, bounds: list[int], begin: int, end: int | None) -> Segment:
    if len(log.pieces) == 1:
        is_lost = end is not None and end <= 0 and begin < 0
        return () if is_lost else (Span(log.pieces[0], max(0, begin), end),)
    spans: list[Span] = []
    for piece, (first, last) in zip(log.pieces, pairwise(bounds), strict=True):
        low, high = max(begin, first), last if end is None else min(end, last)
        if low < high:
            spans.append(Span(piece, low - first, None if high == last else high - first))
    if not spans and begin == end and begin >= 0:  # it wrote nothing, and its file is there
        piece = log.pieces[-1]
        spans.append(Span(piece, piece.bytes, piece.bytes))
    return tuple(spans)


def _before(log: Log, bounds: list[int], begin: int) -> Log | None:
    if begin <= 0:
        return None
    older = []
    for piece, (first, last) in zip(log.pieces, pairwise(bounds), strict=True):
        if last <= begin:
            older.append(piece)
        elif first < begin:
            older.append(facts_up_to(piece, begin - first))
    return Log(log.role, log.index, older) if older else None
