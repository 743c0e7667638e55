"""The parts of the page that are words: the answer, the evidence, the runs, the notes."""

from __future__ import annotations

from itertools import count, takewhile

import pdtriage
from pdtriage.model import Cause, Evidence, Report, Run, Text
from pdtriage.report.attempt_rows import attempt_rows
from pdtriage.report.formats.html.build import (
    Child,
    Html,
    culprit_of,
    group_of,
    headline_of,
    join_html,
    prose_html,
    tag,
    victims_label,
)
from pdtriage.report.words import (
    CONFIDENCES,
    VERDICTS,
    baseline_title,
    location_of,
    redactions_line,
    run_time,
)
from pdtriage.support.text_width import cut

MOST_CAUSES = 20
MOST_EVIDENCE, MOST_OF_OTHERS = 6, 2
MOST_RUNS = 200
MOST_NOTES = 200
LINE_COLUMNS, CONTEXT_COLUMNS = 1200, 300


def answer(report: Report, name: str) -> Html:
    """Verdict, culprit, what happened, where, what to do: the first screen."""
    word = VERDICTS[report.verdict]
    parts: list[Child] = [
        tag(
            "h1",
            tag("span", word, class_=f"verdict v-{report.verdict}"),
            " ",
            tag("span", headline_of(report), class_="who"),
        )
    ]
    if report.root_causes:
        parts.append(tag("p", prose_html(report.root_causes[0].title), class_="title"))
    if report.attempts is not None:
        parts.append(tag("p", prose_html(report.attempts.summary), class_="note"))
    if report.root_causes:
        cause = report.root_causes[0]
        if cause.evidence:
            parts.append(_lines(cause.evidence[0], before=3, after=1))
        parts.append(_facts(cause, report))
    elif report.victims:
        parts.append(tag("dl", *_fact(Text("Victims", "受牵连"), victims_label(report.victims))))
    return tag("section", *parts, class_="answer", id=f"{name}-answer", tabindex=-1)


def attempts_section(report: Report, name: str) -> Html:
    """One attempt after the other, and why it was followed by the next."""
    rows = [
        tag(
            "tr",
            tag("td", str(row.number)),
            tag("td", _verdict(row.run)),
            tag("td", prose_html(row.what)),
            tag("td", prose_html(row.then) if row.then else None),
            class_="current" if row.run.index == report.run else None,
            aria_current="true" if row.run.index == report.run else None,
        )
        for row in attempt_rows(report)
    ]
    if not rows:
        return Html("")
    names = (
        Text("attempt", "尝试"),
        Text("verdict", "结论"),
        Text("what happened", "发生了什么"),
        Text("then", "之后"),
    )
    head = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in names)))
    table = tag("div", tag("table", head, tag("tbody", *rows)), class_="scroll")
    return _section(name, "attempts", Text("Attempts", "各次尝试"), table)


def evidence(report: Report, name: str) -> Html:
    """The section of causes with all their evidence; equal ones on many ranks are told once."""
    if not report.root_causes:
        return Html("")
    shown = report.root_causes[:MOST_CAUSES]
    parts = [_cause(cause, report, first=number == 0) for number, cause in enumerate(shown)]
    left = len(report.root_causes) - len(shown)
    more = (
        tag(
            "p",
            Text(f"{left} more causes are in the JSON report", f"另有 {left} 个原因见 JSON 报告"),
        )
        if left
        else None
    )
    title = Text("Evidence", "证据")
    return _section(name, "evidence", title, *parts, more)


def differences(report: Report, name: str) -> Html:
    said = [
        tag(
            "li",
            prose_html(found.text),
            join_html(" ", tag("code", found.place)) if found.place else None,
        )
        for found in report.differences[:MOST_NOTES]
    ]
    if not said:
        return Html("")
    return _section(name, "unlike", baseline_title(report), tag("ul", *said))


def runs_section(report: Report, name: str) -> Html:
    if len(report.runs) < 2:
        return Html("")
    rows = []
    for run in report.runs[-MOST_RUNS:]:
        mark = run.index == report.run
        rows.append(
            tag(
                "tr",
                tag("td", str(run.index)),
                tag("td", str(run.launch)),
                tag("td", str(run.attempt + 1)),
                tag("td", _verdict(run)),
                tag("td", run_time(run.started, run.ended)),
                class_="current" if mark else None,
                aria_current="true" if mark else None,
            )
        )
    names = (
        Text("run", "运行"),
        Text("launch", "启动"),
        Text("attempt", "尝试"),
        Text("verdict", "结论"),
        Text("when", "时间"),
    )
    head = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in names)))
    table = tag("div", tag("table", head, tag("tbody", *rows)), class_="scroll")
    return _section(name, "runs", Text("All runs of the folder", "文件夹中的所有运行"), table)


