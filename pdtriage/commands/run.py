"""`pdtriage run`: launch a job, show it, and end a failed one with the report.

Not a typer command: its flags are those of Paddle's launcher, and a launcher has to start fast.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pdtriage.commands.aftermath import Aftermath, aftermath_of
from pdtriage.commands.launch_checks import launch_checks
from pdtriage.hang.rhythm import parse_limits
from pdtriage.launch import run as launch
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.plan.cluster import node_count
from pdtriage.live.analyst import LiveAnalyst
from pdtriage.live.observer import LiveObserver
from pdtriage.live.wire import Published
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text, language_of

_GLANCE = 0.01
"""Seconds between looks at whether the report has come."""


def run(arguments: Sequence[str]) -> int:
    """Do what the words after `pdtriage run` ask for; the code to exit with."""
    flags = parse_flags(arguments, os.environ)
    _refuse_unusable(flags)
    notify = flags.addresses.reveal()
    aftermath = Aftermath() if flags.help else aftermath_of(flags.history, notify)
    began = time.time()
    language = flags.answer_language(language_of())
    parsers = (Path(flags.parsers),) if flags.parsers else ()
    observer = LiveObserver(
        language, folder=flags.log_dir, parsers=parsers, budget=flags.analysis_budget
    )
    analyst = LiveAnalyst(observer.reader, flags.log_dir)
    try:
        outcome = launch(
            flags,
            observer=observer,
            analyst=analyst,
            language=language,
            checks=launch_checks,
        )
        # All is decided: who wants to go now gets the code of the job, and no more words.
        with contextlib.suppress(_Enough), _signals_are_enough():
            observer.close_view()
            _publish(analyst.publish(outcome.decisions, flags.report, _wait), language)
            if outcome.record is not None and outcome.record.node_rank == 0:
                aftermath.follow_run(flags.log_dir, began, language, outcome.exit_code)
    finally:
        observer.close()
    return outcome.exit_code


def _refuse_unusable(flags: LaunchFlags) -> None:
    """What would only be noticed later: when the nodes meet, or when the job has ended."""
    if flags.launcher != "paddle" and "nnodes" in flags.given:
        node_count(flags)
    if flags.ranks is not None and not _is_ranks(flags.ranks):
        raise UserError(
            Text(f"--ranks cannot be {flags.ranks!r}.", f"--ranks 不能是 {flags.ranks!r}。"),
            Text("Write --ranks 0,3 or --ranks all.", "请写成 --ranks 0,3 或 --ranks all。"),
        )
    try:
        parse_limits(flags.hang_after)
    except ValueError:
        raise UserError(
            Text(
                f"--hang_after cannot be {flags.hang_after!r}.",
                f"--hang_after 不能是 {flags.hang_after!r}。",
            ),
            Text("Write --hang_after 300 or 60:1800.", "请写成 --hang_after 300 或 60:1800。"),
        ) from None
    if flags.parsers is not None and not os.path.exists(flags.parsers):
        raise UserError(
            Text(f"{flags.parsers} does not exist.", f"{flags.parsers} 不存在。"),
            Text(
                "--parsers takes a folder of *.toml with further signatures.",
                "--parsers 的值应为存放 *.toml 特征库的目录。",
            ),
        )
    if flags.parsers is not None:
        _refuse_broken(flags.parsers)
    if flags.report is not None:
        _refuse_unwritable(flags.report, flags.log_dir)


def _refuse_broken(parsers: str) -> None:
    """Refuses broken signatures before the start; looks only where the user brings some."""
    from pdtriage.knowledge import load_knowledge

    try:
        load_knowledge([Path(parsers)])
    except UserError as error:
        raise UserError(
            Text(f"{error.message.en}.", f"{error.message.zh}。"),
            Text(
                f"Try `pdtriage parsers check --parsers {parsers}`.",
                f"可用 `pdtriage parsers check --parsers {parsers}` 检查。",
            ),
        ) from None


def _refuse_unwritable(report: str, log_dir: str) -> None:
    from pdtriage.report.delivery import refuse_unwritable, targets_named

    try:
        refuse_unwritable(targets_named(report), made=[Path(log_dir)])
    except UserError as bad:
        raise UserError(
            Text(f"{bad.message.en}.", f"{bad.message.zh}。"),
            Text("Check --report.", "请检查 --report。"),
        ) from None


def _is_ranks(text: str) -> bool:
    return text.strip() == "all" or all(part.strip().isdecimal() for part in text.split(","))


def _publish(published: Published | None, language: Language) -> None:
    if published is None:
        return
    with contextlib.suppress(OSError, ValueError):  # nobody reads it
        sys.stderr.write(published.shown)
        sys.stderr.flush()
    if published.trouble is not None:
        print(f"pdtriage run: {published.trouble.in_(language)}", file=sys.stderr)


class _Enough(Exception):  # noqa: N818 (not an error)
    """A signal came while only words were left."""


@contextlib.contextmanager
def _signals_are_enough() -> Iterator[None]:
    def leave(number: int, frame: object) -> None:  # noqa: ARG001 (given to all)
        raise _Enough

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # nohup and background shells ask us to ignore some of these.
    heeded = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = [(number, signal.signal(number, leave)) for number in heeded]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _wait(is_over: Callable[[], bool]) -> bool:
    while not is_over():
        time.sleep(_GLANCE)
    return True
