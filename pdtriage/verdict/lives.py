"""The life of every rank, for the lanes of the timeline: start, steps, warnings, errors, end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pdtriage.model import Event, Exit, Moment, Progress, Rank, RankRow, Text
from pdtriage.verdict import words
from pdtriage.verdict.reading import Found, Reading

MOST_SAMPLES, FEWEST_SAMPLES = 16, 4
SAMPLES_OF_ALL = 8192
"""So that a job of a thousand ranks stays a small report."""
MOST_OF_A_KIND = 2
MOST_LIVES = 4096


def with_lives(rows: Sequence[RankRow], readings: Sequence[Reading]) -> tuple[RankRow, ...]:
    """The rows of the report, each with what is known of its rank's course; same order."""
    share = SAMPLES_OF_ALL // max(1, len(rows))
    most = max(FEWEST_SAMPLES, min(MOST_SAMPLES, share))
    told = _told(rows)
    broken = _first_failure(readings)
    return tuple(
        _lived(row, reading, most, broken) if place in told else row
        for place, (row, reading) in enumerate(zip(rows, readings, strict=True))
    )


def _told(rows: Sequence[RankRow]) -> Collection[int]:
    """Nobody looks at a hundred thousand lanes: the failed ones, and enough of the others."""
    places = range(len(rows))
    if len(rows) <= MOST_LIVES:
        return places
    return frozenset(sorted(places, key=lambda place: rows[place].status != "failed")[:MOST_LIVES])


def ending(exit_: Exit) -> Text:
    """How a process ended, by its parent's word."""
    if exit_.signal is None:
        return Text(f"exited with code {exit_.code}", f"以退出码 {exit_.code} 结束")
    name = words.signal_name(exit_.signal)
    return Text(f"ended by {name}", f"被 {name} 终止")


def _first_failure(readings: Sequence[Reading]) -> float | None:
    """When the first process failed by itself, as its parent saw it."""
    exits = [reading.rank.exit for reading in readings]
    failed = [e for e in exits if e and not e.stopped and (e.code or e.signal is not None)]
    return min((e.time for e in failed if e.time is not None), default=None)


def _lived(row: RankRow, reading: Reading, most: int, broken: float | None) -> RankRow:
    course = _Course.of(reading.rank, broken)
    moments = sorted(_moments(reading, course), key=_order)
    return row._replace(
        progress=tuple(_samples(reading.rank.progress, course, most)),
        moments=tuple(dict.fromkeys(moments)),
    )


def _order(moment: Moment) -> tuple[bool, float, bool]:
    return moment.t is None, moment.t or 0.0, moment.kind == "exit"


def _moments(reading: Reading, course: _Course) -> Iterator[Moment]:
    rank = reading.rank
    begun = rank.first_time if rank.started is None else rank.started
    if begun is not None:
        known = Text("started", "启动")
        first = Text("the first time in its log", "日志中最早的时间")
        yield Moment(begun, rank.rank, "start", first if rank.started is None else known, rank.role)
    for kind, found in _happened(reading):
        time, about = course.time_of(found.event)
        yield Moment(time, rank.rank, kind, _said(found), rank.role, about)
    if rank.exit and (rank.exit.code is not None or rank.exit.signal is not None):
        yield Moment(rank.exit.time, rank.rank, "exit", ending(rank.exit), rank.role)


def _happened(reading: Reading) -> Iterator[tuple[str, Found]]:
    """What was survived, or only supports a cause, is a warning."""
    yield from (("warning", f) for f in _kinds([*reading.survived, *reading.context]))
    yield from (("error", f) for f in _kinds(reading.causes))
    following = [*reading.symptoms, *reading.inner, *reading.explained]
    yield from (("symptom", f) for f in _kinds(following))
    if reading.stopped:
        yield "signal", reading.stopped


def _kinds(found: Iterable[Found]) -> list[Found]:
    """The first of each signature."""
    first: dict[str, Found] = {}
    for one in found:
        first.setdefault(one.signature.id, one)
    return list(first.values())[:MOST_OF_A_KIND]


def _said(found: Found) -> Text:
    count = found.event.count
    title = found.signature.title
    return title if count == 1 else Text(f"{title.en} (× {count})", f"{title.zh}（{count} 次）")


def _samples(steps: Sequence[Progress], course: _Course, most: int) -> Iterator[tuple[float, int]]:
    """Spread over its time as evenly as they are known; the first and the last are among them."""
    # of steps at one time only the last tells how far it was by then
    placed = [*{t: s.step for s in steps if (t := course.between(s)) is not None}.items()]
    if len(placed) > 2:
        first, last = placed[0][0], placed[-1][0]
        stretch = (last - first) / (most - 2) or 1.0
        spread: dict[int, tuple[float, int]] = {}
        for time, step in placed[:-1]:
            spread.setdefault(int((time - first) / stretch), (time, step))
        placed = [*spread.values(), placed[-1]]
    yield from placed


class _Course(NamedTuple):
    """Places of one log whose time is known, in the order of the file."""

    offsets: tuple[int, ...]
    times: tuple[float, ...]

    @classmethod
    def of(cls, rank: Rank, broken: float | None = None) -> _Course:
        """Of several files the places cannot be compared: only times that are told count.

        Who was stopped had said all it had to say by the time the job was `broken`: how long the
        launcher then took to end it says nothing of when its last line was written.
        """
        if len(rank.files) != 1 or rank.mixed:
            return cls((), ())
        spoken: list[Event | Progress] = [*(event for _, event in rank.events), *rank.progress]
        known = {one.offset: one.time for one in spoken if one.time is not None}
        begun = rank.first_time if rank.started is None else rank.started
        if begun is not None and spoken:
            known.setdefault(min(one.offset for one in spoken), begun)
        ended = rank.exit.time if rank.exit and rank.exit.time is not None else rank.last_time
        if ended is not None and broken is not None and rank.exit and rank.exit.stopped:
            ended = min(ended, broken)
        if ended is not None and rank.last_offset:
            known.setdefault(rank.last_offset, ended)
        offsets: list[int] = []
        times: list[float] = []
        for offset, time in sorted(known.items()):
            if not times or time >= times[-1]:  # a clock that goes back tells nothing
                offsets.append(offset)
                times.append(time)
        return cls(tuple(offsets), tuple(times))

    def between(self, spoken: Event | Progress) -> float | None:
        """When it was said; without a time of its own, by its place between two that have one."""
        if spoken.time is not None:
            return spoken.time
        after = bisect_right(self.offsets, spoken.offset)
        if after and self.offsets[after - 1] == spoken.offset:
            return self.times[after - 1]
        if after in (0, len(self.offsets)):
            return None
        low, high = self.offsets[after - 1], self.offsets[after]
        share = (spoken.offset - low) / (high - low)
        return self.times[after - 1] + share * (self.times[after] - self.times[after - 1])

    def time_of(self, event: Event) -> tuple[float | None, bool]:
        """The same, or else the nearest time there is; and whether it had to be guessed."""
        if event.time is not None or not self.times:
            return event.time, False
        placed = self.between(event)
        if placed is None:
            placed = self.times[0] if event.offset < self.offsets[0] else self.times[-1]
        return placed, True
