"""What every output format offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

from pdtriage.model import Report


@dataclass(frozen=True, slots=True)
class Options:
    """What the place a report is written to can show."""

    width: int = 80
    color: bool = False
    quiet: bool = False


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
