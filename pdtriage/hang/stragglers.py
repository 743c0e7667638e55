"""Ranks whose steps take longer than those of the others, and ranks that are behind. Pure.

Ranks that meet in every step have one rate of steps, however slow one of them is: there the logs
name nobody. Where rates differ, a rank is compared with the others over the very same steps, each
by its own clock: what all of them wait for (an evaluation, a checkpoint) makes nobody slow.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from pdtriage.model.report import Confidence, Straggler
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text
from pdtriage.support.number_spans import numbers

if TYPE_CHECKING:
    from pdtriage.model import Rank, RunFacts, VerdictWord

LEAST_STEPS = 20
LEAST_RATIO = 1.4
STILL_SLOW = 1.2
"""A rank that is surely slow is never faster than this times the usual."""
STILL_AS_SLOW = 0.9
"""Of how slow it was at its end; when it was not yet, is not counted."""
STRETCH = 5.0
"""Seconds at least, by which a pace is told: stamps may be of whole seconds."""
WIDEST = 1.25
MOST_OTHERS = 64
"""Whom one rank is compared with."""
MOST_BEHIND = 3
"""Ranks."""
LEAST_BEHIND = 3
"""Steps, and as many lines that tell one."""
UNTOLD_ENDS = frozenset({"hung", "interrupted", "unknown", "running"})
"""Verdicts on runs whose ranks are all of one step, as a rule: one that is behind is worth a note.
Where one failed, logs of the others may lack what was not written out."""


class StepSample(NamedTuple):
    """One line that tells a step."""

    time: float
    step: int
    epoch: int | None = None
    total: int | None = None


class StepCourse(NamedTuple):
    """The steps of one rank, oldest first, by one clock."""

    rank: int
    host: str | None
    samples: tuple[StepSample, ...]


def step_courses(facts: RunFacts, *, timed: bool = True) -> list[StepCourse]:
    """The steps of the workers; only those that tell a time, where it is about that."""
    return [
        StepCourse(rank.rank, rank.host, samples)
        for rank in facts.ranks
        if rank.role == "worker" and rank.rank is not None and not rank.mixed
        if (samples := tuple(_samples(rank, timed)))
    ]


def stragglers_of(courses: Iterable[StepCourse]) -> tuple[Straggler, ...]:
    """Ranks that were slower than the rest to their end, a whole host as one; the slowest first."""
    known = [counted for course in courses if (counted := _Counted.of(course)) is not None]
    if len(known) < 2 or len({one.course.samples[-1].total for one in known}) > 1:
        return ()
    usual = median(one.last_pace for one in known)
    suspected = [one for one in known if one.last_pace >= LEAST_RATIO * usual]
    slow = [found for one in suspected if (found := _slow(one, known)) is not None]
    if 2 * len(slow) > len(known):
        return ()
    return tuple(sorted(_by_host(slow, known), key=lambda found: -found.ratio))


def notes_on_pace(slow: Sequence[Straggler], facts: RunFacts, verdict: VerdictWord) -> list[Text]:
    """What people should know of the pace of a run, whatever the verdict."""
    ended = verdict != "running"
    notes = [straggler_text(one, ended=ended) for one in slow]
    if verdict in UNTOLD_ENDS and not slow:
        behind = few_behind_text(step_courses(facts, timed=False))
        notes += [behind] if behind is not None else []
    return notes


def few_behind_text(courses: Iterable[StepCourse]) -> Text | None:
    """The few ranks that told fewer steps than all others, where these are about equally far."""
    ends = [(course.samples[-1], course) for course in courses if course.samples]
    if len(ends) < 2 or len({end.epoch for end, _ in ends}) > 1:
        return None
    ends.sort(key=lambda pair: (pair[0].step, pair[1].rank))
    between = max(1, *(_spacing(course) for _, course in ends))
    for count in range(1, min(MOST_BEHIND, max(1, (len(ends) - 1) // 2)) + 1):
        others = ends[count:]
        gap = others[0][0].step - ends[count - 1][0].step
        spread = others[-1][0].step - others[0][0].step
        if gap >= LEAST_BEHIND * between and 3 * spread <= gap:
            told = [(course.rank, end.step) for end, course in ends[:count]]
            return _steps_behind_text(told, others[0][0].step)
    return None


def _steps_behind_text(told: Sequence[tuple[int, int]], others: int) -> Text:
    """The sentence on ranks that are behind, each with the step that it told last."""
    parts = [
        Text(
            f"rank {rank} was {others - step} steps behind: it told step {step} last",
            f"rank {rank} 落后 {others - step} 步：它最后输出的是第 {step} 步",
        )
        for rank, step in told
    ]
    return Text(
        f"{', '.join(part.en for part in parts)}, the others at least {others}",
        f"{'，'.join(part.zh for part in parts)}，其他 rank 至少到了第 {others} 步",
    )


def straggler_text(found: Straggler, *, ended: bool) -> Text:
    """`rank 5 on 10.0.0.7 took 1.8× the median step for 40 min before the end (0.9 s, not 0.5)`."""
    many = len(found.ranks) > 1
    who = f"rank{'s' * many} {numbers(found.ranks)}"
    where = f" on {found.host}" if found.host else ""
    name = f"rank {numbers(found.ranks)}{f'（{found.host}）' if found.host else ''}"
    span = _span(found.seconds)
    paces = f"{found.step_seconds:.3g} s", f"{found.usual_seconds:.3g} s"
    en = (
        f"{who}{where} took {found.ratio:.1f}× the median step for "
        f"{f'{span[0]} before the end' if ended else f'the last {span[0]}'} "
        f"({paces[0]} against {paces[1]}, over {found.steps} steps)"
    )
    zh = (
        f"{name}{'结束前' if ended else '最近'} {span[1]} 的单步耗时是中位数的 {found.ratio:.1f} 倍"
        f"（{paces[0]} 对 {paces[1]}，共 {found.steps} 步）"
    )
    if found.confidence == "guess":
        en = f"{en}; a guess: few lines tell it, or its steps vary"
        zh = f"{zh}；仅供参考：相关日志行较少，或单步耗时波动较大"
    return Text(en, zh)


def _samples(rank: Rank, timed: bool) -> Iterator[StepSample]:
    for one in rank.progress:
        if one.time is not None or not timed:
            yield StepSample(one.time or 0.0, one.step, one.epoch, one.total)


class _Counted:
    """The steps of one rank, epoch by epoch: counters may begin anew with each."""

    def __init__(self, course: StepCourse, epochs: dict[int | None, list[StepSample]]) -> None:
        self.course = course
        self._epochs = epochs
        self.epoch = next(e for e in reversed(epochs) if _made(epochs[e]) >= LEAST_STEPS)
        self.last = epochs[self.epoch]
        self.last_pace = self._trailing_pace()

    @classmethod
    def of(cls, course: StepCourse) -> _Counted | None:
        """None where too few steps are told."""
        epochs: dict[int | None, list[StepSample]] = {}
        for sample in course.samples:
            samples = epochs.setdefault(sample.epoch, [])
            if samples and (sample.step < samples[-1].step or sample.time < samples[-1].time):
                samples.clear()  # it began anew, or its clock did
            if not samples or sample.step > samples[-1].step:
                samples.append(sample)
        if not any(_made(samples) >= LEAST_STEPS for samples in epochs.values()):
            return None
        return cls(course, epochs)

    def pace(self, epoch: int | None, first: int, last: int) -> float | None:
        """Seconds a step from one step to another, by the samples around these; None where it did
        not come so far, or took too little time to tell."""
        samples = self._epochs.get(epoch, [])
        steps = [sample.step for sample in samples]
        if not steps or steps[-1] < last or steps[0] > first:
            return None
        begin = samples[bisect_right(steps, first) - 1]
        end = samples[bisect_left(steps, last)]
        if end.step - begin.step > WIDEST * (last - first):
            return None  # samples so far around it tell little
        return _pace(begin, end)

    def pace_since(self, epoch: int | None, first: int, seconds: float) -> float | None:
        """Seconds a step from one step on for about so long, where a sample tells."""
        samples = self._epochs.get(epoch, [])
        begin = next((sample for sample in samples if sample.step == first), None)
        if begin is None:
            return None
        end = min(samples, key=lambda sample: abs(sample.time - begin.time - seconds))
        passed = end.time - begin.time
        return _pace(begin, end) if seconds / WIDEST <= passed <= seconds * WIDEST else None

    def _trailing_pace(self) -> float:
        end = self.last[-1]
        begin = next(s for s in reversed(self.last) if end.step - s.step >= LEAST_STEPS)
        return (end.time - begin.time) / (end.step - begin.step)


def _slow(counted: _Counted, known: Sequence[_Counted]) -> Straggler | None:
    """Compared with the others over the very same steps, from the earliest at which it was slow."""
    others = [one for one in known if one is not counted][:MOST_OTHERS]
    samples, end = counted.last, counted.last[-1]
    slow: Straggler | None = None
    most = LEAST_RATIO / STILL_AS_SLOW
    for begin in reversed(samples):
        if end.step - begin.step < LEAST_STEPS:
            continue
        found = _compared(counted, others, begin, end)
        if found is None:
            continue
        if found.ratio < max(LEAST_RATIO, STILL_AS_SLOW * most):
            break
        slow, most = found, max(most, found.ratio)
    return slow


def _compared(
    counted: _Counted, others: Sequence[_Counted], begin: StepSample, end: StepSample
) -> Straggler | None:
    """How slow it was between two of its samples; None where the others do not tell."""
    epoch, seconds = counted.epoch, end.time - begin.time
    told = [
        one.pace(epoch, begin.step, end.step) or one.pace_since(epoch, begin.step, seconds)
        for one in others
    ]
    paces = [pace for pace in told if pace is not None]
    if 2 * len(paces) < len(others) or seconds < STRETCH:
        return None
    steps = end.step - begin.step
    step, usual = seconds / steps, median(paces)
    if usual <= 0:
        return None
    course = counted.course
    confidence: Confidence = "guess"
    if step > max(paces) and _is_steady(counted, begin, end, STILL_SLOW * usual):
        confidence = "likely"
    return Straggler(
        (course.rank,), course.host, step / usual, step, usual, steps, seconds, confidence
    )


def _is_steady(counted: _Counted, begin: StepSample, end: StepSample, least: float) -> bool:
    """Whether a rank was slow all the time: in every third of it, and no less than that."""
    third = (end.step - begin.step) / 3
    bounds = [begin.step + round(third * part) for part in range(4)]
    paces = [counted.pace(counted.epoch, *pair) for pair in pairwise(bounds)]
    return all(pace is not None and pace >= least for pace in paces)


def _by_host(slow: Sequence[Straggler], known: Sequence[_Counted]) -> list[Straggler]:
    """The slow ranks with those of one host as one finding, where all of them are slow."""
    hosts: dict[str | None, list[Straggler]] = {}
    for one in slow:
        hosts.setdefault(one.host, []).append(one)
    found: list[Straggler] = []
    for host, members in hosts.items():
        ranks = [one for one in known if one.course.host == host]
        if host is None or len(members) < 2 or len(ranks) != len(members):
            found += members
            continue
        usual = min(members, key=lambda one: one.ratio)
        numbers_of = tuple(sorted(rank for one in members for rank in one.ranks))
        surely = all(one.confidence == "likely" for one in members)
        found.append(usual._replace(ranks=numbers_of, confidence="likely" if surely else "guess"))
    return found


def _made(samples: Sequence[StepSample]) -> int:
    return samples[-1].step - samples[0].step if samples else 0


def _pace(begin: StepSample, end: StepSample) -> float | None:
    seconds, steps = end.time - begin.time, end.step - begin.step
    return seconds / steps if steps > 0 and seconds >= STRETCH else None


def _spacing(course: StepCourse) -> int:
    """Steps from one line that tells one to the next, by the last two."""
    steps = [sample.step for sample in course.samples[-2:]]
    return max(1, steps[-1] - steps[0]) if len(steps) == 2 else 1


def _span(seconds: float) -> tuple[str, str]:
    if seconds < 120:
        return f"{seconds:.0f} s", f"{seconds:.0f} 秒"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min", f"{minutes} 分钟"
    return f"{minutes / 60:.1f} h", f"{minutes / 60:.1f} 小时"
