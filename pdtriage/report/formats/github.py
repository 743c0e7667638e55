"""The report for GitHub Actions: readable in the log, annotations on the code, a step summary.

GitHub reads commands (`::error ...`) from everything a step prints, so the text of the report goes
out while commands are stopped, behind a word nobody can guess. It keeps ten annotations of a step
and drops the rest without a word, and a summary beyond 1 MiB altogether.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TextIO

from pdtriage.model import Cause, Report
from pdtriage.report import Options
from pdtriage.report.formats.markdown import as_markdown
from pdtriage.report.formats.text import reporter as text_reporter
from pdtriage.report.repository import source_location_of
from pdtriage.report.sanitise import inert
from pdtriage.report.words import VERDICTS, culprit, headline, location_of, victims_line
from pdtriage.support.text_width import cut

MOST_ANNOTATIONS = 10
SUMMARY_BYTES = 64 << 10
TITLE_COLUMNS, MESSAGE_COLUMNS = 120, 3000
_BAD = ("failed", "hung", "interrupted")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One workflow command."""

    level: str
    title: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        properties = [f"title={escaped_property(cut(self.title, TITLE_COLUMNS))}"]
        if self.file is not None:
            properties[:0] = [f"file={escaped_property(self.file)}", f"line={self.line or 1}"]
        said = escaped_message(cut(self.message, MESSAGE_COLUMNS))
        return f"::{self.level} {','.join(properties)}::{said}"


class GithubReporter:
    name = "github"
    suffixes: tuple[str, ...] = ()

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        self._write([report], stream, options, alone=True)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        self._write(reports, stream, options, alone=False)

    def _write(
        self, reports: Sequence[Report], stream: TextIO, options: Options, alone: bool
    ) -> None:
        resume = token_hex(16)
        stream.write(f"::stop-commands::{resume}\n")
        if alone:
            text_reporter.write(reports[0], stream, options)
        else:
            text_reporter.write_all(reports, stream, options)
        stream.write(f"::{resume}::\n")
        newest_first = [a for r in reversed(reports) for a in annotations_of(r, options.repository)]
        for annotation in newest_first[:MOST_ANNOTATIONS]:
            stream.write(f"{annotation}\n")
        if options.summary is not None:
            _summarise(reports, options.summary, alone)


reporter = GithubReporter()


def annotations_of(report: Report, repository: Path | None) -> list[Annotation]:
    """The culprit first; then the other causes, who were only victims, and what to note."""
    return list(_annotations(report, repository))[:MOST_ANNOTATIONS]


def escaped_message(text: str) -> str:
    return inert(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    return escaped_message(text).replace(":", "%3A").replace(",", "%2C")


def _annotations(report: Report, repository: Path | None) -> Iterator[Annotation]:
    for cause in report.root_causes:
        yield _of_cause(cause, report, repository)
    if not report.root_causes and report.verdict in _BAD:
        yield Annotation("error", VERDICTS[report.verdict].in_(report.language), headline(report))
    if report.victims and report.root_causes:
        title = "受牵连，不是原因" if report.language == "zh" else "Victims, not the cause"
        yield Annotation("notice", title, victims_line(report.victims, report.language))
    for note in report.notes:
        yield Annotation("notice", "pdtriage", note.in_(report.language))


def _of_cause(cause: Cause, report: Report, repository: Path | None) -> Annotation:
    title = f"{culprit(cause, report)}: {cause.title.in_(report.language)}"
    lines = [f"{location_of(shown)}: {shown.text}" for shown in cause.evidence[:1]]
    lines += [
        f"{number}. {step.in_(report.language)}" for number, step in enumerate(cause.advice, 1)
    ]
    spot = source_location_of(cause, repository)
    message = "\n".join(cut(inert(line).replace("\n", " "), 400) for line in lines) or title
    return Annotation(
        "error", title, message, spot.path if spot else None, spot.line if spot else None
    )


def _summarise(reports: Sequence[Report], summary: Path, alone: bool) -> None:
    room = SUMMARY_BYTES // len(reports)
    pages = [as_markdown(report, alone=alone, most_bytes=room - 1) for report in reports]
    with summary.open("a", encoding="utf-8", errors="replace") as stream:
        stream.write("\n".join(pages))
