"""One row of the report for every rank: how it ended, how far it came, its lane of the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise, repeat
from math import inf, isfinite
from operator import attrgetter

from pdtriage.model import (
    Event,
    Exit,
    Moment,
    Progress,
    Rank,
    RankRow,
    RankStatus,
    Role,
    Text,
    VerdictWord,
)
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.fast_namedtuple import maker
from pdtriage.verdict.host_clocks import clock_offsets, culprit_places
from pdtriage.verdict.judgement import Judgement
from pdtriage.verdict.rank_reading import Observation, RankReading

MOST_SAMPLES, FEWEST_SAMPLES = 16, 4
SAMPLES_OF_ALL = 8192
"""So that a job of a thousand ranks stays a small report."""
MOST_OF_A_KIND = 2
MOST_LANES = 4096
STARTED = Text("started", "启动")
FIRST = Text("the first time in its log", "日志中最早的时间")

MOST_OF_COURSE = 60
"""Points of a curve, in a small job."""

Pace = tuple[tuple[float, float], ...]
Losses = tuple[tuple[float | None, int, float | None], ...]
Lane = tuple[tuple[tuple[float, int], ...], tuple[Moment, ...], Pace, Losses]
"""Some of its steps with their times, what happened to it, how fast it went, its losses."""
EMPTY_LANE: Lane = ((), (), (), ())
_new_row = maker(RankRow)


def rank_rows(judgement: Judgement) -> tuple[RankRow, ...]:
    """A row of the report for every rank of the run that is reported on."""
    readings, verdict = judgement.readings, judgement.verdict
    guilty = {(cause.role, rank) for cause in judgement.causes for rank in cause.ranks}
    suffered = {(role, rank, local) for rank, role, _, _, _, local in judgement.victims}
    statuses = [_status(reading, guilty, suffered, verdict) for reading in readings]
    offsets = clock_offsets(readings, culprit_places(judgement))
    ranks = [reading.rank for reading in readings]
    ahead = [offsets.get(rank.host or "") for rank in ranks] if offsets else repeat(None)
    return tuple(map(_row, ranks, statuses, _lanes_of(readings, statuses), ahead))


def _row(rank: Rank, status: RankStatus, lane: Lane, ahead: float | None) -> RankRow:
    role, number, local_rank, _, host, _, device = rank[:7]
    parents_word, progress = rank.exit, rank.progress
    code, signal = (parents_word.code, parents_word.signal) if parents_word else (None, None)
    last = progress[-1] if progress else None
    step, time = (last.step, last.time) if last else (None, None)
    return _new_row(
        (
            number,
            role,
            host,
            local_rank,
            device,
            rank.files,
            status,
            code,
            signal,
            step,
            rank.last_time,
            _first_seen(rank),
            time,
            *lane,
            ahead,
        )
    )


def _first_seen(rank: Rank) -> float | None:
    first = rank.first_time
    step = rank.progress[0].time if rank.progress else None
    for time in (rank.started, step):
        if time is not None and (first is None or time < first):
            first = time
    for _, event in rank.events:
        if event.time is not None and (first is None or event.time < first):
            first = event.time
    return first


def _status(
    reading: RankReading,
    guilty: set[tuple[Role, int]],
    suffered: set[tuple[Role, int | None, int | None]],
    verdict: VerdictWord,
) -> RankStatus:
    rank = reading.rank
    role, number, local_rank = rank[:3]
    if number is not None and (role, number) in guilty:
        return "failed"
    if (role, number, local_rank) in suffered:
        return "victim"
    if verdict == "succeeded" or reading.ended_well:
        return "finished"
    if verdict == "running":
        return "running"
    return "unknown" if rank.lines else "silent"


def _lanes_of(readings: Sequence[RankReading], statuses: Sequence[RankStatus]) -> list[Lane]:
    """What is known of each rank's course, in their order."""
    share = SAMPLES_OF_ALL // max(1, len(readings))
    most = max(FEWEST_SAMPLES, min(MOST_SAMPLES, share))
    broken = _first_failure(readings)
    lanes = [EMPTY_LANE] * len(readings)
    for place in _drawn(statuses):
        lanes[place] = _lane(readings[place], most, min(MOST_OF_COURSE, share), broken)
    return lanes


