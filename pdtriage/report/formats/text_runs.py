"""Attempts of the launch and runs of the folder, for people at a terminal."""

from __future__ import annotations

from pdtriage.model import Report, Text
from pdtriage.report.attempts import attempt_rows, has_other_runs
from pdtriage.report.formats.page import BOLD, DIM, YELLOW, Page
from pdtriage.report.words import VERDICTS, run_time
from pdtriage.support.text_width import columns, padded

ATTEMPTS_LISTED = 4
RUNS_LISTED = 6


def attempts_line(report: Report, page: Page) -> None:
    if report.attempts is not None:
        page.wrapped(_sentence(page.say(report.attempts.summary), page), YELLOW)


def attempts(report: Report, page: Page) -> None:
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
        page.wrapped(page.say(row.what), indent=len(lead) + 2, first=lead)
        if row.then is not None and row is not rows[-1]:  # the first screen has that one
            page.wrapped(page.say(row.then), DIM, indent=len(lead) + 2)


def runs(report: Report, page: Page) -> None:
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
        page.line(f"  {mark} {run.index}  {padded(word, word_width)}  {when}{extra}")


def _sentence(text: str, page: Page) -> str:
    return text[:1].upper() + text[1:] + page.say(Text(".", "。"))
