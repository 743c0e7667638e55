"""From a finished `Report` to what people and programs read: one module per format.

A new format is one new file with a `reporter` in it and one line in `FORMATS`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import cast

from pdtriage.report.interface import Options, Reporter

FORMATS: tuple[str, ...] = (
    "text",
    "json",
    "markdown",
    "github",
    "gitlab",
    "junit",
    "sarif",
    "html",
)

__all__ = ["FORMATS", "Options", "Reporter", "reporter_for_file", "reporter_named"]


def reporter_named(name: str) -> Reporter:
    """The reporter of a format in `FORMATS`; its module is imported only now."""
    if name not in FORMATS:
        raise KeyError(name)
    return cast(Reporter, import_module(f"pdtriage.report.formats.{name}").reporter)


def reporter_for_file(path: PurePath) -> Reporter | None:
    """The reporter whose files are named like this one, if any; the longest ending wins."""
    endings = [
        (len(suffix), reporter)
        for reporter in map(reporter_named, FORMATS)
        for suffix in reporter.suffixes
        if path.name.endswith(suffix)
    ]
    return max(endings, key=lambda ending: ending[0])[1] if endings else None
