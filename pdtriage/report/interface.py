"""What every output format offers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TextIO

from pdtriage.model import Report
from pdtriage.support.fast_namedtuple import NamedTuple


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
        """All runs of a folder, oldest first."""
