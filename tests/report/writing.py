"""A report as one format writes it."""

from __future__ import annotations

import io

from pdtriage.model import Report
from pdtriage.report import Options, reporter_named

PLAIN = Options()


def written(report: Report, name: str, options: Options = PLAIN) -> str:
    stream = io.StringIO()
    reporter_named(name).write(report, stream, options)
    return stream.getvalue()


def all_written(reports: list[Report], name: str, options: Options = PLAIN) -> str:
    stream = io.StringIO()
    reporter_named(name).write_all(reports, stream, options)
    return stream.getvalue()