def _drawn(statuses: Sequence[RankStatus]) -> Iterable[int]:
    """The lanes that are drawn of very many: the failed ones, and enough of the others."""
    if len(statuses) <= MOST_LANES:
        return range(len(statuses))
    failed = [place for place, status in enumerate(statuses) if status == "failed"]
    others = (place for place, status in enumerate(statuses) if status != "failed")
    return islice(chain(failed, others), MOST_LANES)


def parents_word(exit_: Exit) -> Text:
    """How a process ended, by its parent's word."""
    if exit_.signal is None:
        return Text(f"exited with code {exit_.code}", f"以退出码 {exit_.code} 结束")
    name = signal_name(exit_.signal)
    return Text(f"ended by {name}", f"被 {name} 终止")


def _first_failure(readings: Sequence[RankReading]) -> float | None:
    """When the first process failed by itself, as its parent saw it."""
    exits = [reading.rank.exit for reading in readings]
    failed = [e for e in exits if e and not e.stopped and (e.code or e.signal is not None)]
    return min((e.time for e in failed if e.time is not None), default=None)


def _lane(reading: RankReading, most: int, points: int, broken: float | None) -> Lane:
    course = _Course(reading.rank, broken)
    samples = _samples(reading.rank.progress, course, most)
    moments = _moments(reading, course)
    if len(moments) > 1:
        moments = [*dict.fromkeys(sorted(moments, key=_order))]
    steps = reading.rank.progress
    return tuple(samples), tuple(moments), pace_of(steps, points), losses_of(steps, points)


def _order(moment: Moment) -> tuple[bool, float, bool]:
    return moment.t is None, moment.t or 0.0, moment.kind == "exit"


def _moments(reading: RankReading, course: _Course) -> list[Moment]:
    rank = reading.rank
    ended = rank.exit
    moments = []
    start, how = (rank.started, STARTED) if rank.started is not None else (rank.first_time, FIRST)
    if start is not None:
        moments.append(Moment(start, rank.rank, "start", how, rank.role))
    for kind, found in _events_by_kind(reading):
        time, about = course.time_of(found.event)
        moments.append(Moment(time, rank.rank, kind, _title_of(found), rank.role, about))
    if ended and (ended.code is not None or ended.signal is not None):
        moments.append(Moment(ended.time, rank.rank, "exit", parents_word(ended), rank.role))
    return moments


def _events_by_kind(reading: RankReading) -> list[tuple[str, Observation]]:
    """What was survived, or only supports a cause, is a warning."""
    if not any(reading[1:]):
        return []
    said = (
        ("warning", (*reading.survived, *reading.outlived, *reading.context)),
        ("error", reading.causes),
        ("symptom", (*reading.symptoms, *reading.inner, *reading.explained)),
        ("signal", (reading.stopped,) if reading.stopped else ()),
    )
    return [(kind, first) for kind, found in said if found for first in _kinds(found)]


def _kinds(found: Iterable[Observation]) -> list[Observation]:
    """The first of each signature."""
    first: dict[str, Observation] = {}
    for one in found:
        first.setdefault(one.signature.id, one)
    return list(first.values())[:MOST_OF_A_KIND]


def _title_of(found: Observation) -> Text:
    count = found.event.count
    title = found.title
    return title if count == 1 else Text(f"{title.en} (× {count})", f"{title.zh}（{count} 次）")


def _samples(steps: Sequence[Progress], course: _Course, most: int) -> list[tuple[float, int]]:
    """Samples spread over a rank's time as evenly as they are known, both ends among them."""
    reached: dict[float, int] = {}  # of steps at one time only the last tells how far it was
    for _, offset, step, _, _, _, told in steps:
        time = course.known().get(offset) if told is None else told
        if time is not None:
            reached[time] = step
    placed = [*reached.items()]
    if len(placed) > 2:
        first, last = placed[0][0], placed[-1][0]
        stretch = (last - first) / (most - 2) or 1.0
        spread: dict[int, tuple[float, int]] = {}
        for one in placed[:-1]:
            spread.setdefault(int((one[0] - first) / stretch), one)
        placed = [*spread.values(), placed[-1]]
    return placed


