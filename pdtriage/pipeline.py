"""The pipeline in one place: sources → events → jobs → verdict → Report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal

from pdtriage.events import Engine, scan, side_facts
from pdtriage.events.sidefiles import MOST_BYTES
from pdtriage.jobs import assemble
from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.launch.record import RunRecord, parse_record
from pdtriage.model import (
    FileFacts,
    JobRow,
    Language,
    Report,
    Run,
    RunFacts,
    Text,
)
from pdtriage.sources import Found, Source, find
from pdtriage.verdict import Judgement, judge
from pdtriage.verdict.timeline import timeline_of

SIDE_KINDS = frozenset({"endpoints", "pod", "env", "backup_env"})
UNREAD_KINDS = frozenset({"gpu", "other"})

Which = int | Literal["last"]


class NothingToAnalyse(Exception):  # noqa: N818 - reads as what it says
    """There is no log here; `message` says what was looked for and what to give instead."""

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message


class NoSuchRun(NothingToAnalyse):
    """The run asked for is not among those found."""


def analyze(
    *paths: str | Path,
    run: Which = "last",
    language: Language = "en",
    parsers: Sequence[Path] = (),
    stdin: BinaryIO | None = None,
    redact: bool = True,
) -> Report:
    """The report on one run of the job whose logs lie at `paths` (default: `log`)."""
    job = _Job(paths, parsers, stdin)
    return job.report(run, language, redact)


def analyze_all_runs(
    *paths: str | Path,
    language: Language = "en",
    parsers: Sequence[Path] = (),
    stdin: BinaryIO | None = None,
    redact: bool = True,
) -> list[Report]:
    """One report per run found, oldest first."""
    job = _Job(paths, parsers, stdin)
    return [job.report(facts.run.index, language, redact) for facts in job.runs]


class _Job:
    """What was read and judged of one job; reports on its runs are cut from it."""

    def __init__(
        self, paths: Sequence[str | Path], parsers: Sequence[Path], stdin: BinaryIO | None
    ) -> None:
        self.knowledge = load_knowledge(parsers)
        found = find(list(paths) or ["log"], stdin)
        _refuse_nothing(found, paths)
        facts, records, notes = _read(found, self.knowledge)
        self.runs = assemble(facts, records)
        if not self.runs:
            raise NothingToAnalyse(_nothing(paths))
        self.judgements = [judge(run, self.knowledge) for run in self.runs]
        problems = tuple(Text(problem, problem) for problem in self.knowledge.problems)
        self.notes = (*found.notes, *notes, *problems)

    def report(self, which: Which, language: Language, redact: bool) -> Report:
        from pdtriage.report.redact import redacted

        chosen = self._index(which)
        facts, judgement = self.runs[chosen], self.judgements[chosen]
        report = Report(
            verdict=judgement.verdict,
            language=language,
            job=JobRow(facts.job_id, facts.mode, facts.started_by, facts.world_size, facts.nodes),
            runs=tuple(self._rows()),
            run=facts.run.index,
            root_causes=judgement.causes,
            victims=judgement.victims,
            ranks=judgement.ranks,
            timeline=timeline_of(facts, judgement, self.knowledge),
            notes=tuple(dict.fromkeys((*facts.notes, *self.notes))),
        )
        return redacted(report) if redact else report

    def _index(self, which: Which) -> int:
        if which == "last":
            return len(self.runs) - 1
        if 1 <= which <= len(self.runs):
            return which - 1
        count = len(self.runs)
        raise NoSuchRun(
            Text(
                f"there is no run {which}: {count} found, numbered from 1 (the oldest)",
                f"没有第 {which} 次运行：共找到 {count} 次，从 1（最早）开始编号",
            )
        )

    def _rows(self) -> list[Run]:
        return [
            replace(facts.run, verdict=judgement.verdict)
            for facts, judgement in zip(self.runs, self.judgements, strict=True)
        ]


def _read(
    found: Found, knowledge: Knowledge
) -> tuple[list[FileFacts], list[tuple[str, RunRecord]], list[Text]]:
    engine = Engine(knowledge)
    facts: list[FileFacts] = []
    records: list[tuple[str, RunRecord]] = []
    notes: list[Text] = []
    for source in found.sources:
        kind = source.file.kind
        if kind in UNREAD_KINDS:
            continue
        if kind == "record":
            record = parse_record(source.read_small(MOST_BYTES), source.file.path)
            if record is not None:
                records.append((source.file.folder, record))
        elif kind in SIDE_KINDS:
            facts.append(side_facts(source.file, source.read_small(MOST_BYTES)))
        else:
            facts.append(scan(source.file, source.chunks(), engine))
        notes.extend(_notes(source))
    return facts, records, notes


def _notes(source: Source) -> tuple[Text, ...]:
    return tuple(source.notes())


def _refuse_nothing(found: Found, paths: Sequence[str | Path]) -> None:
    if found.sources:
        return
    if found.missing:
        missing = ", ".join(found.missing)
        raise NothingToAnalyse(
            Text(
                f"{missing}: no such file or folder; give the log folder of the job "
                "(paddle.distributed.launch writes ./log by default)",
                f"{missing}：文件或目录不存在；请指定作业的日志目录"
                "（paddle.distributed.launch 默认写入 ./log）",
            )
        )
    raise NothingToAnalyse(_nothing(paths))


def _nothing(paths: Sequence[str | Path]) -> Text:
    where = ", ".join(str(path) for path in paths) or "log"
    return Text(
        f"{where}: no Paddle log found there; give a folder with workerlog.*, a captured console, "
        "or an archive of them",
        f"{where}：未找到 Paddle 日志；请指定含 workerlog.* 的目录、控制台输出文件或其归档",
    )


__all__ = ["Judgement", "NoSuchRun", "NothingToAnalyse", "RunFacts", "analyze", "analyze_all_runs"]
