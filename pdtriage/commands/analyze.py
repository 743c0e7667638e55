"""`pdtriage analyze`: from logs to the culprit."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

from pdtriage.commands.aftermath import aftermath_of
from pdtriage.commands.verbs import (
    LANGUAGE,
    KeepOption,
    LanguageOption,
    NotifyOption,
    Parsers,
    answer_language,
)
from pdtriage.model import FAILURES, Language, Report
from pdtriage.report import FORMATS
from pdtriage.report.delivery import refuse_unwritable, targets_of
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.gc_pause import gc_paused, keep_until_exit
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from rich.progress import Progress

DEFAULT_PATHS = ("log",)
BAR_AFTER = 1.0
BAR_EVERY = 0.1
"""Seconds."""

Tick = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes there are."""


class ReaderChoice(str, Enum):
    local = "local"
    ray = "ray"


class When(str, Enum):
    auto = "auto"
    always = "always"
    never = "never"


Paths = Annotated[
    list[str] | None,
    Option(
        (),
        metavar="PATH",
        help=Text(
            "Folders, files, archives or URLs of logs; - for standard input. Without one: ./log",
            "日志文件夹、文件、压缩包或 URL；- 表示标准输入。不写则为 ./log",
        ),
    ),
]
RunOption = Annotated[
    str | None,
    Option(
        ("--run",),
        metavar="N|last",
        help=Text(
            "Which run, where a folder holds several. Default: the last.",
            "文件夹里有多次运行时分析哪一次。默认：最后一次。",
        ),
    ),
]
AllRuns = Annotated[
    bool,
    Option(("--all-runs",), help=Text("Every run, oldest first.", "从旧到新，每次运行都分析。")),
]
Formats = Annotated[
    list[str] | None,
    Option(
        ("--format", "-f"),
        metavar="FORMAT[=FILE]",
        help=Text(
            "Output format, with a file of its own after =. May be repeated. Default: as the name "
            f"of FILE says, else text. One of {', '.join(FORMATS)}.",
            "输出格式，= 后可指定文件。可多次给出。默认按 FILE 的文件名判断，否则为 text。"
            f"可选 {', '.join(FORMATS)}。",
        ),
    ),
]
Output = Annotated[
    Path | None,
    Option(
        ("--output", "-o"),
        metavar="FILE",
        help=Text("Write to FILE instead of the terminal.", "写入 FILE，而不是终端。"),
    ),
]
Quiet = Annotated[bool, Option(("--quiet", "-q"), help=Text("One line only.", "只输出一行。"))]
ExitZero = Annotated[
    bool,
    Option(
        ("--exit-zero",),
        help=Text("Exit with 0 even if a failure was found.", "即使发现失败也以 0 退出。"),
    ),
]
NoRedact = Annotated[
    bool,
    Option(("--no-redact",), help=Text("Do not mask secrets.", "不遮盖敏感信息。")),
]
BaselineOption = Annotated[
    str | None,
    Option(
        ("--baseline",),
        metavar="RUN|PATH",
        help=Text(
            "A good run to compare with. Default: the last earlier run that succeeded.",
            "用作对比的正常运行。默认：此前最近一次成功的运行。",
        ),
    ),
]
ExplainVerdict = Annotated[
    bool,
    Option(
        ("--explain-verdict",),
        help=Text(
            "Also say how the verdict came about: which rule and lines decided, which rules "
            "yielded, what would have changed it.",
            "同时说明结论如何得出：由哪条规则和哪些行决定，哪些规则让步，什么会改变结论。",
        ),
    ),
]
EngineOption = Annotated[
    ReaderChoice,
    Option(
        ("--engine",),
        help=Text(
            "Who reads the logs: this machine, or a Ray cluster.",
            "由谁读取日志：本机，或 Ray 集群。",
        ),
    ),
]
Address = Annotated[
    str | None,
    Option(
        ("--address",),
        metavar="HOST:PORT",
        help=Text(
            "The Ray cluster. Default: RAY_ADDRESS, else one on this machine.",
            "Ray 集群的地址。默认：RAY_ADDRESS，否则在本机启动一个。",
        ),
    ),
]
NoCache = Annotated[
    bool,
    Option(
        ("--no-cache",),
        help=Text(
            "Read every log anew, and keep nothing of it for the next time.",
            "重新读取所有日志，也不为下次保留结果。",
        ),
    ),
]
ColorOption = Annotated[
    When,
    Option(
        ("--color",),
        help=Text(
            "auto: on a terminal, unless NO_COLOR is set.",
            "auto：输出到终端且未设置 NO_COLOR 时着色。",
        ),
    ),
]


