"""Where reports go: standard output with what the terminal can show, and files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TextIO

from pdtriage.model import Report
from pdtriage.report.interface import Options, Reporter
from pdtriage.report.places import repository_around
from pdtriage.report.targets import Target

Color = Literal["auto", "always", "never"]
FILE_WIDTH = 80


def deliver(
    targets: Sequence[Target],
    reports: Sequence[Report],
    *,
    all_runs: bool = False,
    color: Color = "auto",
    quiet: bool = False,
) -> None:
    """Write `reports` (one, or all runs of a folder) to every target, files first.

    What is printed comes last: a reader of the terminal finds the files already there.
    """
    for target in sorted(targets, key=lambda target: target.path is None):
        if target.path is None:
            _write(target.reporter, reports, all_runs, sys.stdout, color, quiet)
            continue
        with target.path.open("w", encoding="utf-8", errors="replace") as stream:
            _write(target.reporter, reports, all_runs, stream, color, quiet)


def _write(
    reporter: Reporter,
    reports: Sequence[Report],
    all_runs: bool,
    stream: TextIO,
    color: Color,
    quiet: bool,
) -> None:
    options = surroundings(_width(stream), _colored(stream, color), quiet)
    if all_runs:
        reporter.write_all(reports, stream, options)
    else:
        reporter.write(reports[0], stream, options)
    stream.flush()


def surroundings(width: int, color: bool, quiet: bool = False) -> Options:
    """What to show, with the repository and the summary that CI systems tell of."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return Options(
        width=width,
        color=color,
        quiet=quiet,
        repository=repository_around(Path.cwd(), os.environ),
        summary=Path(summary) if summary else None,
    )


def _width(stream: TextIO) -> int:
    return shutil.get_terminal_size().columns if stream.isatty() else FILE_WIDTH


def _colored(stream: TextIO, color: Color) -> bool:
    if color != "auto":
        return color == "always"
    return (
        stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    )