def pace_of(steps: Sequence[Progress], most: int) -> Pace:
    """Steps per second between steps whose times are told; where a counter begins anew, nothing."""
    timed = _evenly(_first_at_each_time(steps), most + 1)
    rates = []
    for earlier, later in pairwise(timed):
        took = (later.time or 0.0) - (earlier.time or 0.0)
        made = later.step - earlier.step
        if later.epoch == (earlier.epoch or 0) + 1 and later.total == earlier.total:
            made += earlier.total or 0  # of those that count anew in every epoch
        if took > 0 and made > 0:
            rates.append((later.time or 0.0, float(f"{made / took:.4g}")))
    return tuple(rates)


def _first_at_each_time(steps: Iterable[Progress]) -> list[Progress]:
    """Stamps may be of whole seconds, in which several steps are made."""
    found: list[Progress] = []
    for step in steps:
        if step.time is not None and not (
            found and found[-1].time == step.time and found[-1].step <= step.step
        ):
            found.append(step)
    return found


def losses_of(steps: Sequence[Progress], most: int) -> Losses:
    """The losses that step lines name; the first that is no number any more is among them."""
    told = [step for step in steps if step.loss is not None]
    kept = _evenly(told, most - 1)
    lost = next((step for step in told if not isfinite(step.loss or 0.0)), None)
    if lost is not None and lost not in kept:
        kept = sorted([*kept, lost], key=attrgetter("offset"))
    return tuple(
        (step.time, step.step, step.loss if step.loss is None or isfinite(step.loss) else None)
        for step in kept
    )


def _evenly(steps: Sequence[Progress], most: int) -> list[Progress]:
    """At most so many items, the first and the last among them, however few there is room for."""
    last, most = len(steps) - 1, max(2, most)
    if last < most:
        return list(steps)
    return [steps[last * place // (most - 1)] for place in range(most)]


class _Course:
    """Places of one log and when it came there; looked for only where something has no time.

    Of several files the places cannot be compared: only times that are told count.

    Who was stopped had said all it had to say by the time the job was `broken`: how long the
    launcher then took to end it says nothing of when its last line was written.
    """

    def __init__(self, rank: Rank, broken: float | None = None) -> None:
        self._rank, self._broken = rank, broken
        self._known: dict[int, float] | None = None

    def known(self) -> dict[int, float]:
        """Times by the offsets, in order, of all that was said; where none is told, by its place
        between two that are."""
        if self._known is None:
            alone = len(self._rank.files) == 1 and not self._rank.mixed
            self._known = _interpolate(self._recorded_times()) if alone else {}
        return self._known

    def _recorded_times(self) -> dict[int, float | None]:
        """The time of all that was said, by offset, and of the beginning and the end."""
        rank = self._rank
        told = {event.offset: event.time for _, event in rank.events} if rank.events else {}
        for _, offset, _, _, _, _, time in rank.progress:
            if time is not None or offset not in told:
                told[offset] = time
        if told:
            first = min(told)
            if told[first] is None:
                told[first] = rank.first_time if rank.started is None else rank.started
        last = rank.last_offset
        if last and told.get(last) is None:
            told[last] = self._end_time()
        return told

    def _end_time(self) -> float | None:
        rank = self._rank
        ended = rank.exit.time if rank.exit and rank.exit.time is not None else rank.last_time
        if ended is not None and self._broken is not None and rank.exit and rank.exit.stopped:
            return min(ended, self._broken)
        return ended

    def time_of(self, event: Event) -> tuple[float | None, bool]:
        """The time it tells, or else the nearest there is; and whether it had to be guessed."""
        if event.time is not None:
            return event.time, False
        known = self.known()
        if not known:
            return None, False
        if event.offset in known:
            return known[event.offset], True
        first, last = min(known), max(known)
        return known[first if event.offset < first else last], True


def _interpolate(told: dict[int, float | None]) -> dict[int, float]:
    """Places with their times; those without one where they lie between two that have one."""
    known: dict[int, float] = {}
    waiting: list[int] = []
    low, since = 0, -inf
    for offset in sorted(told):
        time = told[offset]
        if time is None or time < since:  # a clock that goes back tells nothing
            waiting.append(offset)
            continue
        if waiting:
            for place in waiting if known else ():
                known[place] = since + (place - low) / (offset - low) * (time - since)
            waiting = []
        known[offset] = time
        low, since = offset, time
    return known
