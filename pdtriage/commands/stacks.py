"""`pdtriage stacks`: where every rank of a running job stands, and who keeps the others waiting."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from enum import Enum
from typing import Annotated

from pdtriage.commands.verbs import LanguageOption, answer_language
from pdtriage.hang.job_processes import (
    RunningJob,
    jobs_here,
    ranks_of_folder,
    ranks_of_process,
)
from pdtriage.hang.stack_groups import StackFold, call_site_of, fold_of, telling_stacks
from pdtriage.hang.stack_words import frame_line, stack_title, summary_of, where_text
from pdtriage.hang.take import StackTarget, take_stacks
from pdtriage.masking.secrets import masked_text
from pdtriage.model.stacks import ProcessStack, Standstill
from pdtriage.record.stack_codec import plain_standstill
from pdtriage.report.sanitise import inert_line, without_commands
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text

SECONDS = 30.0
"""For all of them together."""
SCHEMA = "pdtriage.stacks/1"
_MOST_JOBS = 8


class StacksFormat(str, Enum):
    text = "text"
    json = "json"


Target = Annotated[
    str | None,
    Option(
        (),
        metavar="[PID|FOLDER]",
        show_default=False,
        help=Text(
            "A rank, its launcher, or the log folder of a job. Without one: ./log if there is one, "
            "else the one job on this machine.",
            "某个 rank 或其启动器的 PID，或任务的日志目录。不写则为 ./log；"
            "没有该目录时为本机上唯一的任务。",
        ),
    ),
]
JobOption = Annotated[
    str | None,
    Option(
        ("--job",),
        metavar="ID",
        help=Text("The ranks of this job (its --job_id).", "该任务（--job_id）的所有 rank。"),
    ),
]
NativeOption = Annotated[
    bool,
    Option(
        ("--native",),
        help=Text(
            "Also frames of C and C++; pauses each process for a moment.",
            "同时显示 C/C++ 调用栈；每个进程会暂停片刻。",
        ),
    ),
]
AllFrames = Annotated[
    bool,
    Option(
        ("--all",),
        help=Text(
            "Every stack in full, not only that of the odd one out.",
            "完整显示每个调用栈，而不只是与众不同的那个。",
        ),
    ),
]
FormatOption = Annotated[
    StacksFormat,
    Option(("--format", "-f"), help=Text("text or json.", "text 或 json。"), metavar="FORMAT"),
]


def stacks(
    target: Target = None,
    job: JobOption = None,
    native: NativeOption = False,
    all_frames: AllFrames = False,
    format: FormatOption = StacksFormat.text,
    lang: LanguageOption = None,
) -> int:
    language = answer_language(lang)
    found = _targets(target, job)
    if not found:
        raise UserError(
            Text(
                "no rank of a job runs here, or none that may be looked into",
                "本机没有正在运行的 rank，或没有权限查看",
            ),
            exit_code=exit_codes.NOTHING,
        )
    result = take_stacks(found, SECONDS, native=native)
    taken = Standstill(time.time(), "asked", stacks=result.stacks, notes=result.notes)
    fold = fold_of(taken)
    if format is StacksFormat.json:
        page = _as_json(taken, fold, language)
    else:
        page = "\n".join(_lines(taken, fold, language, all_frames=all_frames)) + "\n"
    sys.stdout.write(without_commands(masked_text(page)[0]))
    return exit_codes.OK


def _targets(target: str | None, job: str | None) -> Sequence[StackTarget]:
    if job is not None:
        return _ranks_of_the_one([one for one in jobs_here() if one.name == job])
    if target is None:
        in_log = ranks_of_folder("log") if os.path.isdir("log") else []
        return in_log or _ranks_of_the_one(jobs_here())
    if os.path.isdir(target):
        return ranks_of_folder(target)
    if target.isdecimal():
        return ranks_of_process(int(target))
    raise UserError(
        Text(f"{target} is neither a pid nor a folder", f"{target} 既不是 PID 也不是目录"),
        exit_code=exit_codes.NOTHING,
    )


def _ranks_of_the_one(jobs: Sequence[RunningJob]) -> Sequence[StackTarget]:
    """Of several jobs none is meant: ranks of different jobs do not wait for each other."""
    if len(jobs) < 2:
        return [rank for job in jobs for rank in job.ranks]
    listed = ", ".join(
        f"{inert_line(job.folder or str(job.ranks[0].pid))} ({inert_line(job.name or '?')})"
        for job in jobs[:_MOST_JOBS]
    )
    listed += ", …" * (len(jobs) > _MOST_JOBS)
    raise UserError(
        Text(f"{len(jobs)} jobs run here: {listed}.", f"本机上有 {len(jobs)} 个任务：{listed}。"),
        Text(
            "Name the log folder of one: pdtriage stacks FOLDER",
            "请指定其中一个的日志目录：pdtriage stacks FOLDER",
        ),
    )


def _as_json(taken: Standstill, fold: StackFold, language: Language) -> str:
    values = plain_standstill(taken)
    values = {
        "schema": SCHEMA,
        "summary": summary_of(taken, fold).in_(language),
        "culprits": [stack.rank for stack in fold.odd],
        "groups": [
            {
                "ranks": list(group.ranks),
                "pids": [member.pid for member in group.members],
                "where": where_text(group.where, group.members[0]).in_(language),
            }
            for group in fold.groups
        ],
        **{name: values[name] for name in ("time", "stacks")},
        "notes": [note.in_(language) for note in taken.notes],
    }
    return json.dumps(values, ensure_ascii=False, indent=2) + "\n"


def _lines(
    taken: Standstill, fold: StackFold, language: Language, *, all_frames: bool
) -> list[str]:
    lines = [inert_line(summary_of(taken, fold).in_(language))]
    for stack in taken.stacks if all_frames else telling_stacks(taken, fold):
        lines += ["", *_stack_lines(stack, language)]
    lines += ["", *(note.in_(language) for note in taken.notes)] if taken.notes else []
    return lines


def _stack_lines(stack: ProcessStack, language: Language) -> list[str]:
    head = stack_title(stack).in_(language)
    if stack.cpu_seconds is not None:
        head = f"{head[:-1]}, CPU {stack.cpu_seconds:.0f} s)"
    where = where_text(call_site_of(stack), stack).in_(language)
    frames = [f"    {name}" for name in stack.native]
    frames += [f"    {frame_line(f.file, f.line, f.function)}" for f in stack.frames]
    return [inert_line(f"{head}: {where}"), *map(_inert_indented, frames)]


def _inert_indented(line: str) -> str:
    return "    " + inert_line(line.strip())
