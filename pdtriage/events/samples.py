"""Where in a piece of a file progress is looked for, and which of its lines are read.

Places depend on offsets in the file alone, so that the size of the pieces does not matter.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pdtriage.events.clock import Clock
from pdtriage.events.detect import Marks, Place
from pdtriage.events.lines import Lines
from pdtriage.events.sampling import merged
from pdtriage.model import Event, Progress, Stamp

DENSE = 1 << 12
"""Bytes at both ends of a file that are looked at whole."""
FARTHEST = 1 << 16
"""Bytes at the end that are looked at if those tell no step."""
WINDOW = 1 << 12
"""Elsewhere a window of this size is, at every `STRIDE` of a file's beginning …"""
STRIDE = 1 << 18
BEGINNING = 2 << 20
LONG_STRIDE = 1 << 20
"""… and more rarely behind it."""
NEAR_BEFORE, NEAR_AFTER = 1 << 12, 1 << 14
"""Around an event: did training go on?"""
MOST_NEAR = 64
READ_OF_SMALL, READ_OF_PART, READ_OF_WINDOW = 24, 4, 1
"""Lines read of a file that is one region, of a part of a longer one, of a mere window."""
READ_BETWEEN = 2
READ_AFTER = 4
"""Lines read behind an event."""
MOST_REFINED = 8


class Region(NamedTuple):
    begin: int
    end: int
    most: int
    """Lines that are read of it, if nothing else happens there."""


FAILING = frozenset({"cause", "symptom", "victim", "end"})
"""Events behind which steps are read one by one: did training go on?"""
TELLING = FAILING | {"start"}


def regions(
    base: int, begin: int, upto: int, events: Sequence[Event], is_end: bool, sparse: bool
) -> list[Region]:
    """The parts of buffer[begin:upto] to look at; `base` is where the buffer begins in the file."""
    low, high = base + begin, base + upto
    wanted = [(0, DENSE)]
    if is_end:
        wanted.append((high - DENSE, high))
    at = low - low % LONG_STRIDE
    while at < high:
        wanted.append((at, at + WINDOW))
        at += LONG_STRIDE if sparse or at >= BEGINNING else STRIDE
    near = [event.offset for event in events if event.role in TELLING]
    if len(near) > MOST_NEAR:
        near = near[: MOST_NEAR // 2] + near[-MOST_NEAR // 2 :]
    wanted += [(offset - NEAR_BEFORE, offset + NEAR_AFTER) for offset in near]
    return [
        Region(start - base, end - base, _most(start, end, is_end and end == high))
        for start, end in merged(wanted, low, high)
    ]


def _most(start: int, end: int, is_last: bool) -> int:
    if is_last:
        return READ_OF_SMALL if start == 0 else READ_OF_PART
    return READ_OF_WINDOW if end - start <= WINDOW and start >= DENSE else READ_OF_PART


def looked_at(
    wanted: Sequence[Region], begin: int, is_end: bool, find: Callable[[int, int], Marks]
) -> list[tuple[Region, Marks]]:
    """What stands there; a file may end with much that is no step, so the end may grow."""
    seen = [(region, find(region.begin, region.end)) for region in wanted]
    if is_end and seen and not seen[-1][1].counters:
        last = seen.pop()[0]
        start = max(begin, last.end - FARTHEST, seen[-1][0].end if seen else 0)
        seen.append((last._replace(begin=start), find(start, last.end)))
    return seen


def chosen(places: Sequence[Place], near: Sequence[int], most: int) -> list[int]:
    """Which of the places of one region to read: both ends, some between, those next to events."""
    count = len(places)
    if count <= most:
        return list(range(count))
    if most == READ_OF_WINDOW:
        return [0]
    picked = {*range(most // 4), *range(count - most // 2, count)}
    picked.update(range(0, count, count // READ_BETWEEN + 1))
    for position in near:
        after = bisect(places, position, key=lambda place: place[0])
        picked.update(range(max(0, after - 1), min(count, after + READ_AFTER)))
    return sorted(picked)


def steps_of(
    wanted: Sequence[tuple[Region, Marks]],
    near: Sequence[int],
    read: Callable[[int, list[int]], Progress | None],
) -> list[Progress]:
    """The steps told in these regions; where a counter falls back, the very line is looked for."""
    places: list[Place] = []
    picked: list[int] = []
    for region, marks in wanted:
        inside = [it for it in near if region.begin <= it < region.end][:MOST_NEAR]
        picked += [len(places) + it for it in chosen(marks.counters, inside, region.most)]
        places += marks.counters
    steps = {place: step for place in picked if (step := read(*places[place]))}
    for _ in range(MOST_REFINED):
        gap = _fall(steps)
        if gap is None:
            break
        middle = sum(gap) // 2
        step = read(*places[middle])
        steps[middle] = step or steps[gap[0]]
    return list({id(step): step for _, step in sorted(steps.items())}.values())


def _fall(steps: dict[int, Progress]) -> tuple[int, int] | None:
    """Two places with others between them where the later step is the smaller one."""
    order = sorted(steps)
    for earlier, later in pairwise(order):
        if later - earlier > 1 and _rank(steps[later]) < _rank(steps[earlier]):
            return earlier, later
    return None


def _rank(step: Progress) -> tuple[int, int]:
    return step.epoch or 0, step.step


def glog_stamps(lines: Lines, marks: Marks, clock: Clock, base: int) -> list[Stamp]:
    """The first and last glog line of every process that wrote here."""
    kept: set[int] = set(marks.writers[-1:])
    pid, last = b"", -1
    for end in marks.writers:
        writer = lines.buffer[lines.buffer.rfind(b" ", 0, end - 1) : end]
        if writer != pid:
            kept |= {last, end} if pid else {end}
        pid, last = writer, end
    stamps = []
    for position in sorted(kept):
        line = lines.at(position - 1)
        if stamp := clock.read(line.text):
            stamps.append(Stamp(line.number, base + line.start, *stamp))
    return stamps
