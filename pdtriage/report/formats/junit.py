"""The report as JUnit XML: one failed case per root cause, victims skipped with their reason.

Names of suites and cases hold no rank, host, number or path: CI systems know a case by its name,
and show when it first failed and how often. Who it was this time stands in the message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from pdtriage.hang.stack_groups import culprit_stacks
from pdtriage.hang.stack_words import MOST_STACKS, frame_line, stack_title
from pdtriage.model import FAILURES, Cause, Language, Report
from pdtriage.report import Options
from pdtriage.report.fates import Fate, fate_words, fates
from pdtriage.report.sanitise import inert, inert_line
from pdtriage.report.words import (
    CONFIDENCES,
    VERDICTS,
    culprit,
    excerpt,
    extent_text,
    headline,
    location_of,
    role_word,
)
from pdtriage.support.text_width import cut

MESSAGE_COLUMNS = 500


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
    suite = TestSuite("pdtriage")
    if report.run is not None:
        suite.add_property("run", str(report.run))
    if report.job.id:
        suite.add_property("job", inert_line(report.job.id))
    suite.add_property("verdict", report.verdict)
    if report.attempts is not None:
        suite.add_property("attempts", str(report.attempts.total))
        suite.add_property("attempts.summary", inert_line(report.attempts.summary.in_(language)))
    cases = [*_failures(report), *_the_others(report)]
    for case in cases or [TestCase("job", "pdtriage.job")]:
        suite.append(case)
    suite.update_statistics()  # `add_testcase` would count all cases again for each
    return suite


def _failures(report: Report) -> Iterator[TestCase]:
    """A case for each signature, which several causes may share."""
    causes: dict[tuple[str, str], list[Cause]] = {}
    for cause in report.root_causes:
        causes.setdefault((cause.signature, cause.category), []).append(cause)
    for (signature, category), alike in causes.items():
        case = TestCase(inert_line(signature), f"pdtriage.{category}")
        case.result = [_failure(cause, report) for cause in alike]
        yield case
    if not causes and report.verdict in FAILURES:
        case = TestCase("job", "pdtriage.job")
        words = f"{VERDICTS[report.verdict].in_(report.language)}: {headline(report)}"
        case.result = [Error(inert_line(words), report.verdict)]
        yield case


def _failure(cause: Cause, report: Report) -> Failure:
    words = inert_line(f"{culprit(cause, report)}: {cause.title.in_(report.language)}")
    failure = Failure(cut(words, MESSAGE_COLUMNS), inert_line(cause.signature))
    failure.text = inert("\n".join(_story(cause, report)))
    return failure


def _story(cause: Cause, report: Report) -> Iterator[str]:
    language = report.language
    for shown in cause.evidence[:3]:
        yield f"in {inert_line(location_of(shown))}"
        yield from excerpt(shown)
    if cause.frame:
        yield inert_line(f"at {cause.frame.file}:{cause.frame.line} {cause.frame.function}")
    for stack in culprit_stacks(report.standstill, cause.role, cause.ranks)[:MOST_STACKS]:
        yield inert_line(stack_title(stack).in_(language))
        for frame in stack.frames:
            yield "    at " + inert_line(frame_line(frame.file, frame.line, frame.function))
    for number, step in enumerate(cause.advice, 1):
        yield f"{number}. {inert_line(step.in_(language))}"
    yield f"{CONFIDENCES[cause.confidence].in_(language)}: " + "; ".join(
        inert_line(why.in_(language)) for why in cause.why
    )
    yield f"fingerprint {cause.fingerprint}"


def _the_others(report: Report) -> Iterator[TestCase]:
    """Victims are skipped, ranks that finished passed; the culprits have their case already."""
    alike: dict[str, list[Fate]] = {}
    for fate in fates(report):
        if fate.part != "culprit" and fate.status in ("victim", "finished"):
            words = (fate.role, fate.status, fate.reason)
            alike.setdefault(" ".join(filter(None, words)), []).append(fate)
    for name, some in alike.items():
        case = TestCase(name, "pdtriage.ranks")
        case.result = [
            Skipped(_victims(fate, report.language), fate.reason or "victim")
            for fate in some
            if fate.status == "victim"
        ]
        yield case


def _victims(fate: Fate, language: Language) -> str:
    who = role_word(fate.role, language, many=len(fate.rows) > 1)
    ranks = extent_text(fate.known_ranks, language) if fate.known_ranks else str(len(fate.rows))
    words = f"{who} {ranks}: {fate_words(fate).in_(language)}"
    return cut(inert_line(words), MESSAGE_COLUMNS)
