"""The pipeline in one place: sources → events → jobs → verdict → Report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from pdtriage.knowledge import load_knowledge
from pdtriage.knowledge.load import ENVIRONMENT_VARIABLE
from pdtriage.reading.local import Mapper, Tick, read_here, read_sources
from pdtriage.scan import Engine
from pdtriage.sources import SearchResult, Source, find
from pdtriage.sources.chained import join_pieces
from pdtriage.sources.remote.url import public_url
from pdtriage.support import exit_codes
from pdtriage.support.errors import UserError
from pdtriage.support.gc_pause import gc_paused, keep_until_exit
from pdtriage.support.language import Language, Text

if TYPE_CHECKING:  # what comes after reading is imported after the readers were forked
    from pdtriage.analysis.baseline import GoodRun
    from pdtriage.analysis.job import Job
    from pdtriage.model import FileFacts, Report

Which = int | Literal["last"]
BLANK_BYTES = 4096
"""A longer log is not looked at twice only to see that it says nothing."""


class NothingToAnalyse(UserError):  # noqa: N818 - reads as what it says
    """There is no log here; `message` says what was looked for and what to give instead."""

    exit_code = exit_codes.NOTHING


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
    explained: bool = False,
) -> Report:
    """The report on one run of the job whose logs lie at `paths` (default: `log`).

    `baseline` is a good run to compare it with: a number among the runs found, or another place.
    Without one it is the last earlier run that succeeded, if there is any. `tick` is told how many
    bytes were read, of how many; `mapper` (see `pdtriage.reading`) says who reads them. `explained`
    adds how the verdict came about.
    """
    job = job_at(paths, parsers, stdin, tick, mapper)
    good = None if baseline is None else _good_run(baseline, job, parsers, mapper)
    return job.report(run, language, redact, good, explained)


def analyze_all_runs(
    *paths: str | Path,
    language: Language = "en",
    parsers: Sequence[Path] = (),
    stdin: BinaryIO | None = None,
    redact: bool = True,
    tick: Tick | None = None,
    mapper: Mapper | None = None,
    explained: bool = False,
) -> list[Report]:
    """One report per run found, oldest first."""
    job = job_at(paths, parsers, stdin, tick, mapper)
    return [
        job.report(facts.run.index, language, redact, explained=explained) for facts in job.runs
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
    found = found._replace(sources=join_pieces(found.sources))
    mapper = mapper or partial(read_here, meanwhile=prepare_judging)
    facts, records, notes = read_sources(found, engine, tick=tick, mapper=mapper)
    prepare_judging()
    from pdtriage.analysis.job import Job
    from pdtriage.runs.assemble import assemble

    with gc_paused():
        runs = assemble(facts, records, engine.knowledge)
    noted = (*found.notes, *notes)
    if not runs:
        raise NothingToAnalyse(_nothing(paths), notes=noted)
    if notes and not records and _nothing_read(facts):
        raise NothingToAnalyse(_unreadable(paths), notes=noted)
    seams = {file.file.path: file.seams for file in facts if file.seams}
    job = Job(runs, engine.knowledge, noted, found.sources, seams, engine)
    job.look_for_life()
    if found.doubtful and not any(judgement.causes for judgement in job.judgements):
        # logs of something else, for all we know
        raise NothingToAnalyse(_nothing(paths), notes=noted)
    keep_until_exit(facts, found, job)
    return job


def prepare_judging() -> None:
    """Import what comes after reading; where other processes read, this one has time for it."""
    with gc_paused():
        import pdtriage.analysis.job
        import pdtriage.runs.assemble  # noqa: F401


def _good_run(
    baseline: int | str | Path, job: Job, parsers: Sequence[Path], mapper: Mapper | None
) -> GoodRun:
    if isinstance(baseline, int):
        return job.good_run(baseline)
    from pdtriage.analysis.baseline import baseline_without_success, last_success

    other = job_at([baseline], parsers, None, mapper=mapper)
    shown = public_url(str(baseline))
    good = last_success(other.runs, other.judgements, shown, other.sources)
    if good is None:
        raise NothingToAnalyse(baseline_without_success(shown))
    return good


@lru_cache(maxsize=2)
@gc_paused()
def _engine(parsers: tuple[Path, ...], _environment: str) -> Engine:
    """Compiled once for a notebook that analyses folder after folder."""
    return Engine(load_knowledge(parsers))


def _refuse_nothing(found: SearchResult, paths: Sequence[str | Path]) -> None:
    if found.sources and not all(map(_is_blank, found.sources)):
        return
    if found.missing:
        missing = ", ".join(found.missing)
        raise NothingToAnalyse(
            Text(
                f"{missing}: no such file or folder; give the log folder of the job "
                "(paddle.distributed.launch writes ./log by default)",
                f"{missing}：文件或目录不存在；请指定任务的日志目录"
                "（paddle.distributed.launch 默认写入 ./log）",
            ),
            notes=found.notes,
        )
    raise NothingToAnalyse(_nothing(paths), notes=found.notes)


def _is_blank(source: Source) -> bool:
    """A console that says nothing at all; an empty workerlog does say that its rank was silent."""
    if source.file.kind != "console" or (source.file.size or 0) > BLANK_BYTES:
        return False
    said = source.read_small(BLANK_BYTES + 1)
    return len(said) <= BLANK_BYTES and not said.strip()


def _nothing_read(facts: Sequence[FileFacts]) -> bool:
    """Not one byte came out of the files: what failed to be read is no run that went well."""
    return not any(file.bytes or file.pods or file.endpoints for file in facts)


def _unreadable(paths: Sequence[str | Path]) -> Text:
    where = _display(paths)
    return Text(
        f"{where}: nothing of what is there could be read", f"{where}：其中的内容都无法读取"
    )


def _nothing(paths: Sequence[str | Path]) -> Text:
    where = _display(paths)
    return Text(
        f"{where}: no Paddle log found there; give a folder with workerlog.*, a captured console, "
        "or an archive of them",
        f"{where}：未找到 Paddle 日志；请指定含 workerlog.* 的目录、控制台输出文件或其归档",
    )


def _display(paths: Sequence[str | Path]) -> str:
    return ", ".join(public_url(str(path)) for path in paths) or "log"
