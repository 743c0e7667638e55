"""The report as JUnit XML: one failed case per root cause, victims skipped with their reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from pdtriage.model import Cause, RankRow, Report
from pdtriage.report import Options
from pdtriage.report.fates import fate_words, fates
from pdtriage.report.sanitise import inert, inert_line
from pdtriage.report.words import (
    CONFIDENCES,
    REASONS,
    VERDICTS,
    culprit,
    excerpt,
    extent,
    headline,
    location_of,
    process_name,
    role_word,
)
from pdtriage.support.text_width import cut

MESSAGE_COLUMNS = 500
MOST_RANKS = 2_000
"""Cases; of a bigger job those who ended alike are one case."""
_BAD = ("failed", "hung", "interrupted")


class JunitReporter:
    name = "junit"
    suffixes = (".xml",)

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        self.write_all([report], stream, options)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        del options
        document = JUnitXml("pdtriage")
        for report in reports:
            document.add_testsuite(_suite(report))
        document.update_statistics()
        stream.write(document.tostring().decode("utf-8") + "\n")


reporter = JunitReporter()


def _suite(report: Report) -> TestSuite:
    language = report.language
    name = "pdtriage" if report.run is None else f"pdtriage run {report.run}"
    suite = TestSuite(name)
    if report.job.id:
        suite.add_property("job", inert_line(report.job.id))
    suite.add_property("verdict", report.verdict)
    if report.attempts is not None:
        suite.add_property("attempts", str(report.attempts.total))
        suite.add_property("attempts.summary", inert_line(report.attempts.summary.in_(language)))
    for cause in report.root_causes:
        suite.append(_failure_case(cause, report))
    if not report.root_causes and report.verdict in _BAD:
        case = TestCase(VERDICTS[report.verdict].in_(report.language), "pdtriage.job")
        case.result = [Error(inert_line(headline(report)), report.verdict)]
        suite.append(case)
    many = len(report.ranks) > MOST_RANKS
    for case in _the_others_together(report) if many else _the_others(report):
        suite.append(case)
    if not len(suite):
        suite.append(TestCase(f"{report.verdict}: {headline(report)}", "pdtriage.job"))
    suite.update_statistics()  # `add_testcase` would count all cases again for each
    return suite


def _failure_case(cause: Cause, report: Report) -> TestCase:
    title = inert_line(cause.title.in_(report.language))
    case = TestCase(inert_line(f"{culprit(cause, report)}: {title}"), f"pdtriage.{cause.category}")
    failure = Failure(cut(title, MESSAGE_COLUMNS), inert_line(cause.signature))
    failure.text = inert("\n".join(_story(cause, report)))
    case.result = [failure]
    return case


def _story(cause: Cause, report: Report) -> Iterator[str]:
    language = report.language
    for shown in cause.evidence[:3]:
        yield f"in {inert_line(location_of(shown))}"
        yield from excerpt(shown)
    if cause.frame:
        yield inert_line(f"at {cause.frame.file}:{cause.frame.line} {cause.frame.function}")
    for number, step in enumerate(cause.advice, 1):
        yield f"{number}. {inert_line(step.in_(language))}"
    yield f"{CONFIDENCES[cause.confidence].in_(language)}: " + "; ".join(
        inert_line(why.in_(language)) for why in cause.why
    )
    yield f"fingerprint {cause.fingerprint}"


def _the_others(report: Report) -> Iterator[TestCase]:
    """Victims are skipped, ranks that finished passed; the culprits have their case already."""
    reasons = {(v.role, v.rank, v.host, v.local_rank): v for v in report.victims}
    for row in report.ranks:
        victim = reasons.get((row.role, row.rank, row.host, row.local_rank))
        if victim is None and row.status != "finished":
            continue
        case = TestCase(_name(row, report), "pdtriage.ranks")
        if victim is not None:
            said = REASONS[victim.reason].in_(report.language)
            if victim.because_of is not None:
                by = f" (rank {victim.because_of})"
                said += by if report.language == "en" else f"（rank {victim.because_of}）"
            case.result = [Skipped(said, victim.reason)]
        yield case


def _the_others_together(report: Report) -> Iterator[TestCase]:
    """No page shows a hundred thousand cases: those who ended alike are one."""
    for fate in fates(report):
        if fate.part == "culprit" or fate.status not in ("victim", "finished"):
            continue
        who = role_word(fate.role, report.language, many=len(fate.rows) > 1)
        case = TestCase(f"{who} {extent(fate.known_ranks, report.language)}", "pdtriage.ranks")
        if fate.status == "victim":
            case.result = [Skipped(fate_words(fate).in_(report.language), fate.reason or "victim")]
        yield case


def _name(row: RankRow, report: Report) -> str:
    name = process_name(row.role, row.rank, row.local_rank, row.host, report.language)
    return inert_line(f"{name}, {row.host}" if row.host and row.rank is not None else name)
