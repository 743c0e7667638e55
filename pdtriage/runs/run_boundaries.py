"""Where one run ends and the next begins in a file that several launches appended to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from math import inf
from operator import attrgetter
from typing import TypeVar

from pdtriage.model import Event, FileFacts, Progress, Stamp
from pdtriage.runs.boundary_signs import (
    CLOCK_BACK,
    Boundary,
    boundaries,
    is_terminal,
    later_starts,
)
from pdtriage.runs.folders import Log, launch_of_piece
from pdtriage.runs.process_lives import may_hold_several
from pdtriage.scan.clock import ALMOST_A_YEAR, Times, span_of
from pdtriage.support.fast_namedtuple import NamedTuple

ENOUGH = 3
"""Weight a boundary needs where nothing tells how many runs there are."""
NEAR_BYTES = 1 << 13
SAME_START = 30.0
"""Seconds in which a launcher starts all processes of its node."""
OTHER_START = 180.0
"""Seconds between two starts that are of different runs."""

_Stamped = tuple[Times, tuple[int, ...]]
"""The times of a log, and the pids of its stamps."""
_Placed = TypeVar("_Placed", Event, Progress, Stamp)
_offset = attrgetter("offset")


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
        if begin and stamped is None:
            stamped = _stamped(stamps, self.events, self.progress, _last_times(facts, begin))
        self.times, self.pids = stamped or _stamped(stamps, self.events, self.progress)

    def holds(self, offset: int) -> bool:
        return self.begin <= offset and (self.end is None or offset < self.end)

    @property
    def is_last(self) -> bool:
        """Whether a part reaches to the end of the file, whose last lines are then its own."""
        return self.end is None or self.end >= self.facts.bytes

    @property
    def size(self) -> int:
        return (self.facts.bytes if self.end is None else self.end) - self.begin


def _own(things: Sequence[_Placed], begin: int, end: int | None) -> Sequence[_Placed]:
    """Those that stand between two places; they rise, and a log may hold hundreds of runs."""
    first = bisect_left(things, begin, key=_offset)
    behind = len(things) if end is None else bisect_left(things, end, lo=first, key=_offset)
    return things[first:behind]


def _last_times(facts: FileFacts, begin: int) -> set[float | None]:
    """What was told last before a place: lines behind it that tell no time were given that."""
    stamps, events = _own(facts.stamps, 0, begin), _own(facts.events, 0, begin)
    steps = _own(facts.progress, 0, begin)
    return {
        *(stamp.time for stamp in stamps[-1:]),
        *(event.time for event in events[-1:]),
        *(step.time for step in steps[-1:]),
    }


def _stamped(
    stamps: Sequence[Stamp],
    events: Sequence[Event],
    progress: Sequence[Progress],
    inherited: Collection[float | None] = (),
) -> _Stamped:
    told: list[Stamp | Event | Progress] = [*progress]
    told += [event for event in events if not is_by_unix_time(event)]
    told = [*stamps, *(each for each in told if each.time not in inherited)]
    times = [time for each in told if (time := each.time) is not None]
    pids = {pid for stamp in stamps if (pid := stamp.pid) is not None}
    return span_of(times), tuple(sorted(pids))


def is_by_unix_time(event: Event) -> bool:
    """Whether it tells the time by UTC, while all around it tell that of the clock on the wall."""
    return "signal" in event.fields or event.role == "victim"


Segment = tuple[Span, ...]


def times_of(segment: Segment) -> Times:
    """The first and the last time that a part of a log tells, if any."""
    if len(segment) == 1:
        return segment[0].times
    return span_of([time for part in segment for time in part.times])


class StartTimes:
    """When runs began by all logs of a node, but for those that one log tells of itself.

    There are as many of these as logs: what all tell is sorted once and left as it is.
    """

    __slots__ = ("_all", "_own")

    def __init__(self, all_times: Sequence[float] = (), own: Sequence[float] = ()) -> None:
        """`all_times` rise; `own` are among them."""
        self._all = all_times
        self._own = own

    def has_near(self, moment: float) -> bool:
        """Whether another log begins a run when a launcher would start this process, too."""
        first = bisect_left(self._all, moment - SAME_START)
        behind = bisect_right(self._all, moment + SAME_START)
        return behind - first > sum(abs(moment - each) <= SAME_START for each in self._own)

    @property
    def latest(self) -> float | None:
        own = sorted(self._own)
        for moment in reversed(self._all):
            if not own or own.pop() != moment:
                return moment
        return None


class Others(NamedTuple):
    """What other logs of a node, and its console, tell of its runs."""

    begun: StartTimes
    runs: int = 1
    """In the log that shows most; a process need not have been there in all of them."""
    launches: int = 1
    """In which this process was started, by a console."""


def split(log: Log, expected: int | None = None, others: Others | None = None) -> list[Segment]:
    """The log cut into runs, oldest first; `expected` is how many a side file tells of.

    What is a weak sign in one log is none where `others` tell the same.
    """
    if len(log.pieces) == 1 and others is None:
        piece = log.pieces[0]
        stamped = _stamped_by_one_run(piece)
        if stamped:
            return [(Span(piece, stamped=stamped),)]
    places: list[_Place] = [
        (number, boundary)
        for number, piece in enumerate(log.pieces)
        for boundary in boundaries(piece)
    ]
    strongest = sorted(places, key=lambda p: (-p[1].weight, not p[1].is_opening, p[0], p[1].offset))
    known = max(0, (expected or 1) - 1)
    # Side files count the launches of one generation only: more may be there, not fewer.
    enough = ENOUGH if expected is None else ENOUGH + 1
    chosen = strongest[:known] + [p for p in strongest[known:] if p[1].weight >= enough]
    if others is not None:
        left = [place for place in strongest if place not in chosen]
        weak = [p for p in left if _has_lived(log.pieces, chosen, p, others.begun)]
        begun = _restarts_with_others(log.pieces, weak, chosen, others.begun)
        chosen += begun
        chosen += _counted_by_others([p for p in weak if p not in begun], chosen, others)
    cuts = {(number, boundary.offset) for number, boundary in chosen}
    if others is not None:
        cuts |= _words_of_the_newest(log.pieces[-1], len(log.pieces) - 1, others.begun)
    return _cut(log.pieces, cuts | _other_launches(log.pieces))


def _words_of_the_newest(facts: FileFacts, number: int, begun: StartTimes) -> set[tuple[int, int]]:
    """Where a log goes on behind the end of its last process, while others have begun a run long
    after the last time it tells: of a few words that say nothing known."""
    ends = [event.ends_at for event in facts.events if event.ends_at]
    times = [stamp.time for stamp in facts.stamps]
    latest = begun.latest
    if not ends or not times or latest is None or not max(ends) <= facts.last_offset:
        return set()
    told = bool(_own(facts.progress, max(ends), None) or _own(facts.events, max(ends), None))
    later = latest > max(times) + OTHER_START
    return {(number, max(ends))} if later and not told else set()


def _restarts_with_others(
    pieces: Sequence[FileFacts],
    places: Sequence[_Place],
    chosen: Sequence[_Place],
    begun: StartTimes,
) -> list[_Place]:
    """The weak signs of a start at which other logs begin anew, as this one does nowhere else."""
    own = [moment for place in chosen if (moment := _moment_at(pieces, place)) is not None]
    own += [stamp.time for stamp in pieces[0].stamps[:1]]
    found: list[_Place] = []
    for place in places:
        moment = _moment_at(pieces, place)
        if moment is None or _is_one_of(moment, own):
            continue
        if begun.has_near(moment):
            found.append(place)
            own.append(moment)
    return found


def _counted_by_others(
    places: Sequence[_Place], chosen: Sequence[_Place], others: Others
) -> list[_Place]:
    """Further signs of a start: as many as others tell of runs, where so many show in this log."""
    found = [p for p in places if p[1].weight > 1 or p[1].is_recount or p[1].is_import]
    found = found[: max(0, others.launches - 1 - len(chosen))]
    imports = [place for place in places if place[1].is_import and place not in found]
    return found + imports[: max(0, others.runs - 1 - len(chosen) - len(found))]


def _has_lived(
    pieces: Sequence[FileFacts], chosen: Sequence[_Place], place: _Place, begun: StartTimes
) -> bool:
    """Whether a process made a step or failed since the last boundary that is known, or began with
    others then: a run tells of its start at several places."""
    number, boundary = place
    cuts = [b.offset for n, b in chosen if n == number and b.offset < boundary.offset]
    begin = max(cuts, default=0)
    facts = pieces[number]
    if _own(facts.progress, begin, boundary.offset):
        return True
    if any(map(is_terminal, _own(facts.events, begin, boundary.offset))):
        return True
    moment = _moment_at(pieces, place)
    first = next((s.time for s in _own(facts.stamps, begin, boundary.offset)), None)
    if moment is None or first is None or _is_one_of(moment, [first]):
        return False
    return begun.has_near(first)


def _moment_at(pieces: Sequence[FileFacts], place: _Place) -> float | None:
    """The first time told behind a boundary, if it is told near it."""
    number, boundary = place
    begin = boundary.offset
    near = _own(pieces[number].stamps, begin, begin + NEAR_BYTES + 1)
    return near[0].time if near else None


def _is_one_of(moment: float, others: Sequence[float]) -> bool:
    return any(abs(moment - each) <= SAME_START for each in others)


def empty_part(log: Log) -> Segment:
    """The part of a process that wrote nothing."""
    newest = log.pieces[-1]
    return (Span(newest, newest.bytes),)


def _stamped_by_one_run(facts: FileFacts) -> _Stamped | None:
    """The times and pids of a file in which nothing begins anew or goes back, as in most files:
    it holds one run. Each thing is looked at once, because there are as many files as ranks."""
    if facts.echoes or (facts.events and (later_starts(facts) or may_hold_several(facts))):
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
    if last - first > ALMOST_A_YEAR:
        return None  # what is between them tells which of the two is of another year
    return (first, last) if first <= last else (), () if writer is None else (writer,)


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


_Place = tuple[int, Boundary]
"""A boundary, and the piece of a rotated log it stands in."""


def _other_launches(pieces: Sequence[FileFacts]) -> set[tuple[int, int]]:
    """Where files of another launch begin."""
    launches = [launch_of_piece(piece) for piece in pieces] if len(pieces) > 1 else []
    return {(at, 0) for at in range(1, len(launches)) if launches[at] != launches[at - 1]}


def _cut(pieces: Sequence[FileFacts], cuts: set[tuple[int, int]]) -> list[Segment]:
    segments: list[list[Span]] = [[]]
    for number, piece in enumerate(pieces):
        begin = 0
        for at in sorted(offset for where, offset in cuts if where == number):
            if at:
                segments[-1].append(Span(piece, begin, at))
            segments.append([])
            begin = at
        segments[-1].append(Span(piece, begin))
    return [tuple(segment) for segment in segments]


def facts_up_to(facts: FileFacts, end: int) -> FileFacts:
    """What a file held when it was so many bytes long."""
    return facts._replace(
        events=tuple(_own(facts.events, 0, end)),
        progress=tuple(_own(facts.progress, 0, end)),
        stamps=tuple(_own(facts.stamps, 0, end)),
        echoes=tuple(e for e in facts.echoes if e.offset < end),
        bytes=end,
        tail=(),
    )
