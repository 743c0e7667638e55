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
    asked_again,
    deliver,
    shown_width,
    surroundings,
    targets_named,
    usual_format,
)
from pdtriage.support.private_files import PRIVATE, make_own_folder
from pdtriage.support.whole_files import whole_text

NAME = "report.json"


def show(report: Report, stream: TextIO, folder: str = "log") -> None:
    """For people, after the last line of the log in `folder`."""
    stream.write(text_for(report, stream, folder))
    stream.flush()


def text_for(report: Report, stream: TextIO, folder: str) -> str:
    """What `show` writes to `stream`."""
    asked = asked_again([folder])
    options = surroundings(shown_width(stream), _colored(stream), asked=asked)
    text = io.StringIO()
    text.write("\n")
    reporter_named(usual_format(os.environ)).write(report, text, options)
    return text.getvalue()


def store(report: Report, folder: str) -> Path:
    """As `pdtriage/report.json` in the log folder: whole or not at all."""
    target = Path(folder) / FOLDER / NAME
    make_own_folder(str(target.parent))
    with whole_text(target, PRIVATE) as stream:
        reporter_named("json").write(report, stream, Options())
    return target


def write_to(report: Report, files: Path) -> None:
    """One file or several, separated by commas: in the format of the name, or FORMAT=FILE."""
    deliver(targets_named(str(files)), [report])


def _colored(stream: TextIO) -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "") == "dumb"
    return stream.isatty() and not plain
