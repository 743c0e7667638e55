"""From a finished `Report` to what people and programs read: one module per format.

A new format is one new file with a `reporter` in it and one line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from pdtriage.support.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    # A launcher shows logs with the rules of this room, and has no report yet.
    from pdtriage.model import Report

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


class Options(NamedTuple):
    """What the place a report is written to can show, and what lies around it."""

    width: int = 80
    color: bool = False
    quiet: bool = False
    asked: str = ""
    """The paths of the command that would show more of the same; empty where it needs none."""
    repository: Path | None = None
    """The checkout: formats for CI name the user's own code relative to it."""
    summary: Path | None = None
    """A file of Markdown that GitHub shows on the page of the job."""


class Reporter(Protocol):
    """Writes reports in one format to any stream of text."""

    @property
    def name(self) -> str:
        """What `--format` calls it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of a file name that mean this format, with their dots."""

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        """One run."""

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        """Writes the reports on all runs of a folder, oldest first."""