def analyze(
    paths: Paths = None,
    run: RunOption = None,
    all_runs: AllRuns = False,
    formats: Formats = None,
    output: Output = None,
    lang: LanguageOption = None,
    quiet: Quiet = False,
    exit_zero: ExitZero = False,
    parsers: Parsers = None,
    no_redact: NoRedact = False,
    baseline: BaselineOption = None,
    explain_verdict: ExplainVerdict = False,
    engine: EngineOption = ReaderChoice.local,
    address: Address = None,
    no_cache: NoCache = False,
    color: ColorOption = When.auto,
    history: KeepOption = None,
    notify: NotifyOption = None,
) -> int:
    from pdtriage.analysis.paths_from_here import with_paths_from_here
    from pdtriage.report.delivery import deliver, paths_to_retype

    which = _run(run, all_runs)
    if baseline is not None and all_runs:
        raise UserError(
            Text("give either --baseline or --all-runs", "--baseline 和 --all-runs 只能给一个")
        )
    if address is not None and engine is not ReaderChoice.ray:
        raise UserError(
            Text("--address goes with --engine ray", "--address 须与 --engine ray 一起使用")
        )
    if engine is ReaderChoice.ray:
        gc.enable()  # it rests while this machine reads; of what Ray leaves behind we know nothing
    targets = targets_of(formats or [], output, os.environ)
    refuse_unwritable(targets)
    aftermath = aftermath_of(history, notify)
    reports = _reports(
        tuple(paths) if paths else DEFAULT_PATHS,
        which,
        answer_language(lang),
        tuple(parsers or ()),
        not no_redact,
        baseline,
        explain_verdict,
        _Reading(engine, address, not no_cache),
    )
    reports = aftermath.keep(reports, paths or DEFAULT_PATHS)
    try:
        asked = paths_to_retype(paths or DEFAULT_PATHS)
        shown = [with_paths_from_here(report, paths or DEFAULT_PATHS) for report in reports]
        deliver(targets, shown, all_runs=all_runs, color=color.value, quiet=quiet, asked=asked)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(
            Text(f"cannot write the report: {error}", f"无法写出报告：{error}")
        ) from error
    aftermath.tell(reports[-1], paths or DEFAULT_PATHS)
    keep_until_exit(reports)
    has_failed = any(report.root_causes or report.verdict in FAILURES for report in reports)
    return exit_codes.FAILED if has_failed and not exit_zero else exit_codes.OK


class _Reading(NamedTuple):
    engine: ReaderChoice
    address: str | None
    cache: bool


def _reports(
    paths: Sequence[str],
    run: int | Literal["last", "all"],
    language: Language,
    parsers: Sequence[Path],
    redact: bool,
    baseline: str | None,
    explained: bool,
    reading: _Reading,
) -> Sequence[Report]:
    with gc_paused():  # imports make many objects, and none to collect
        from pdtriage.analysis import pipeline
        from pdtriage.reading import mapper_of

    mapper = mapper_of(
        reading.engine.value, reading.address, reading.cache, pipeline.prepare_judging
    )

    with reading_bar() as tick:
        if run == "all":
            return pipeline.analyze_all_runs(
                *paths,
                language=language,
                parsers=parsers,
                stdin=sys.stdin.buffer,
                redact=redact,
                tick=tick,
                mapper=mapper,
                explained=explained,
            )
        report = pipeline.analyze(
            *paths,
            run=run,
            language=language,
            parsers=parsers,
            stdin=sys.stdin.buffer,
            redact=redact,
            baseline=int(baseline) if baseline and baseline.isdecimal() else baseline,
            tick=tick,
            mapper=mapper,
            explained=explained,
        )
    return [report]


def _run(text: str | None, all_runs: bool) -> int | Literal["last", "all"]:
    if all_runs:
        if text is None:
            return "all"
        raise UserError(Text("give either --run or --all-runs", "--run 和 --all-runs 只能给一个"))
    if text is None or text == "last":
        return "last"
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise UserError(
        Text(
            f"--run {text}: give the number of a run (1 is the oldest) or last",
            f"--run {text}：请给出运行的序号（1 为最早）或 last",
        )
    )


@contextmanager
def reading_bar(
    stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Tick | None]:
    """A bar on the terminal while logs are read, once that takes longer than a second.

    Hands out what is to be called while reading; None where nobody would see it.
    """
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield None
        return
    bar = _Bar(stream, clock)
    try:
        yield bar.tick
    finally:
        bar.close()


class _Bar:
    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + BAR_AFTER
        self._progress: Progress | None = None

    def tick(self, done: int, whole: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + BAR_EVERY
        if self._progress is None:
            self._progress = self._start()
            what = Text("reading logs", "读取日志").in_(LANGUAGE)
            self._progress.add_task(what, total=None)
        task = self._progress.task_ids[0]
        # a compressed log is longer than its file: the bar waits at the end, it does not go back
        self._progress.update(task, completed=min(done, whole), total=whole or None)
        self._progress.refresh()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _start(self) -> Progress:
        """Shows the bar without a thread of its own: the reader may want to fork."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=False),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            transient=True,
            auto_refresh=False,
        )
        progress.start()
        return progress
