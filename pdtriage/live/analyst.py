"""Judges a launch with the same pipeline as `pdtriage analyze`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.bilingual import Language
from pdtriage.launch.outcome import Conclusion
from pdtriage.launch.record import RunRecord
from pdtriage.live.ears import Ears

if TYPE_CHECKING:
    # A launcher starts without the nouns of the analysis.
    from pdtriage.model import Exit, Report, RunFacts


class LiveAnalyst:
    """Asks the ears, which have read every log by the time somebody wants to know."""

    def __init__(self, ears: Ears, folder: str, language: Language) -> None:
        self._ears = ears
        self._folder = folder
        self._language = language
        self.report: Report | None = None
        """The last judgement."""

    def facts(self, record: RunRecord) -> Mapping[str, object]:
        from pdtriage.live.peers import told

        report, run = self._judge(record)
        return told(run, report)

    def conclude(self, record: RunRecord) -> Conclusion:
        report, run = self._judge(record)
        self.report = report
        if record.reason == "interrupted":
            return Conclusion("interrupted")
        if not report.root_causes:
            return Conclusion(report.verdict)
        cause = report.root_causes[0]
        ending = _exit_of(run, cause.role, cause.rank)
        return Conclusion(
            report.verdict,
            cause.ranks,
            code=ending.code if ending else None,
            signal=ending.signal if ending else None,
            stopped=bool(ending and ending.stopped),
            role=cause.role,
        )

    def _judge(self, record: RunRecord) -> tuple[Report, RunFacts]:
        from pdtriage.sources.shown import roots_shown

        shown = roots_shown([self._folder])[0]
        return self._ears.judged(record, shown, self._language)


def _exit_of(run: RunFacts, role: str, rank: int | None) -> Exit | None:
    return next((r.exit for r in run.ranks if r.role == role and r.rank == rank), None)
