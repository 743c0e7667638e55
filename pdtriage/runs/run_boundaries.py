"""Where one run ends and the next begins in a file that several launches appended to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import TypeVar

from pdtriage.model import Event, FileFacts, Progress, Stamp
from pdtriage.runs.folders import Log
from pdtriage.runs.moments import Times, extent
from pdtriage.runs.process_lives import Sign as _Sign
from pdtriage.runs.process_lives import has_life_after_end, starts_after_ends
from pdtriage.support.fast_namedtuple import NamedTuple

ENOUGH = 3
"""Weight a boundary needs where nothing tells how many runs there are."""
NEAR_LINES = 40
NEAR_BYTES = 1 << 13
SAME_START = 30.0
"""Seconds in which a launcher starts all processes of its node."""
SAME_PROCESS = 5.0
"""Seconds between two threads of one process that dies."""
CLOCK_BACK = 120.0
"""Seconds; less is two writers' buffers, not a new run."""

_Stamped = tuple[Times, tuple[int, ...]]
"""The times of a log, and the pids of its stamps."""
_Placed = TypeVar("_Placed", Event, Progress, Stamp)


class Span:
    """A part of one file: `begin` to `end` in bytes, `end` None for the file's own end.

    Mostly it is all of the file, and there are as many as files: a plain class with slots is the
    quickest to make and to ask.
    """

    __slots__ = ("begin", "end", "events", "facts", "pids", "progress", "times")

    def __init__(
        self,
        facts: FileFacts,
        begin: int = 0,
        end: int | None = None,
        stamped: _Stamped | None = None,
    ) -> None:
        """`stamped` are its times and pids, where they are known already."""
        self.facts = facts
        """Of the whole file."""
        self.begin = begin
        self.end = end
        self.events: Sequence[Event] = facts.events
        self.progress: Sequence[Progress] = facts.progress
        stamps: Sequence[Stamp] = facts.stamps
        if begin or (end is not None and end < facts.bytes):
            self.events = _own(facts.events, begin, end)
            self.progress = _own(facts.progress, begin, end)
            stamps = _own(stamps, begin, end)
        self.times, self.pids = stamped or _stamped(stamps, self.events, self.progress)

    def holds(self, offset: int) -> bool:
        return self.begin <= offset and (self.end is None or offset < self.end)

    @property
    def is_last(self) -> bool:
        """It reaches to the end of the file, so that the file's last lines are its own."""
        return self.end is None or self.end >= self.facts.bytes

    @property
    def size(self) -> int:
        return (self.facts.bytes if self.end is None else self.end) - self.begin


def _own(things: Sequence[_Placed], begin: int, end: int | None) -> list[_Placed]:
    limit = inf if end is None else end
    return [thing for thing in things if begin <= thing.offset < limit]


def _stamped(
    stamps: Sequence[Stamp], events: Sequence[Event], progress: Sequence[Progress]
) -> _Stamped:
    told: list[Stamp | Event | Progress] = [*stamps, *progress]
    told += [event for event in events if not is_by_unix_time(event)]
    times = [time for each in told if (time := each.time) is not None]
    pids = {pid for stamp in stamps if (pid := stamp.pid) is not None}
    return extent(times), tuple(sorted(pids))


def is_by_unix_time(event: Event) -> bool:
    """Whether it tells the time by UTC, while all around it tell that of the clock on the wall."""
    return "signal" in event.fields or event.role == "victim"


Segment = tuple[Span, ...]


def times_of(segment: Segment) -> Times:
    """The first and the last it tells, if it tells any."""
    if len(segment) == 1:
        return segment[0].times
    return extent([time for part in segment for time in part.times])


def split(log: Log, expected: int | None = None, begun: Sequence[float] = ()) -> list[Segment]:
    """The log cut into runs, oldest first; `expected` is how many a side file tells of.

    `begun` is when runs began by other logs of the node: what is a weak sign in one log is none
    where others begin anew within the same seconds.
    """
    if len(log.pieces) == 1:
        piece = log.pieces[0]
        stamped = _stamped_by_one_run(piece)
        if stamped:
            return [(Span(piece, stamped=stamped),)]
    places: list[_Place] = [
        (number, boundary)
        for number, piece in enumerate(log.pieces)
        for boundary in _boundaries(piece)
    ]
    strongest = sorted(places, key=lambda p: (-p[1].weight, not p[1].is_opening, p[0], p[1].offset))
    known = max(0, (expected or 1) - 1)
    # Side files count the launches of one generation only: more may be there, not fewer.
    enough = ENOUGH if expected is None else ENOUGH + 1
    chosen = strongest[:known] + [p for p in strongest[known:] if p[1].weight >= enough]
    if begun:
        chosen += _begun_with_others(log.pieces, strongest, chosen, begun)
    cuts = {(number, boundary.offset) for number, boundary in chosen}
    return _cut(log.pieces, cuts)


