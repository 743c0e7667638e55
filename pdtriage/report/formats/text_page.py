"""The page a text report is written on, and the lists of attempts and runs on it."""

from __future__ import annotations

from pdtriage.model import Language, Report, Text
from pdtriage.report import Options
from pdtriage.report.attempt_rows import attempt_rows, has_other_runs
from pdtriage.report.sanitise import inert, inert_line, without_commands
from pdtriage.report.words import VERDICTS, run_time
from pdtriage.support.text_width import columns, pad, wrap

ATTEMPTS_LISTED = 4
RUNS_LISTED = 6
NARROWEST, WIDEST = 40, 120
BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


def attempts_line(report: Report, page: Page) -> None:
    if report.attempts is not None:
        page.wrap(_sentence(page.say(report.attempts.summary), page), YELLOW)


def attempt_lines(report: Report, page: Page) -> None:
    """One attempt after the other, and why it was followed by the next."""
    rows = attempt_rows(report)
    if not rows:
        return
    page.line()
    page.line(
        page.say(
            Text(
                f"Attempts (each in full: {page.analyze} --all-runs)",
                f"各次尝试（逐次详情：{page.analyze} --all-runs）",
            )
        ),
        BOLD,
    )
    shown = rows if len(rows) <= ATTEMPTS_LISTED else [rows[0], *rows[1 - ATTEMPTS_LISTED :]]
    width = len(str(shown[-1].number)) + 2
    for position, row in enumerate(shown):
        if position == 1 and len(shown) < len(rows):
            page.line("  ...", DIM)
        mark = ">" if row.run.index == report.run else " "
        lead = f"{mark} {row.number:>{width - 2}}"
        page.wrap(page.say(row.what), indent=len(lead) + 2, first=lead)
        if row.then is not None and row is not rows[-1]:  # the first screen has that one
            page.wrap(page.say(row.then), DIM, indent=len(lead) + 2)


def run_lines(report: Report, page: Page) -> None:
    if len(report.runs) < 2 or not has_other_runs(report):
        return
    page.line()
    total = len(report.runs)
    page.line(
        page.say(
            Text(
                f"Runs found: {total}, this is run {report.run} (others: --run N)",
                f"共有 {total} 次运行，这里是第 {report.run} 次（看其他的：--run N）",
            )
        ),
        BOLD,
    )
    if total > RUNS_LISTED:
        page.line("  ...", DIM)
    words = [page.say(VERDICTS[run.verdict]).lower() for run in report.runs[-RUNS_LISTED:]]
    word_width = max(map(columns, words))
    for run, word in zip(report.runs[-RUNS_LISTED:], words, strict=True):
        when = run_time(run.started, run.ended)
        number = run.attempt + 1
        attempt = page.say(Text(f"attempt {number}", f"第 {number} 次尝试"))
        extra = f"  {attempt}" if number > 1 else ""
        mark = ">" if run.index == report.run else " "
        page.line(f"  {mark} {run.index}  {pad(word, word_width)}  {when}{extra}")


def _sentence(text: str, page: Page) -> str:
    return text[:1].upper() + text[1:] + page.say(Text(".", "。"))


class Page:
    """Collects lines. All text passes `inert` here: nothing in a log can steer the terminal."""

    def __init__(self, language: Language, options: Options) -> None:
        self.language = language
        self.width = min(max(options.width, NARROWEST), WIDEST)
        self._color = options.color
        self.analyze = f"pdtriage analyze {options.asked}".rstrip()
        """The command to see more of the same logs."""
        self._lines: list[str] = []

    def say(self, text: Text) -> str:
        return text.in_(self.language)

    def line(self, text: str = "", style: str = "") -> None:
        for part in inert(text).split("\n"):
            self._lines.append(self._style(part.rstrip(), style))

    def wrap(self, text: str, style: str = "", indent: int = 0, first: str = "") -> None:
        """A paragraph; `first` stands before its first line, inside the indentation."""
        lead = pad(first, indent)
        for row in wrap(inert_line(text), self.width - indent, paths=True):
            self.line(lead + row, style)
            lead = " " * indent

    def label(
        self, label: str, label_width: int, text: str, most: int | None = None, mark: str = ""
    ) -> None:
        """`  label  text`, the text in a column of its own; `mark` hangs before it."""
        lead = "  " + pad(label, label_width) + "  "
        indent = columns(lead) + len(mark)
        for row in wrap(inert_line(text), self.width - indent, most, paths=True):
            self._lines.append(self._style(lead, DIM) + mark + row)
            lead, mark = " " * indent, ""

    def text(self) -> str:
        return without_commands("".join(line + "\n" for line in self._lines))

    def _style(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._color and style and text.strip() else text