def notes(report: Report, name: str) -> Html:
    said = [tag("li", prose_html(note)) for note in report.notes[:MOST_NOTES]]
    if len(report.notes) > MOST_NOTES:
        left = len(report.notes) - MOST_NOTES
        said.append(tag("li", Text(f"{left} more notes", f"另有 {left} 条说明")))
    if report.redactions:
        said.append(tag("li", redactions_line(report.redactions)))
    return _section(name, "notes", Text("Notes", "说明"), tag("ul", *said)) if said else Html("")


def footer(report: Report) -> Html:
    parts: list[Child] = [f"pdtriage {pdtriage.__version__}"]
    if report.job.id:
        parts.append(join_html(Text("job", "任务"), " ", tag("code", report.job.id)))
    for cause in report.root_causes[:1]:
        parts.append(tag("code", f"pdtriage explain {cause.signature}"))
        parts.append(join_html(Text("fingerprint", "指纹"), " ", tag("code", cause.fingerprint)))
    return tag("footer", *(tag("span", part) for part in parts))


def _verdict(run: Run) -> Html:
    return tag("span", VERDICTS[run.verdict], class_=f"verdict v-{run.verdict}")


def _facts(cause: Cause, report: Report) -> Html:
    rows: list[Html] = []
    if cause.frame:
        spot = tag("code", f"{cause.frame.file}:{cause.frame.line}")
        function = cause.frame.function
        if function and function != "<module>":
            spot = join_html(spot, " ", tag("code", f"{function}()"))
        rows.extend(_fact(Text("Your code", "你的代码"), spot))
    if cause.advice:
        steps = tag("ol", *(tag("li", prose_html(step)) for step in cause.advice))
        rows.extend(_fact(Text("What to do", "怎么办"), steps))
    if report.victims:
        rows.extend(_fact(Text("Victims", "受牵连"), victims_label(report.victims)))
    rows.extend(_fact(Text("Confidence", "可信度"), _confidence(cause)))
    return tag("dl", *rows)


def _fact(label: Text, said: Child) -> tuple[Html, Html]:
    return tag("dt", label), tag("dd", said)


def _confidence(cause: Cause) -> Html:
    word = tag("b", CONFIDENCES[cause.confidence])
    if not cause.why:
        return word
    if len(cause.why) == 1:
        return join_html(word, Text(": ", "："), prose_html(cause.why[0]))
    return join_html(word, tag("ul", *(tag("li", prose_html(why)) for why in cause.why)))


def _cause(cause: Cause, report: Report, first: bool) -> Html:
    head = tag(
        "summary",
        tag("b", culprit_of(cause, report)),
        " ",
        prose_html(cause.title),
        " ",
        tag("span", cause.category, class_="chip"),
        tag("span", CONFIDENCES[cause.confidence], class_="chip"),
    )
    body: list[Child] = []
    if len(cause.ranks) > 1:
        same = group_of(cause.role, cause.ranks, len(cause.ranks))
        said = Text(f"The same on {same.en}", f"以下进程相同：{same.zh}")
        body.append(tag("p", said, class_="note"))
    most = MOST_EVIDENCE if first else MOST_OF_OTHERS
    body += [_lines(shown) for shown in cause.evidence[:most]]
    left = len(cause.evidence) - most
    if left > 0:
        body.append(tag("p", Text(f"{left} more places", f"另有 {left} 处"), class_="note"))
    if cause.fields:
        pairs = [
            item
            for key, value in cause.fields.items()
            for item in (tag("dt", key), tag("dd", tag("code", cut(value, LINE_COLUMNS))))
        ]
        body.append(tag("dl", *pairs, class_="fields"))
    tells_more = first and len(cause.evidence) > 1  # than the first screen has told already
    return tag("details", head, *body, class_="cause", open=tells_more)


def _lines(shown: Evidence, before: int | None = None, after: int | None = None) -> Html:
    """A piece of the log with its line numbers; the evidence is marked, also for the ear."""
    above = shown.before if before is None else shown.before[-before:]
    below = shown.after if after is None else tuple(takewhile(str.strip, shown.after[:after]))
    rows = []
    for number, text in zip(count(shown.line - len(above)), (*above, shown.text, *below)):
        hit = number == shown.line
        line = tag(
            "mark" if hit else "span", cut(text, LINE_COLUMNS if hit else CONTEXT_COLUMNS) or " "
        )
        rows.append(tag("span", tag("i", str(number) if number > 0 else ""), line, class_="row"))
    caption = tag("figcaption", tag("code", location_of(shown)))
    return tag("figure", caption, tag("pre", *rows, tabindex=0), class_="log")


def _section(name: str, part: str, title: Text, *children: Child) -> Html:
    heading = f"{name}-{part}"
    return tag("section", tag("h2", title, id=heading), *children, aria_labelledby=heading)
