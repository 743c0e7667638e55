"""The one table of exit codes, and the names of signals.

`analyze`, `watch` and the like answer with the small numbers below. `run` answers as a launcher
does: with what the culprit itself ended with, so that schedulers and scripts that look at the
code keep working, and never with 0 unless the job succeeded.
"""

from __future__ import annotations

from pdtriage.support.language import Text

OK = 0
FAILED = 1
USAGE = 2
NOTHING = 3
INTERNAL = 4
HUNG = 124
"""As `timeout` of the shell has it."""
SIGNAL_BASE = 128
SIGNAL_NAMES = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2"),
    *("PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG"),
    *("XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS"),
)
"""From 1 on, as Linux numbers them: jobs run there, wherever their logs are read."""


TABLE: tuple[tuple[str, str, Text], ...] = (
    ("analyze", "0", Text("nothing is wrong", "没有发现问题")),
    ("analyze", "1", Text("a failure was found", "发现了失败")),
    (
        "analyze",
        "2",
        Text(
            "the command line is wrong, or asks for what is not installed",
            "命令行有误，或所需的软件包尚未安装",
        ),
    ),
    ("analyze", "3", Text("there is nothing to analyse", "没有可分析的内容")),
    ("analyze", "4", Text("pdtriage itself failed", "pdtriage 自身出错")),
    ("run", "0", Text("the job succeeded", "任务成功结束")),
    ("run", "2", Text("refused before anything was started", "启动前被拒绝，没有启动任何进程")),
    ("run", "n", Text("the culprit exited with n", "肇事进程以 n 退出")),
    ("run", "128+n", Text("the culprit was ended by signal n", "肇事进程被信号 n 终止")),
    (
        "run",
        "1",
        Text(
            "the job failed and the culprit exited with 0, was stopped by pdtriage, or is on a "
            "node that did not say",
            "任务失败，而肇事进程以 0 退出、由 pdtriage 停止，或位于没有上报的节点",
        ),
    ),
    (
        "run",
        "128+n",
        Text(
            "pdtriage was told to stop by signal n (Ctrl-C 130, SIGTERM 143, SIGHUP 129)",
            "pdtriage 收到信号 n 而停止（Ctrl-C 130、SIGTERM 143、SIGHUP 129）",
        ),
    ),
    (
        "run",
        "124",
        Text(
            "the job stood still or took too long and was ended for that (`--on_hang stop`, "
            "`--timeout`)",
            "任务卡住或超时，因此被结束（`--on_hang stop`、`--timeout`）",
        ),
    ),
    ("run", "4", Text("pdtriage itself failed", "pdtriage 自身出错")),
    ("collect", "0", Text("everything was collected", "已全部收集")),
    (
        "collect",
        "1",
        Text(
            "collected, but something is missing; the manifest says what and why",
            "已收集，但有缺失；清单中说明了缺失内容与原因",
        ),
    ),
    (
        "collect",
        "2",
        Text(
            "the command line is wrong, or the folder is taken or cannot be written",
            "命令行有误，或文件夹已被占用、无法写入",
        ),
    ),
    (
        "collect",
        "3",
        Text("there is nothing to collect, or no way to it", "没有可收集的内容，或无法取得"),
    ),
    ("collect", "4", Text("pdtriage itself failed", "pdtriage 自身出错")),
    (
        "doctor",
        "0",
        Text("ready: all checks ok, or warnings only", "可以启动：检查全部正常，或只有警告"),
    ),
    ("doctor", "1", Text("a check failed", "有检查未通过")),
    ("doctor", "2", Text("the command line is wrong", "命令行有误")),
    ("doctor", "4", Text("pdtriage itself failed", "pdtriage 自身出错")),
)
"""(command, code, meaning) in the order the documentation shows them."""


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; a real-time signal, or what is none, keeps its number."""
    if 0 < number <= len(SIGNAL_NAMES):
        return f"SIG{SIGNAL_NAMES[number - 1]}"
    return f"signal {number}"


def of_signal(number: int) -> int:
    return SIGNAL_BASE + number


def of_run(
    *,
    succeeded: bool = False,
    code: int | None = None,
    signal: int | None = None,
    stopped: bool = False,
    interrupted_by: int | None = None,
) -> int:
    """What `pdtriage run` exits with.

    `code` and `signal` are the culprit's own end, `stopped` says that we ended it,
    `interrupted_by` is the signal that told us to stop where the job was interrupted.
    """
    if succeeded:
        return OK
    if interrupted_by is not None:
        return of_signal(interrupted_by)
    if stopped:
        return FAILED
    if signal is not None:
        return of_signal(signal)
    return code or FAILED
