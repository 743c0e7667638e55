"""Where reports go: standard output with what the terminal can show, and files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TextIO

from pdtriage.model import Report
from pdtriage.report.interface import Options, Reporter
from pdtriage.report.repository import repository_around
from pdtriage.report.targets import Target
from pdtriage.sources.remote.url import in_public
from pdtriage.support.gc_pause import collector_at_rest

Color = Literal["auto", "always", "never"]
FILE_WIDTH = 80


@collector_at_rest()
def deliver(
    targets: Sequence[Target],
    reports: Sequence[Report],
    *,
    all_runs: bool = False,
    color: Color = "auto",
    quiet: bool = False,
    asked: str = "",
) -> None:
    """Write `reports` (one, or all runs of a folder) to every target, files first.

    What is printed comes last: a reader of the terminal finds the files already there.
    """
    for target in sorted(targets, key=lambda target: target.path is None):
        if target.path is None:
            shown = surroundings(shown_width(sys.stdout), _colored(sys.stdout, color), quiet, asked)
            _write(target.reporter, reports, all_runs, sys.stdout, shown)
            continue
        with target.path.open("w", encoding="utf-8", errors="replace") as stream:
            stored = surroundings(FILE_WIDTH, _colored(stream, color), quiet, asked)
            _write(target.reporter, reports, all_runs, stream, stored)


def _write(
    reporter: Reporter,
    reports: Sequence[Report],
    all_runs: bool,
    stream: TextIO,
    options: Options,
) -> None:
    if all_runs:
        reporter.write_all(reports, stream, options)
    else:
        reporter.write(reports[0], stream, options)
    stream.flush()


def surroundings(width: int, color: bool, quiet: bool = False, asked: str = "") -> Options:
    """What to show, with the repository and the summary that CI systems tell of."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return Options(
        width=width,
        color=color,
        quiet=quiet,
        asked=asked,
        repository=repository_around(Path.cwd(), os.environ),
        summary=Path(summary) if summary else None,
    )


def asked_again(paths: Sequence[str]) -> str:
    """The paths as they have to be typed for another look at the same logs."""
    if [os.path.normpath(path) for path in paths] == ["log"]:
        return ""
    return shlex.join(in_public(path) for path in paths)


def shown_width(stream: TextIO) -> int:
    """COLUMNS, as people set it for a pager; else that of the terminal the stream is."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or FILE_WIDTH
    except (OSError, ValueError):
        return FILE_WIDTH


def _colored(stream: TextIO, color: Color) -> bool:
    if color != "auto":
        return color == "always"
    return (
        stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    )
