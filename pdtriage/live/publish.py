"""Where the report of a launch goes: to the terminal, beside the logs, to a file asked for."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TextIO

from pdtriage.model import Report
from pdtriage.record.schema import FOLDER
from pdtriage.report import Options, reporter_named
from pdtriage.report.delivery import (
    deliver,
    paths_to_retype,
    surroundings,
    targets_named,
    usual_format,
    width_of,
)
from pdtriage.support.private_files import PRIVATE, make_own_folder
from pdtriage.support.whole_files import whole_text

NAME = "report.json"


def show_report(report: Report, stream: TextIO, folder: str = "log") -> None:
    """Shows a report to people, after the last line of the log in `folder`."""
    stream.write(text_for(report, stream, folder))
    stream.flush()


def text_for(report: Report, stream: TextIO, folder: str) -> str:
    """What `show` writes to `stream`."""
    asked = paths_to_retype([folder])
    options = surroundings(width_of(stream), _is_colored(stream), asked=asked)
    text = io.StringIO()
    text.write("\n")
    reporter_named(usual_format(os.environ)).write(report, text, options)
    return text.getvalue()


def store_report(report: Report, folder: str) -> Path:
    """Writes a report as `pdtriage/report.json` in the log folder: whole or not at all."""
    target = Path(folder) / FOLDER / NAME
    make_own_folder(str(target.parent))
    with whole_text(target, PRIVATE) as stream:
        reporter_named("json").write(report, stream, Options())
    return target


def write_to(report: Report, files: Path) -> None:
    """Writes a report to files, separated by commas: in the format of the name, or FORMAT=FILE."""
    deliver(targets_named(str(files)), [report])


def _is_colored(stream: TextIO) -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "") == "dumb"
    return stream.isatty() and not plain
