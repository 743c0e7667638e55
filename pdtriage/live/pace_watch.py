"""Warns while a job runs of ranks whose steps take longer than those of the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.hang.stragglers import StepSample
    from pdtriage.live.followed_log import FollowedLog

COMPARE_EVERY = 15.0
MOST_SAMPLES = 400
"""Of a rank: the last minutes, at a look a second."""
LEAST_SECONDS = 60.0
"""So long a rank has to be slow before anybody is told."""


class PaceWatch:
    """Keeps when each rank told which step, by our clock, and compares them now and then."""

    def __init__(self) -> None:
        self._samples: dict[int, list[StepSample]] = {}
        self._hosts: dict[int, str | None] = {}
        self._told: set[int] = set()
        self._compared_at = 0.0

    def look(self, now: float, logs: Iterable[FollowedLog]) -> list[Text]:
        """Warnings that were not given before."""
        for log in logs:
            self._take(log)
        if now - self._compared_at < COMPARE_EVERY:
            return []
        self._compared_at = now
        return self._compare()

    def _take(self, log: FollowedLog) -> None:
        from pdtriage.hang.stragglers import StepSample

        process, step = log.process, log.step
        if process is None or step is None or process.role != "worker" or process.rank is None:
            return
        samples = self._samples.setdefault(process.rank, [])
        if samples and (samples[-1].epoch, samples[-1].step) == (step.epoch, step.step):
            return
        self._hosts[process.rank] = (process.endpoint or "").rpartition(":")[0] or None
        samples.append(StepSample(log.grown, step.step, step.epoch, step.total))
        del samples[:-MOST_SAMPLES]

    def _compare(self) -> list[Text]:
        from pdtriage.hang.stragglers import StepCourse, straggler_text, stragglers_of

        courses = [
            StepCourse(rank, self._hosts[rank], tuple(samples))
            for rank, samples in self._samples.items()
        ]
        warnings = []
        for found in stragglers_of(courses):
            new = found.confidence == "likely" and found.seconds >= LEAST_SECONDS
            if new and not self._told.issuperset(found.ranks):
                self._told.update(found.ranks)
                warnings.append(straggler_text(found, ended=False))
        return warnings
