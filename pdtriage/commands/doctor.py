"""`pdtriage doctor`: is this machine ready for the job?

Not a typer command: it takes the flags of `pdtriage run`, which are those of Paddle's launcher.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pdtriage.commands.verbs import LANG_HELP
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.plan.start_refusals import refuse_lost_folder
from pdtriage.support import exit_codes
from pdtriage.support.command_line import flag, flags_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text, language_of


class DoctorFlags(NamedTuple):
    """The flags `run` does not have."""

    format: str = flag(
        "text",
        "own",
        "text or json. Default: {default}.",
        "text 或 json，默认 {default}。",
        choices=("text", "json"),
    )
    run_check: bool = flag(
        False,
        "own",
        "Also run paddle.utils.run_check, which takes many seconds.",
        "同时执行 paddle.utils.run_check，需要较长时间。",
    )
    wait: float = flag(
        5.0,
        "own",
        "Seconds to wait for the doctors of the other nodes. Default: {default}.",
        "等待其他节点 doctor 的秒数。默认 {default}。",
    )


FLAGS = flags_of(DoctorFlags)
_HEAD = Text(
    "usage: pdtriage doctor [flags] [train.py [its arguments]]\n\n"
    "Looks at this machine before a job starts: what is fine, what may go wrong,\n"
    "what will. Takes every flag of `pdtriage run` (see `pdtriage run --help`) and\n"
    "starts nothing.\n"
    "What stands after the script belongs to the script.\n",
    "用法：pdtriage doctor [参数] [train.py [脚本参数]]\n\n"
    "在启动任务之前检查本机：哪些正常，哪些可能出问题，哪些一定会失败。\n"
    "接受 `pdtriage run` 的全部参数（见 `pdtriage run --help`），不会启动任何进程。\n"
    "写在脚本之后的参数属于脚本。\n",
)


def doctor(arguments: Sequence[str]) -> int:
    """Do what the words after `pdtriage doctor` ask for; the code to exit with."""
    flags = parse_flags(arguments, os.environ, also=FLAGS, script_needed=False)
    refuse_lost_folder()
    language = flags.answer_language(language_of())
    _warn_of_unread(flags, language)
    if flags.help:
        print(_help(language), end="")
        return exit_codes.OK
    return _examine(flags, DoctorFlags(**flags.others), language)


def _warn_of_unread(flags: LaunchFlags, language: Language) -> None:
    """A flag of ours behind the script is probably not meant for the script."""
    own = ("--lang", *(f"--{flag.name}" for flag in FLAGS))
    words = [word.partition("=")[0].replace("-", "_") for word in flags.training_script_args]
    behind = [name for name in own if name.replace("-", "_") in words]
    if behind and flags.training_script:
        script = flags.training_script
        sentence = Text(
            f"{', '.join(behind)} after {script} belongs to the script; write it before.",
            f"写在 {script} 之后的 {'、'.join(behind)} 属于脚本；请写在脚本之前。",
        )
        print(f"pdtriage doctor: {sentence.in_(language)}", file=sys.stderr)


def _examine(flags: LaunchFlags, own: DoctorFlags, language: Language) -> int:
    from pdtriage.doctor import Context, examine, worst
    from pdtriage.doctor.context import Wishes
    from pdtriage.doctor.output import write_json, write_text

    wishes = Wishes(run_check=own.run_check, wait=own.wait)
    findings = examine(Context(flags, os.environ, wishes=wishes))
    if own.format == "json":
        write_json(findings, language, sys.stdout)
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        write_text(findings, language, sys.stdout, colour=colour)
    return exit_codes.FAILED if worst(findings) == "failed" else exit_codes.OK


def _help(language: Language) -> str:
    rows = [(f"--{flag.name.replace('_', '-')}", flag.help) for flag in FLAGS]
    rows.append(("--lang", LANG_HELP))
    lines = [f"  {name:<12}  {meaning.in_(language)}" for name, meaning in rows]
    return _HEAD.in_(language) + "\n" + "\n".join(lines) + "\n"
