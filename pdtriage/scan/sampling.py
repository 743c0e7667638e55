"""What is kept of the many: samples of progress, a cap on events, regions worth a look."""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise

from pdtriage.model import Event, LogFile, Progress, Stamp, Text

MOST_EVENTS = 400
"""Per signature and file; further ones are counted only."""
MOST_PROGRESS = 400
MOST_STAMPS = 400


def spread(lines: list[int], most: int) -> list[int]:
    """At most about `most` of them: the newest whole, the older ones thinned evenly."""
    if len(lines) <= most:
        return lines
    old, new = lines[: -most // 2], lines[-most // 2 :]
    return old[:: 2 * len(old) // most + 1] + new


def sampled(progress: list[Progress], events: list[Event]) -> list[Progress]:
    """At most `MOST_PROGRESS` of them, but always those next to an event."""
    unique = sorted({p.line: p for p in progress}.values())
    if len(unique) <= MOST_PROGRESS:
        return unique
    wanted = sorted(e.line for e in events if e.role in ("cause", "symptom", "start", "end"))
    stride = len(unique) // (MOST_PROGRESS // 2) + 1
    kept = {p.line: p for p in [*unique[:20], *unique[-20:], *unique[::stride]]}
    for earlier, later in pairwise(unique):
        between = bisect(wanted, earlier.line) != bisect(wanted, later.line)
        if later.step < earlier.step or between:
            kept[earlier.line], kept[later.line] = earlier, later
    return [kept[line] for line in spread(sorted(kept), 4 * MOST_PROGRESS)]


def turning(stamps: list[Stamp]) -> list[Stamp]:
    """The first, the last, and those on both sides of another process or an earlier clock."""
    kept = {0, len(stamps) - 1}
    for place, (earlier, later) in enumerate(pairwise(stamps)):
        if earlier.pid != later.pid or later.time < earlier.time:
            kept |= {place, place + 1}
    return [stamps[place] for place in sorted(kept)[-MOST_STAMPS:]]


def merged(regions: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted((max(low, a), min(high, b)) for a, b in regions):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def capped(events: list[Event]) -> tuple[list[Event], dict[str, int]]:
    """The first half and the last half of what one signature said, the rest only counted."""
    by_signature: dict[str, list[Event]] = {}
    for event in events:
        by_signature.setdefault(event.signature, []).append(event)
    dropped: dict[str, int] = {}
    kept: list[Event] = []
    for name, found in by_signature.items():
        if len(found) > MOST_EVENTS:
            middle = found[MOST_EVENTS // 2 : -MOST_EVENTS // 2]
            dropped[name] = sum(event.count for event in middle)
            found = found[: MOST_EVENTS // 2] + found[-MOST_EVENTS // 2 :]
        kept.extend(found)
    return sorted(kept, key=lambda e: (e.line, e.offset, e.signature)), dropped


def added(counts: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    names = {*counts, *more}
    return {name: counts.get(name, 0) + more.get(name, 0) for name in names}


def dropped_notes(dropped: dict[str, int], file: LogFile) -> tuple[Text, ...]:
    return tuple(
        Text(
            en=f"{file.path}: {count} more lines of {name} were counted but not kept",
            zh=f"{file.path}：另有 {count} 行 {name} 只计数、未保留",
        )
        for name, count in sorted(dropped.items())
    )
