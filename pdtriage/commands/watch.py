"""`pdtriage watch`: look on while a job runs that something else started."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

from pdtriage.commands.aftermath import aftermath_of
from pdtriage.commands.verbs import (
    KeepOption,
    LanguageOption,
    NotifyOption,
    Parsers,
    answer_language,
)
from pdtriage.hang.rhythm import parse_limits
from pdtriage.launch.options.flags import HANG_AFTER
from pdtriage.model import FAILURES
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

Folder = Annotated[
    str,
    Option(
        (),
        metavar="FOLDER",
        show_default=False,
        help=Text(
            "The log folder of the job. Without one: ./log", "任务的日志目录。不写则为 ./log"
        ),
    ),
]
RanksOption = Annotated[
    str | None,
    Option(
        ("--ranks",),
        metavar="0,3|all",
        help=Text("Whose logs to show. Default: rank 0.", "显示哪些 rank 的日志。默认 rank 0。"),
    ),
]
Quiet = Annotated[
    bool, Option(("--quiet", "-q"), help=Text("Show no training log.", "不显示训练日志。"))
]
UntilIdle = Annotated[
    float | None,
    Option(
        ("--until-idle",),
        metavar="SECONDS",
        help=Text(
            "End when nothing was written for so long. Default: when the job is gone.",
            "这么久没有输出就结束。默认：任务消失时结束。",
        ),
    ),
]
HangAfter = Annotated[
    str,
    Option(
        ("--hang-after",),
        metavar="SECONDS[:SECONDS]",
        show_default=False,
        help=Text(
            "Say that the job stands still, and where, after so many seconds, learned from its "
            f"rhythm between these two; 0: never. Default: {HANG_AFTER}.",
            "任务卡住这么多秒后提示并显示各进程停在哪里；在这两个秒数之间按任务自身节奏学习；"
            f"0 表示从不。默认 {HANG_AFTER}。",
        ),
    ),
]


class OnHang(str, Enum):
    report = "report"
    stacks = "stacks"
    stop = "stop"


OnHangOption = Annotated[
    OnHang,
    Option(
        ("--on-hang",),
        metavar="report|stacks|stop",
        show_default=False,
        help=Text(
            "When the job stands still: report only says so, stacks also shows where every "
            "process is, stop also ends its ranks on this machine. Default: stacks.",
            "任务卡住时：report 只提示，stacks 同时显示每个进程停在哪里，"
            "stop 还会结束本机上的 rank。默认 stacks。",
        ),
    ),
]
ReportFiles = Annotated[
    list[str] | None,
    Option(
        ("--report", "--format", "-f"),
        metavar="[FORMAT=]FILE",
        help=Text(
            "Also write the report to FILE, in the format of its name. May be repeated.",
            "同时把报告写入 FILE，格式由文件名决定。可多次给出。",
        ),
    ),
]


def watch(
    folder: Folder = "log",
    ranks: RanksOption = None,
    quiet: Quiet = False,
    until_idle: UntilIdle = None,
    hang_after: HangAfter = HANG_AFTER,
    on_hang: OnHangOption = OnHang.stacks,
    report: ReportFiles = None,
    lang: LanguageOption = None,
    parsers: Parsers = None,
    history: KeepOption = None,
    notify: NotifyOption = None,
) -> int:
    from pdtriage.live.view import parse_ranks
    from pdtriage.live.watch_process import Farewell, part
    from pdtriage.report.delivery import refuse_unwritable, targets_named
    from pdtriage.sources.remote.url import public_url

    if not os.path.isdir(folder):
        shown = public_url(str(folder))  # a URL cannot be followed; its password is not told
        why = Text(f"{shown}: no such folder", f"{shown}：目录不存在")
        if os.path.exists(folder):
            why = Text(
                f"{shown}: this is a file; give the folder it lies in",
                f"{shown}：这是文件，请指定它所在的目录",
            )
        raise UserError(why, exit_code=exit_codes.NOTHING)
    try:
        asked = parse_ranks(ranks)
    except ValueError:
        raise UserError(
            Text(f"--ranks {ranks}: write 0,3 or all", f"--ranks {ranks}：请写成 0,3 或 all")
        ) from None
    files = ",".join(report or ())
    if files:
        refuse_unwritable(targets_named(files))
    try:
        limits = parse_limits(hang_after)
    except ValueError:
        raise UserError(
            Text(
                f"--hang-after {hang_after}: write 300, or 60:1800",
                f"--hang-after {hang_after}：请写成 300 或 60:1800",
            )
        ) from None
    aftermath = aftermath_of(history, notify)
    language = answer_language(lang)
    farewell = Farewell()
    code = part(farewell, folder, language)
    if code is not None:
        return code
    from pdtriage.live import publish
    from pdtriage.live.watch import Watcher, WatchOptions

    options = WatchOptions(
        *(folder, language, asked, quiet, limits, on_hang.value),
        until_idle=until_idle,
        parsers=tuple(parsers or ()),
    )
    result = Watcher(options, farewell).run()
    if result is None:
        raise UserError(
            Text(f"{folder}: no log came", f"{folder}：没有出现日志"), exit_code=exit_codes.NOTHING
        )
    (result,) = aftermath.keep([result], [folder])
    publish.show_report(result, sys.stderr, folder)
    if files:
        try:
            publish.write_to(result, Path(files))
        except OSError as error:
            raise UserError(
                Text(f"cannot write the report: {error}", f"无法写出报告：{error}")
            ) from error
    aftermath.tell(result, [folder])
    if result.verdict == "hung" and on_hang is OnHang.stop:
        return exit_codes.HUNG
    return exit_codes.FAILED if result.verdict in FAILURES else exit_codes.OK
