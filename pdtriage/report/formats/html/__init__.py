"""The report as one page that needs nothing but itself: no network, no server, no script.

A strict content security policy lets run what is written here and nothing else; scripts only add
comfort (filters, zoom). Both languages are in the page, and the reader chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from pdtriage.model import Report, Text
from pdtriage.report import Options
from pdtriage.report.formats.html import sections
from pdtriage.report.formats.html.build import Html, hash_of, headline_of, join_html, tag
from pdtriage.report.formats.html.charts import course
from pdtriage.report.formats.html.drawing import by_one_clock
from pdtriage.report.formats.html.graph import graph
from pdtriage.report.formats.html.lanes import MOST_LANES, timeline
from pdtriage.report.formats.html.rank_map import rank_map
from pdtriage.report.formats.html.stack_section import stacks_section
from pdtriage.report.words import VERDICTS

MOST_BYTES = 980_000
FEWEST_LANES = 16
_HERE = Path(__file__).parent


class HtmlReporter:
    name = "html"
    suffixes = (".html", ".htm")

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        del options
        stream.write(page([report]))

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        del options
        stream.write(page(reports))


reporter = HtmlReporter()


def page(reports: Sequence[Report]) -> str:
    """The newest run on top; of several, the others are folded below it.

    Where it would be too large for a browser or a mail, fewer lanes are drawn, and it says so.
    """
    lanes = MOST_LANES
    written = _page(reports, lanes)
    while len(written.encode("utf-8", "replace")) > MOST_BYTES and lanes > FEWEST_LANES:
        lanes //= 2
        written = _page(reports, lanes)
    return written


def _page(reports: Sequence[Report], lanes: int) -> str:
    newest = reports[-1]
    style, script = _asset("style.css"), _asset("script.js")
    if newest.language == "zh":
        style += ".en{display:none}.zh{display:revert}"
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; script-src '{hash_of(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    headline = headline_of(newest).in_(newest.language)
    title = f"{VERDICTS[newest.verdict].in_(newest.language)}: {headline} - pdtriage"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width,initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    body = tag(
        "body",
        tag("a", Text("Skip to the answer", "跳到结论"), href="#r-answer", class_="skip"),
        tag("header", tag("span", "pdtriage", class_="brand"), _languages(newest)),
        tag(
            "main",
            _run(newest, "r", lanes),
            *(_earlier(earlier, lanes) for earlier in reversed(reports[:-1])),
        ),
        sections.footer(newest),
        Html(f"<script>{script}</script>"),
    )
    lang = "zh-CN" if newest.language == "zh" else "en"
    return f"<!doctype html>\n{tag('html', head, body, lang=lang)}\n"


def _run(report: Report, name: str, lanes: int) -> Html:
    drawn = by_one_clock(report)
    return join_html(
        sections.answer(report, name),
        stacks_section(report, name),
        sections.attempts_section(report, name),
        rank_map(report, name),
        timeline(drawn, name, lanes),
        course(drawn, name),
        graph(report, name),
        sections.evidence(report, name),
        sections.differences(report, name),
        sections.runs_section(report, name),
        sections.notes(report, name),
    )


def _earlier(report: Report, lanes: int) -> Html:
    head = tag(
        "summary",
        Text(f"Run {report.run}", f"第 {report.run} 次运行"),
        " ",
        tag("span", VERDICTS[report.verdict], class_=f"verdict v-{report.verdict}"),
        " ",
        headline_of(report),
    )
    return tag("details", head, _run(report, f"r{report.run}", lanes), class_="earlier")


def _languages(report: Report) -> Html:
    """Radio buttons and a style sheet: switching needs no script."""
    choices = [
        tag(
            "label",
            tag(
                "input",
                type="radio",
                name="language",
                id=f"lang-{code}",
                checked=report.language == code,
            ),
            tag("span", label, lang=code),
        )
        for code, label in (("en", "English"), ("zh", "中文"))
    ]
    return tag("fieldset", tag("legend", "Language / 语言", class_="sr"), *choices)


@lru_cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()
