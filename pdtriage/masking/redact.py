"""Secrets out of a report: `redacted(report)` masks them and counts what it masked."""

from __future__ import annotations

from collections.abc import Iterable

from pdtriage.masking.secrets import MASK, masked_text
from pdtriage.model import (
    Cause,
    Difference,
    Evidence,
    Frame,
    Moment,
    ProcessStack,
    RankRow,
    Report,
    Run,
    Standstill,
    Text,
    VerdictExplanation,
)

__all__ = ["MASK", "mask_secrets", "masked_text"]


def sentences_of(runs: Iterable[Run]) -> tuple[Text, ...]:
    """What rows of runs say in words; thousands of runs say the same few things."""
    said: dict[Text, None] = {}
    for run in runs:
        if run.cause is not None:
            said[run.cause.title] = None
        if run.restart is not None:
            said[run.restart.why] = None
    return tuple(said)


def mask_secrets(report: Report, of_runs: tuple[Text, ...] | None = None) -> Report:
    """The same report with every secret masked; `redactions` says how many there were.

    `of_runs`: the sentences of its runs, where they are known.
    """
    masker = _Masker()
    of_runs = sentences_of(report.runs) if of_runs is None else of_runs
    masked = report._replace(
        job=report.job._replace(id=report.job.id and masker.text(report.job.id)),
        root_causes=tuple(masker.cause(cause) for cause in report.root_causes),
        ranks=masker.rows(report.ranks),
        timeline=masker.moments(report.timeline),
        notes=masker.sentences(report.notes),
        differences=tuple(masker.difference(found) for found in report.differences),
        attempts=report.attempts
        and report.attempts._replace(summary=masker.sentence(report.attempts.summary)),
        runs=masker.runs(report.runs, of_runs),
        standstill=report.standstill and masker.standstill(report.standstill),
        explanation=report.explanation and masker.explanation(report.explanation),
    )
    return masked._replace(redactions=report.redactions + masker.count)


class _Masker:
    """Masks the nouns of a report and counts over all of them; a repeated text counts once."""

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[str, str] = {}
        self._sentences: dict[Text, Text] = {}

    def text(self, text: str) -> str:
        if text not in self._known:
            self._known[text], found = masked_text(text)
            self.count += found
        return self._known[text]

    def sentence(self, text: Text) -> Text:
        if text not in self._sentences:
            english = self.text(text.en)
            before = self.count
            chinese = self.text(text.zh)
            self.count = before  # the same secret, told twice
            self._sentences[text] = Text(english, chinese)
        return self._sentences[text]

    def sentences(self, texts: Iterable[Text]) -> tuple[Text, ...]:
        return tuple(self.sentence(text) for text in texts)

    def moments(self, moments: tuple[Moment, ...]) -> tuple[Moment, ...]:
        return tuple(moment._replace(text=self.sentence(moment.text)) for moment in moments)

    def rows(self, rows: tuple[RankRow, ...]) -> tuple[RankRow, ...]:
        """Thousands of ranks say the same few things, and mostly there is nothing to mask."""
        said = dict.fromkeys([moment.text for row in rows for moment in row.moments])
        if all(self.sentence(text) == text for text in said):
            return rows
        return tuple([row._replace(moments=self.moments(row.moments)) for row in rows])

    def runs(self, runs: tuple[Run, ...], said: tuple[Text, ...]) -> tuple[Run, ...]:
        if all(self.sentence(text) == text for text in said):
            return runs
        return tuple(map(self.run, runs))

    def run(self, run: Run) -> Run:
        if run.cause is None and run.restart is None:
            return run
        cause = run.cause and run.cause._replace(title=self.sentence(run.cause.title))
        restart = run.restart and run.restart._replace(why=self.sentence(run.restart.why))
        return run._replace(cause=cause, restart=restart)

    def difference(self, found: Difference) -> Difference:
        return found._replace(
            text=self.sentence(found.text),
            before=found.before and self.text(found.before),
            after=found.after and self.text(found.after),
            place=found.place and self.text(found.place),
        )

    def evidence(self, evidence: Evidence) -> Evidence:
        """Lines together, because a private key goes over several."""
        before, after = len(evidence.before), len(evidence.after)
        lines = [*evidence.before, evidence.text, *evidence.after]
        if any("\n" in line for line in lines):
            masked = [self.text(line) for line in lines]
        else:
            masked = self.text("\n".join(lines)).split("\n")
        return evidence._replace(
            file=self.text(evidence.file),
            before=tuple(masked[:before]),
            text=masked[before],
            after=tuple(masked[before + 1 : before + 1 + after]),
        )

    def frame(self, frame: Frame | None) -> Frame | None:
        return None if frame is None else frame._replace(file=self.text(frame.file))

    def standstill(self, taken: Standstill) -> Standstill:
        return taken._replace(stacks=tuple(map(self.stack, taken.stacks)))

    def stack(self, stack: ProcessStack) -> ProcessStack:
        frames = [f._replace(file=self.text(f.file)) for f in stack.frames]
        return stack._replace(frames=tuple(frames))

    def cause(self, cause: Cause) -> Cause:
        return cause._replace(
            title=self.sentence(cause.title),
            why=self.sentences(cause.why),
            evidence=tuple(self.evidence(evidence) for evidence in cause.evidence),
            fields={name: self.text(value) for name, value in cause.fields.items()},
            advice=self.sentences(cause.advice),
            frame=self.frame(cause.frame),
        )

    def explanation(self, explanation: VerdictExplanation) -> VerdictExplanation:
        return explanation._replace(
            evidence=tuple(map(self.evidence, explanation.evidence)),
            set_aside=tuple(
                aside._replace(evidence=self.evidence(aside.evidence))
                for aside in explanation.set_aside
            ),
            changes=tuple(
                change._replace(given=self.sentence(change.given)) for change in explanation.changes
            ),
        )
