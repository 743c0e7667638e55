"""Which of a file's many lines are read for progress, and what is kept of what was read.

Places depend on offsets in the file alone, so that it does not matter how a file is fed.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise, starmap
from operator import itemgetter
from typing import Protocol

from pdtriage.model import Event, LogFile, Progress, Stamp, Text
from pdtriage.scan.clock import Clock
from pdtriage.scan.lines import Lines
from pdtriage.scan.step_lines import StepLine, StepLines
from pdtriage.support.fast_namedtuple import NamedTuple

DENSE = 1 << 12
"""Bytes at both ends of a file that are looked at …"""
FIRST_PROBE, LAST_PROBE = 1 << 10, 1 << 9
"""… but these first: where they tell a step, the others need not."""
FARTHEST = 1 << 18
"""Bytes at the end that are looked at for a step if none was told before; many ranks tell none."""
WINDOW, STRIDE = 1 << 12, 1 << 20
"""Elsewhere there is a window of this size at every stride."""
NEAR_BEFORE, NEAR_AFTER = 1 << 12, 1 << 14
"""Around an event: did training go on?"""
MOST_NEAR = 64
READ_OF_SMALL, READ_OF_END, READ_OF_WINDOW = 24, 2, 1
"""Lines read of a file that is one region, of the end of a longer one, of a mere window."""
READ_OF_PART = 4
"""… and of what stands around an event, or is gone through for the last step."""
READ_BETWEEN = 2
READ_AFTER = 4
"""Lines read behind an event."""
MOST_REFINED = 8
MOST_EVENTS = 400
"""Per signature and file; further ones are counted only."""
MOST_PROGRESS = 400
MOST_STAMPS = 400
FAILING = frozenset({"cause", "symptom", "victim", "end"})
"""Events behind which steps are read one by one: did training go on?"""
TELLING = FAILING | {"start"}


class Region(NamedTuple):
    begin: int
    end: int
    most: int
    """Lines that are read of it, if nothing else happens there."""


class FindStepLines(Protocol):
    """Finds step lines in a part of some buffer, as `StepLineDetector.find` does."""

    def __call__(self, begin: int, end: int, first_only: bool = False) -> StepLines: ...


ReadStep = Callable[[StepLine], Progress | None]


def regions(
    base: int, begin: int, upto: int, events: Sequence[Event], is_end: bool
) -> list[Region]:
    """The parts of buffer[begin:upto] to look at; `base` is where the buffer begins in the file."""
    low, high = base + begin, base + upto
    wanted = [(0, DENSE)]
    wanted += [(at, at + WINDOW) for at in range(low - low % STRIDE, high, STRIDE)]
    if is_end:
        wanted.append((high - DENSE, high))
    near = [event.offset for event in events if event.role in TELLING]
    if len(near) > MOST_NEAR:
        near = near[: MOST_NEAR // 2] + near[-MOST_NEAR // 2 :]
    wanted += [(offset - NEAR_BEFORE, offset + NEAR_AFTER) for offset in near]
    return [
        Region(start - base, end - base, _most(start, end, is_end and end == high))
        for start, end in merge_regions(wanted, low, high)
    ]


def _most(start: int, end: int, is_last: bool) -> int:
    if end - start > DENSE:
        return READ_OF_SMALL if is_last and start == 0 else READ_OF_PART
    if is_last:
        return READ_OF_SMALL if start == 0 else READ_OF_END
    return READ_OF_WINDOW


class Samples(NamedTuple):
    steps: list[Progress]
    glog: list[StepLine]
    """Every line of glog that was looked at."""


class _RegionSample(NamedTuple):
    """The step lines of one region, and the steps that were read of some of them."""

    lines: StepLines
    steps: dict[int, Progress]
    """By the places of their lines among the counters."""

    def trains(self, results: Collection[int]) -> bool:
        """Whether it tells a step that is not one of an evaluation."""
        return any(step.line not in results for step in self.steps.values())


def sample(
    wanted: Sequence[Region],
    begin: int,
    is_end: bool,
    step_before: bool,
    near: Sequence[int],
    find: FindStepLines,
    read: ReadStep,
    results: Collection[int] = (),
) -> Samples:
    """The steps in these regions; where a counter falls back, the very line is looked for.

    `step_before` says whether there was a step before `begin`, `results` are the lines that tell
    of an evaluation: at the end of a file a step of the training is looked for above its steps.
    """
    samples = [
        _sample_region(region, is_end and region is wanted[-1], near, find, read)
        for region in wanted
    ]
    if is_end and samples and samples[-1].steps and not samples[-1].trains(results):
        last = wanted[-1]
        samples[-1] = _read_steps(find(last.begin, last.end), (), last.most, read, results)
    if is_end and samples and not samples[-1].trains(results):
        any_step = step_before or any(each.steps for each in samples)
        lowest = begin if any_step else max(begin, wanted[-1].end - FARTHEST)
        _search_back(samples, wanted, lowest, near, find, read, results)
    places: list[StepLine] = []
    steps: dict[int, Progress] = {}
    glog: list[StepLine] = []
    for lines, read_there in samples:
        for place, step in read_there.items():
            steps[len(places) + place] = step
        places += lines.counters
        glog += lines.glog
    return Samples(_refine(steps, places, read), glog)


def sample_ends(size: int, find: FindStepLines, read: ReadStep) -> Samples | None:
    """The samples of a file in which nothing happened, if both its ends tell steps at once.

    None for one that must be looked at more closely.
    """
    if not 2 * DENSE < size <= STRIDE:
        return None
    early, first = _first_step(0, find, read)
    late = find(size - LAST_PROBE, size)
    last = [step for line in late.counters[-READ_OF_END:] if (step := read(line))]
    if first is None or not last or any(starmap(_falls, pairwise([first, *last]))):
        return None
    return Samples([first, *last], [*early.glog, *late.glog])


def _first_step(
    begin: int, find: FindStepLines, read: ReadStep
) -> tuple[StepLines, Progress | None]:
    """Lines up to the first step; a few more where that has no time but glog may."""
    seen = find(begin, begin + FIRST_PROBE, first_only=True)
    step = read(seen.counters[0]) if seen.counters else None
    if step and step.time is None:
        seen = find(begin, begin + FIRST_PROBE)
    return seen, step


def _sample_region(
    region: Region,
    is_last: bool,
    near: Sequence[int],
    find: FindStepLines,
    read: ReadStep,
    results: Collection[int] = (),
) -> _RegionSample:
    """Its first or last lines alone, where those tell a step, nothing happened and few are read."""
    inside = [it for it in near if region.begin <= it < region.end][:MOST_NEAR] if near else ()
    if region.most <= READ_OF_END and not inside and region.end - region.begin > FIRST_PROBE:
        if is_last:
            end = find(region.end - LAST_PROBE, region.end)
            probed = _read_steps(end, inside, region.most, read)
        else:
            lines, step = _first_step(region.begin, find, read)
            probed = _RegionSample(lines, {0: step} if step else {})
        if probed.steps:
            return probed
    return _read_steps(find(region.begin, region.end), inside, region.most, read, results)


def _search_back(
    samples: list[_RegionSample],
    wanted: Sequence[Region],
    lowest: int,
    near: Sequence[int],
    find: FindStepLines,
    read: ReadStep,
    results: Collection[int],
) -> None:
    """A file may end with much that is no step: back to the last one, but not below `lowest`.

    By turns what lies between two regions, and what was left out of a region.
    """
    for at in reversed(range(len(wanted))):
        start, end = max(lowest, wanted[at - 1].end if at else lowest), wanted[at].begin
        if start < end:
            lines = find(start, end)
            samples.insert(at, _read_steps(lines, (), READ_OF_END, read, results))
            if samples[at].trains(results):
                return
        if at and wanted[at - 1].end > lowest:
            before = wanted[at - 1]
            whole = before._replace(most=max(READ_OF_PART, before.most))
            samples[at - 1] = _sample_region(whole, False, near, find, read, results)
            if samples[at - 1].trains(results):
                return


def _read_steps(
    lines: StepLines,
    near: Sequence[int],
    most: int,
    read: ReadStep,
    results: Collection[int] = (),
) -> _RegionSample:
    """Some of these lines; where `results` are asked for, the last ones that are none, too."""
    steps = {}
    chosen = choose_places(lines.counters, near, most)
    if results:
        training = [at for at, line in enumerate(lines.counters) if line[0] not in results]
        chosen = sorted({*chosen, *training[-READ_OF_END:]})
    for place in chosen:
        if step := read(lines.counters[place]):
            steps[place] = step
    return _RegionSample(lines, steps)


def choose_places(places: Sequence[StepLine], near: Sequence[int], most: int) -> list[int]:
    """Which of the places of one region to read: both ends, some between, those next to events."""
    count = len(places)
    if count <= most:
        return list(range(count))
    if most == READ_OF_WINDOW:
        return [0]
    if most == READ_OF_END:
        return [count - 2, count - 1]
    picked = {*range(most // 4), *range(count - most // 2, count)}
    picked.update(range(0, count, count // READ_BETWEEN + 1))
    for position in near:
        after = bisect_left(places, position, key=itemgetter(1))
        picked.update(range(max(0, after - 1), min(count, after + READ_AFTER)))
    return sorted(picked)


def _refine(
    steps: dict[int, Progress], places: Sequence[StepLine], read: ReadStep
) -> list[Progress]:
    """These steps, whose places rise, and those around a fall that were read now."""
    for _ in range(MOST_REFINED):
        gap = _first_fall(steps)
        if gap is None:
            break
        middle = sum(gap) // 2
        steps[middle] = read(places[middle]) or steps[gap[0]]
        steps = dict(sorted(steps.items()))
    return list({id(step): step for step in steps.values()}.values())


def _first_fall(steps: dict[int, Progress]) -> tuple[int, int] | None:
    """Two places with others between them where the later step is the smaller one."""
    for earlier, later in pairwise(steps):
        if later - earlier > 1 and _falls(steps[earlier], steps[later]):
            return earlier, later
    return None


def _falls(earlier: Progress, later: Progress) -> bool:
    """Whether one counter falls; many logs have two, of all steps and of those of an epoch."""
    if later.total != earlier.total:
        return False
    return (later.epoch or 0, later.step) < (earlier.epoch or 0, earlier.step)


def glog_stamps(lines: Lines, glog: Sequence[StepLine], clock: Clock, base: int) -> list[Stamp]:
    """The first glog line, the last one, and those on both sides of a new process."""
    pids = [lines.bare(raw).split(None, 3)[2] for _, _, raw, _ in glog]
    kept = {0, len(pids) - 1} if pids else set()
    if len(set(pids)) > 1:
        for place, (earlier, later) in enumerate(pairwise(pids)):
            kept |= {place, place + 1} if earlier != later else set()
    stamps = []
    for place in sorted(kept):
        number, start, raw, kind = glog[place]
        text, outer, kind = lines.text_of(raw, kind)
        if moment := clock.read_kind(text, kind):
            time, pid = moment
            wrapped = clock.read(outer) if outer else None  # one clock for all in the file
            stamps.append(Stamp(number, base + start, wrapped[0] if wrapped else time, pid))
    return stamps


def thin(lines: list[int], most: int) -> list[int]:
    """At most about `most` of these items: the newest whole, the older ones thinned evenly."""
    if len(lines) <= most:
        return lines
    old, new = lines[: -most // 2], lines[-most // 2 :]
    return old[:: 2 * len(old) // most + 1] + new


def thin_progress(progress: list[Progress], events: list[Event]) -> list[Progress]:
    """At most `MOST_PROGRESS` steps, but always those next to an event."""
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
    return [kept[line] for line in thin(sorted(kept), 4 * MOST_PROGRESS)]


def turning_stamps(stamps: list[Stamp]) -> list[Stamp]:
    """The first, the last, and those on both sides of another process or an earlier clock."""
    kept = {0, len(stamps) - 1}
    for place, (earlier, later) in enumerate(pairwise(stamps)):
        if earlier.pid != later.pid or later.time < earlier.time:
            kept |= {place, place + 1}
    return [stamps[place] for place in sorted(kept)[-MOST_STAMPS:]]


def merge_regions(regions: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted((max(low, a), min(high, b)) for a, b in regions):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def cap_events(events: list[Event]) -> tuple[list[Event], dict[str, int]]:
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


def add_counts(counts: dict[str, int], more: dict[str, int]) -> dict[str, int]:
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
