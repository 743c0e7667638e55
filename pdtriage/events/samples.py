"""Where in a piece of a file progress is looked for, and which of its lines are read.

Places depend on offsets in the file alone, so that the size of the pieces does not matter.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pdtriage.events.detect import CounterDetector
from pdtriage.events.lines import near_start
from pdtriage.events.sampling import merged
from pdtriage.model import Event, Progress

DENSE = 1 << 13
"""Bytes at both ends of a file that are looked at whole."""
WINDOW = 1 << 12
"""Elsewhere a window of this size is, at every `STRIDE` of a file's beginning …"""
STRIDE = 1 << 16
BEGINNING = 2 << 20
LONG_STRIDE = 1 << 18
"""… and more rarely behind it."""
NEAR_BEFORE, NEAR_AFTER = 1 << 12, 1 << 14
"""Around an event: did training go on?"""
MOST_NEAR = 64
READ_AT_ENDS, READ_BETWEEN = 3, 3
"""Lines read of one region; of a mere window only the first and the last."""
READ_ALL = 24
READ_AFTER = 4
"""Lines read behind an event."""
MOST_REFINED = 8


class Region(NamedTuple):
    begin: int
    end: int
    is_window: bool


Place = tuple[int, list[int]]
"""Position in the buffer, and the counters that may fit there."""
TELLING = frozenset({"cause", "symptom", "victim", "start", "end"})


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
        Region(start - base, end - base, end - start <= WINDOW and start >= DENSE)
        for start, end in merged(wanted, low, high)
    ]


def chosen(places: Sequence[Place], near: Sequence[int], is_window: bool) -> list[int]:
    """Which of the places of one region to read: both ends, some between, those next to events."""
    count = len(places)
    if is_window:
        return sorted({0, count - 1}) if count else []
    if count <= READ_ALL:
        return list(range(count))
    picked = {*range(READ_AT_ENDS), *range(count - READ_AT_ENDS, count)}
    picked.update(range(0, count, count // READ_BETWEEN + 1))
    for position in near:
        after = bisect(places, position, key=lambda place: place[0])
        picked.update(range(max(0, after - 1), min(count, after + READ_AFTER)))
    return sorted(picked)


def steps_of(
    detector: CounterDetector,
    buffer: bytes,
    wanted: Sequence[Region],
    near: Sequence[int],
    read: Callable[[int, list[int]], Progress | None],
) -> list[Progress]:
    """The steps told in these regions; where a counter falls back, the very line is looked for."""
    places: list[Place] = []
    picked: list[int] = []
    for start, end, is_window in wanted:
        start = near_start(buffer, start)
        found = [(start + at, fits) for at, fits in detector.find(buffer[start:end])]
        inside = [it for it in near if start <= it < end][:MOST_NEAR]
        picked += [len(places) + place for place in chosen(found, inside, is_window)]
        places += found
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