def _begun_with_others(
    pieces: Sequence[FileFacts],
    places: Sequence[_Place],
    chosen: Sequence[_Place],
    begun: Sequence[float],
) -> list[_Place]:
    """Those of the other places at which other logs begin anew, and this one does nowhere else."""
    own = [moment for place in chosen if (moment := _moment_at(pieces, place)) is not None]
    own += [stamp.time for stamp in pieces[0].stamps[:1]]
    found: list[_Place] = []
    for place in places:
        moment = _moment_at(pieces, place)
        if moment is None or place in chosen or _is_one_of(moment, own):
            continue
        if _is_one_of(moment, begun):
            found.append(place)
            own.append(moment)
    return found


def _moment_at(pieces: Sequence[FileFacts], place: _Place) -> float | None:
    """The first time told behind a boundary, if it is told near it."""
    number, boundary = place
    stamps = pieces[number].stamps
    behind = [s for s in stamps if 0 <= s.offset - boundary.offset <= NEAR_BYTES]
    return behind[0].time if behind else None


def _is_one_of(moment: float, others: Sequence[float]) -> bool:
    return any(abs(moment - each) <= SAME_START for each in others)


def empty_part(log: Log) -> Segment:
    """Of a process that wrote nothing."""
    newest = log.pieces[-1]
    return (Span(newest, newest.bytes),)


def _stamped_by_one_run(facts: FileFacts) -> _Stamped | None:
    """The times and pids of a file in which nothing begins anew or goes back, as in most files:
    it holds one run. Each thing is looked at once, because there are as many files as ranks."""
    if facts.echoes or (facts.events and (_later_starts(facts) or has_life_after_end(facts))):
        return None
    by_clock = _one_writer(facts.stamps)
    counted = _steps_onward(facts.progress)
    if by_clock is None or counted is None:
        return None
    first, last, writer = by_clock
    earliest, latest = counted
    if earliest < first:
        first = earliest
    if latest > last:
        last = latest
    for event in facts.events:
        if event.time is not None and not is_by_unix_time(event):
            first, last = min(first, event.time), max(last, event.time)
    return extent([first, last] if first <= last else ()), () if writer is None else (writer,)


def _one_writer(stamps: Sequence[Stamp]) -> tuple[float, float, int | None] | None:
    """The first and the last time and the pid of stamps; None where the clock goes back, or where
    a second process writes."""
    first, last, earliest = inf, -inf, -inf
    writer = None
    for _, _, time, pid in stamps:
        if time < earliest:
            return None
        earliest = time - CLOCK_BACK
        if time < first:
            first = time
        if time > last:
            last = time
        if pid != writer and pid is not None:
            if writer is not None:
                return None
            writer = pid
    return first, last, writer


def _steps_onward(progress: Sequence[Progress]) -> tuple[float, float] | None:
    """The first and the last time that steps tell; None where they are counted anew."""
    first, last = inf, -inf
    reached = (0, 0)
    for _, _, step, epoch, _, _, time in progress:
        earlier, reached = reached, (epoch or 0, step)
        if reached < earlier:
            return None
        if time is not None:
            if time < first:
                first = time
            if time > last:
                last = time
    return first, last


class _Boundary(NamedTuple):
    offset: int
    line: int
    weight: int
    is_opening: bool = False
    """The file begins anew there with its own first lines."""


_Place = tuple[int, _Boundary]
"""A boundary, and the piece of a rotated log it stands in."""


def _boundaries(facts: FileFacts) -> list[_Boundary]:
    """Candidate places, signs that stand close together counted as one place."""
    signs = [*_new_pids(facts), *_restarted_counters(facts), *_clock_back(facts)]
    signs += [(e.line, e.offset, "echo", 3 if e.strength > 1 else 2) for e in facts.echoes]
    signs += [(e.line, e.offset, "start", 2) for e in _later_starts(facts)]
    signs += starts_after_ends(facts)
    if not signs:
        return []
    # not where it ends: what follows an exception at once is taken for the rest of its message
    ends = sorted(e.line for e in facts.events if _is_terminal(e))
    steps = sorted(p.line for p in facts.progress)
    found: list[_Boundary] = []
    group: list[_Sign] = []
    for sign in sorted(signs):
        twice = sign[2] == "process" and any(other[2] == "process" for other in group)
        if group and (twice or not _same_place(group[-1][0], sign[0], ends, steps)):
            found.append(_boundary(facts, group, ends, steps))
            group = []
        group.append(sign)
    if group:
        found.append(_boundary(facts, group, ends, steps))
    return [boundary for boundary in found if boundary.offset > 0]


