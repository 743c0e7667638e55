"""The pipeline in one place: sources → events → jobs → verdict → Report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Literal

from pdtriage.baseline import GoodRun, earlier_success, last_success, no_success, unproven
from pdtriage.collector import collector_at_rest
from pdtriage.comparing import Side, unlike_lines
from pdtriage.events import Engine
from pdtriage.jobs.assemble import assemble
from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.knowledge.load import ENVIRONMENT_VARIABLE
from pdtriage.model import (
    Baseline,
    Difference,
    JobRow,
    Language,
    Report,
    Run,
    RunFacts,
    Text,
    VerdictWord,
)
from pdtriage.reading import SIDE_KINDS, Mapper, Tick, read_sources
from pdtriage.sources import Found, Source, find
from pdtriage.sources.url import in_public
from pdtriage.verdict import Judgement, judge, signatures_told
from pdtriage.verdict.attempts import attempts_of, row_of
from pdtriage.verdict.differences import differences_between, differences_of_ranks
from pdtriage.verdict.lives import with_lives
from pdtriage.verdict.timeline import timeline_of

Which = int | Literal["last"]
BLANK_BYTES = 4096
"""A longer log is not looked at twice only to see that it says nothing."""


class NothingToAnalyse(Exception):  # noqa: N818 - reads as what it says
    """There is no log here; `message` says what was looked for and what to give instead.

    `notes` say what was there and could not be used.
    """

    def __init__(self, message: Text, notes: Sequence[Text] = ()) -> None:
        super().__init__(message.en)
        self.message = message
        self.notes = tuple(dict.fromkeys(notes))


class NoSuchRun(NothingToAnalyse):
    """The run asked for is not among those found."""


def analyze(
    *paths: str | Path,
    run: Which = "last",
    language: Language = "en",
    parsers: Sequence[Path] = (),
    stdin: BinaryIO | None = None,
    redact: bool = True,
    baseline: int | str | Path | None = None,
    tick: Tick | None = None,
    mapper: Mapper | None = None,
) -> Report:
    """The report on one run of the job whose logs lie at `paths` (default: `log`).

    `baseline` is a good run to compare it with: a number among the runs found, or another place.
    Without one it is the last earlier run that succeeded, if there is any. `tick` is told how many
    bytes were read, of how many; `mapper` (see `pdtriage.mapping`) says who reads them.
    """
    job = job_at(paths, parsers, stdin, tick, mapper)
    good = None if baseline is None else _good_run(baseline, job, parsers, mapper)
    return job.report(run, language, redact, good)


def analyze_all_runs(
    *paths: str | Path,
    language: Language = "en",
    parsers: Sequence[Path] = (),
    stdin: BinaryIO | None = None,
    redact: bool = True,
    tick: Tick | None = None,
    mapper: Mapper | None = None,
) -> list[Report]:
    """One report per run found, oldest first."""
    job = job_at(paths, parsers, stdin, tick, mapper)
    return [job.report(facts.run.index, language, redact) for facts in job.runs]


class Job:
    """The runs of one job, oldest first, judged; reports on them are cut from it."""

    @collector_at_rest()
    def __init__(
        self,
        runs: Sequence[RunFacts],
        knowledge: Knowledge,
        notes: Sequence[Text] = (),
        sources: Sequence[Source] = (),
    ) -> None:
        """`sources` are the logs, to be looked into again when runs are compared."""
        self.runs = runs
        self.sources = {source.file.path: source for source in sources}
        self.knowledge = knowledge
        self.judgements = [judge(run, knowledge) for run in runs]
        self.notes = (*notes, *knowledge.problems)

    @collector_at_rest()
    def report(
        self, which: Which, language: Language, redact: bool = True, good: GoodRun | None = None
    ) -> Report:
        from pdtriage.report.redact import redacted

        chosen = self._index(which)
        facts, judgement = self.runs[chosen], self.judgements[chosen]
        good = good or earlier_success(self.runs, self.verdicts, chosen)
        unlike, compared = self._unlike(facts, judgement, good) if good else ((), ())
        rows = self._rows()
        report = Report(
            verdict=judgement.verdict,
            language=language,
            job=JobRow(facts.job_id, facts.mode, facts.started_by, facts.world_size, facts.nodes),
            runs=tuple(rows),
            run=facts.run.index,
            root_causes=judgement.causes,
            victims=judgement.victims,
            ranks=with_lives(judgement.ranks, judgement.readings),
            timeline=timeline_of(facts, judgement, self.knowledge),
            notes=tuple(dict.fromkeys((*facts.notes, *self.notes, *compared))),
            baseline=good.baseline if good else None,
            differences=(*unlike, *differences_of_ranks(facts)),
            attempts=attempts_of(rows, rows[chosen]),
        )
        return redacted(report) if redact else report

    @property
    def verdicts(self) -> list[VerdictWord]:
        return [judgement.verdict for judgement in self.judgements]

    def good_run(self, number: int) -> GoodRun:
        """A run of this very job, by its number."""
        facts = self.runs[self._index(number)]
        return GoodRun(Baseline(facts.run.index), facts)

    def _unlike(
        self, facts: RunFacts, judgement: Judgement, good: GoodRun
    ) -> tuple[tuple[Difference, ...], tuple[Text, ...]]:
        theirs = self.sources if good.sources is None else good.sources
        ours = Side(facts, self.sources)
        lines, notes = unlike_lines(ours, judgement, Side(good.facts, theirs))
        if not good.proven:
            notes = (*notes, unproven(good))
        told = signatures_told(judgement) | {event.signature for _, event in facts.launcher}
        return differences_between(facts, good.facts, self.knowledge, told, lines), notes

    def _index(self, which: Which) -> int:
        if which == "last":
            # a pod that was started again alone is no run of the job
            whole = [place for place, facts in enumerate(self.runs) if not facts.partial]
            return whole[-1] if whole else len(self.runs) - 1
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
            row_of(facts, judgement, newest=facts is self.runs[-1])
            for facts, judgement in zip(self.runs, self.judgements, strict=True)
        ]


def job_at(
    paths: Sequence[str | Path],
    parsers: Sequence[Path] = (),
    stdin: BinaryIO | None = None,
    tick: Tick | None = None,
    mapper: Mapper | None = None,
) -> Job:
    """The runs found at `paths`, judged; what is behind a pipe is read here, and only once."""
    engine = _engine(tuple(parsers), os.environ.get(ENVIRONMENT_VARIABLE, ""))
    found = find(list(paths) or ["log"], stdin, tick=lambda: tick(0, 0) if tick else None)
    _refuse_nothing(found, paths)
    facts, records, notes = read_sources(found, engine, tick=tick, mapper=mapper)
    with collector_at_rest():
        runs = assemble(facts, records, engine.knowledge)
    noted = (*found.notes, *notes)
    if not runs:
        raise NothingToAnalyse(_nothing(paths), noted)
    return Job(runs, engine.knowledge, noted, found.sources)


def _good_run(
    baseline: int | str | Path, job: Job, parsers: Sequence[Path], mapper: Mapper | None
) -> GoodRun:
    if isinstance(baseline, int):
        return job.good_run(baseline)
    other = job_at([baseline], parsers, None, mapper=mapper)
    shown = in_public(str(baseline))
    good = last_success(other.runs, other.judgements, shown, other.sources)
    if good is None:
        raise NothingToAnalyse(no_success(shown))
    return good


@lru_cache(maxsize=2)
def _engine(parsers: tuple[Path, ...], _environment: str) -> Engine:
    """Compiled once for a notebook that analyses folder after folder."""
    return Engine(load_knowledge(parsers))


def _refuse_nothing(found: Found, paths: Sequence[str | Path]) -> None:
    if found.sources and not all(map(_is_blank, found.sources)):
        return
    if found.missing:
        missing = ", ".join(found.missing)
        raise NothingToAnalyse(
            Text(
                f"{missing}: no such file or folder; give the log folder of the job "
                "(paddle.distributed.launch writes ./log by default)",
                f"{missing}：文件或目录不存在；请指定作业的日志目录"
                "（paddle.distributed.launch 默认写入 ./log）",
            ),
            found.notes,
        )
    raise NothingToAnalyse(_nothing(paths), found.notes)


def _is_blank(source: Source) -> bool:
    """A console that says nothing at all; an empty workerlog does say that its rank was silent."""
    if source.file.kind != "console" or (source.file.size or 0) > BLANK_BYTES:
        return False
    said = source.read_small(BLANK_BYTES + 1)
    return len(said) <= BLANK_BYTES and not said.strip()


def _nothing(paths: Sequence[str | Path]) -> Text:
    where = ", ".join(in_public(str(path)) for path in paths) or "log"
    return Text(
        f"{where}: no Paddle log found there; give a folder with workerlog.*, a captured console, "
        "or an archive of them",
        f"{where}：未找到 Paddle 日志；请指定含 workerlog.* 的目录、控制台输出文件或其归档",
    )


__all__ = [
    "SIDE_KINDS",
    "Job",
    "Judgement",
    "NoSuchRun",
    "NothingToAnalyse",
    "RunFacts",
    "analyze",
    "analyze_all_runs",
    "job_at",
    "read_sources",
]
