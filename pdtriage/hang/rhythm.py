"""Whether a job stands still, by its own rhythm so far. Pure: whoever looks says when it is.

What counts as movement is a step, a line, or data that a rank reads or writes by the megabyte (a
checkpoint is silent and no hang). How long a job may stand still is learned from its steps: a
multiple of the usual one, for evaluations and checkpoints that have not been seen yet, and of the
longest pause it came out of; a little more than the one before its first step. Before enough steps
were seen, a job loads, compiles or says nothing of its steps: then only the upper limit counts.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from pdtriage.model import Progress
from pdtriage.support.fast_namedtuple import NamedTuple

LEAST_STEPS = 5
"""Pauses between steps that have to be seen before there is a rhythm."""
OF_USUAL = 200.0
"""An evaluation may take thirty steps and a checkpoint sixty, one right behind the other, of steps
twice as long as those seen so far."""
OF_LONGEST = 3.0
BEYOND_LONGEST = 1.5
"""The upper limit does not cut what the job was seen to come out of, and some more."""
LINES_ONLY = 2.0
"""Lines that come while no step does may be those of an evaluation: twice the patience."""
MOVED_BYTES = 1 << 20
MOST_PAUSES = 512


class HangLimits(NamedTuple):
    """Seconds: an alarm comes never before the first, and as a rule not after the second."""

    floor: float = 60.0
    ceiling: float = 1800.0

    @property
    def off(self) -> bool:
        return self.ceiling <= 0


def parse_limits(text: str) -> HangLimits:
    """`300`: after so many seconds, whatever the rhythm; `60:1800`: learned, between these; `0`:
    never. ValueError for anything else."""
    first, colon, second = text.strip().partition(":")
    floor = float(first)
    ceiling = float(second) if colon else floor
    if not 0 <= floor <= ceiling < float("inf"):
        raise ValueError(text)
    return HangLimits(floor, ceiling)


class RankSample(NamedTuple):
    """How far one rank is; what is not known is None or 0."""

    position: tuple[int, int] | None = None
    """Epoch and step."""
    size: float = 0.0
    """Whatever changes when it writes a line: bytes of its log, or when it last grew."""
    moved_bytes: int = 0
    """It has read and written so far."""


class RhythmState(NamedTuple):
    """What can be said now."""

    still: float
    """Seconds since anything moved."""
    limit: float
    """Seconds that this job may stand still."""
    learned: bool
    stepless: float
    """Seconds since a step, or data that a rank read or wrote."""

    @property
    def stands(self) -> bool:
        return self.still >= self.limit


class JobRhythm:
    """Learns from one look after the other at all ranks of one attempt on this node."""

    def __init__(self, limits: HangLimits, now: float) -> None:
        self._limits = limits
        self._seen: dict[int, RankSample] = {}
        self._stepped_at = self._moved_at = self._busy_at = self._looked_at = now
        self._wrote_at = now
        self._longest = self._start_up = 0.0
        self._pauses: list[float] = []
        self._order: list[float] = []

    def look(self, now: float, samples: Mapping[int, RankSample]) -> RhythmState:
        """Take in how far the ranks are now, by their pids."""
        away = now - self._looked_at
        if away > self._limits.floor > 0 and away > 10:
            # Nobody looked: the machine slept, or we were stopped. It does not count.
            self._stepped_at += away
            self._moved_at += away
            self._busy_at += away
            self._wrote_at += away
        self._looked_at = now
        samples = {pid: self._with_position(pid, sample) for pid, sample in samples.items()}
        if self._has_written(samples):
            self._wrote_at = self._moved_at = now
        if self._is_busy(samples):
            self._moved_at = self._busy_at = now
        if steps := self._steps_made(samples):
            self._take_steps(steps)
        self._seen = samples
        return self.state(now)

    def _with_position(self, pid: int, sample: RankSample) -> RankSample:
        """The sample; whoever reads the logs may be late, and nothing moves when it is back."""
        before = self._seen.get(pid)
        if sample.position is not None or before is None:
            return sample
        return sample._replace(position=before.position)

    def _take_steps(self, steps: int) -> None:
        """Steps are known when their lines have been read; made they were when these came."""
        if self._wrote_at > self._stepped_at:
            self._learn(self._wrote_at - self._stepped_at, steps)
            self._stepped_at = self._wrote_at

    def state(self, now: float) -> RhythmState:
        limit = self.limit
        still, stepless = now - self._moved_at, now - max(self._stepped_at, self._busy_at)
        if self.has_learned and stepless >= LINES_ONLY * limit:
            still = max(still, stepless)
        return RhythmState(still, limit, self.has_learned, stepless)

    @property
    def has_learned(self) -> bool:
        return len(self._order) >= LEAST_STEPS

    @property
    def limit(self) -> float:
        floor, ceiling = self._limits
        if floor == ceiling:
            return ceiling
        if not self.has_learned:
            return max(ceiling, BEYOND_LONGEST * max(self._longest, self._start_up))
        usual = self._order[len(self._order) // 2]
        came_out_of = BEYOND_LONGEST * max(self._longest, self._start_up)
        wanted = max(OF_USUAL * usual, OF_LONGEST * self._longest, came_out_of)
        return max(floor, min(wanted, max(ceiling, came_out_of)))

    def _steps_made(self, samples: Mapping[int, RankSample]) -> int:
        """How many steps the rank that made most has made; a counter that restarted has moved as
        well."""
        made = 0
        for pid, sample in samples.items():
            before = self._seen.get(pid)
            if sample.position is None or before is None or sample.position == before.position:
                continue
            if before.position is None or before.position[0] != sample.position[0]:
                made = max(made, 1)
            else:
                made = max(made, 1, sample.position[1] - before.position[1])
        return min(made, LEAST_STEPS)

    def _has_written(self, samples: Mapping[int, RankSample]) -> bool:
        if self._seen.keys() - samples.keys():
            return True  # one has ended
        return any(
            (before := self._seen.get(pid)) is None or sample.size != before.size
            for pid, sample in samples.items()
        )

    def _is_busy(self, samples: Mapping[int, RankSample]) -> bool:
        """Whether a process is busy with data: it loads, or saves a checkpoint."""
        return any(
            (before := self._seen.get(pid)) is not None
            and sample.moved_bytes - before.moved_bytes >= MOVED_BYTES
            for pid, sample in samples.items()
        )

    def _learn(self, pause: float, steps: int) -> None:
        if not self._pauses and not self._start_up:
            self._start_up = pause
            return
        self._longest = max(self._longest, pause)
        for _ in range(steps):  # more than one where they come faster than looks
            insort(self._order, pause / steps)
            self._pauses.append(pause / steps)
        while len(self._pauses) > MOST_PAUSES:
            self._order.remove(self._pauses.pop(0))


def rhythm_of(progress: Sequence[Progress]) -> float | None:
    """Seconds from one line that tells a step to the next, at the pace of the whole log.

    Only some of these lines are known; the last two are neighbours.
    """
    paces = [
        (later.time - earlier.time) / (later.step - earlier.step)
        for earlier, later in pairwise(progress)
        if later.time is not None
        and earlier.time is not None
        and later.step > earlier.step
        and later.epoch == earlier.epoch
        and later.time > earlier.time
    ]
    if not paces or progress[-1].step <= progress[-2].step:
        return None
    return median(paces) * (progress[-1].step - progress[-2].step)