def _boundary(
    facts: FileFacts, group: list[_Sign], ends: list[int], steps: list[int]
) -> _Boundary:
    first = group[0]
    weights = {reason: weight for _, _, reason, weight in group}
    earlier = bisect_left(ends, first[0])
    if earlier and not _any_between(steps, ends[earlier - 1], first[0]):
        # one process that trains several times, for each fold of its data, has one pid
        anew = "counter" in weights and _is_done_at(facts, ends[earlier - 1])
        weights["end before"] = 2 if anew and not _has_one_writer(facts, first[1]) else 1
    return _Boundary(first[1], first[0], sum(weights.values()), "echo" in weights)


def _is_done_at(facts: FileFacts, line: int) -> bool:
    return any(event.line == line and "training-done" in event.says for event in facts.events)


def _has_one_writer(facts: FileFacts, offset: int) -> bool:
    """Whether the same process speaks on both sides of a place."""
    before = {stamp.pid for stamp in facts.stamps if stamp.offset < offset}
    behind = {stamp.pid for stamp in facts.stamps if stamp.offset >= offset}
    return bool((before & behind) - {None})


def _same_place(earlier: int, later: int, ends: list[int], steps: list[int]) -> bool:
    if later - earlier > NEAR_LINES:
        return False
    return not (_any_between(ends, earlier - 1, later) or _any_between(steps, earlier, later))


def _any_between(lines: list[int], low: int, high: int) -> bool:
    """Whether one of these lines, which are in order, stands strictly between the two."""
    after = bisect_right(lines, low)
    return after < len(lines) and lines[after] < high


def _is_terminal(event: Event) -> bool:
    if event.role in ("victim", "end"):
        return True
    return event.role in ("cause", "symptom") and (event.block > 0 or event.final)


def _later_starts(facts: FileFacts) -> list[Event]:
    """Starts told by events, but for that of the file's first run."""
    return [
        e
        for e in facts.events
        if e.role == "start" and e.line > NEAR_LINES // 2 and "process-starts" not in e.says
    ]


def _new_pids(facts: FileFacts) -> list[_Sign]:
    """A process nobody has heard before, after which the old one is never heard again."""
    stamped = [stamp for stamp in facts.stamps if stamp.pid is not None]
    last_of = {stamp.pid: stamp.line for stamp in stamped}
    seen: set[int | None] = set()
    found: list[_Sign] = []
    for earlier, later in pairwise(stamped):
        seen.add(earlier.pid)
        # glog prints the thread: those of a dying process all speak within the same moment
        apart = abs(later.time - earlier.time) > SAME_PROCESS
        if apart and later.pid not in seen and all(last_of[pid] < later.line for pid in seen):
            found.append((later.line, later.offset, "pid", 1))
    return found


def _restarted_counters(facts: FileFacts) -> list[_Sign]:
    """Back to the first step of the first epoch: no validation loop does that."""
    reached = [(p.epoch or 0, p.step) for p in facts.progress]
    lowest = min(reached, default=None)
    back = [at for at in range(1, len(reached)) if reached[at - 1] > reached[at] == lowest]
    return [(facts.progress[at].line, facts.progress[at].offset, "counter", 1) for at in back]


def _clock_back(facts: FileFacts) -> list[_Sign]:
    return [
        (later.line, later.offset, "clock", 1)
        for earlier, later in pairwise(facts.stamps)
        if later.time < earlier.time - CLOCK_BACK
    ]


def _cut(pieces: Sequence[FileFacts], cuts: set[tuple[int, int]]) -> list[Segment]:
    segments: list[list[Span]] = [[]]
    for number, piece in enumerate(pieces):
        begin = 0
        for at in sorted(offset for where, offset in cuts if where == number):
            segments[-1].append(Span(piece, begin, at))
            segments.append([])
            begin = at
        segments[-1].append(Span(piece, begin))
    return [tuple(segment) for segment in segments]


def limited(facts: FileFacts, end: int) -> FileFacts:
    """What a file held when it was so many bytes long."""
    return facts._replace(
        events=tuple(e for e in facts.events if e.offset < end),
        progress=tuple(p for p in facts.progress if p.offset < end),
        stamps=tuple(s for s in facts.stamps if s.offset < end),
        echoes=tuple(e for e in facts.echoes if e.offset < end),
        bytes=end,
        tail=(),
    )
