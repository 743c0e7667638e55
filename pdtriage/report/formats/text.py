"""The report for people at a terminal: who, what, where, what to do, on the first screen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, groupby, takewhile
from typing import TextIO

from pdtriage.hang.stack_groups import fold_of, telling_stacks
from pdtriage.hang.stack_words import (
    MOST_STACKS,
    frame_line,
    stack_title,
    stacks_title,
    summary_of,
)
from pdtriage.model import Cause, Evidence, Frame, Moment, Report, Text
from pdtriage.report import Options
from pdtriage.report.formats.text_explanation import explanation
from pdtriage.report.formats.text_page import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Page,
    attempt_lines,
    attempts_line,
    run_lines,
)
from pdtriage.report.sanitise import inert, inert_line
from pdtriage.report.words import (
    CONFIDENCES,
    VERDICTS,
    baseline_title,
    culprit,
    headline,
    location_of,
    moment_time,
    process_phrase,
    redactions_line,
    run_time,
    victims_line,
)
from pdtriage.support.text_width import columns, cut, pad, wrap

CONTEXT_BEFORE, CONTEXT_AFTER = 2, 1
EVIDENCE_ROWS = 3
LEAST_TEXT = 32
"""Columns of a further line that must fit beside its place."""
ADVICE_STEPS = 3
TIMELINE_MOMENTS = 6
OTHER_CAUSES = 4
BAD_ENDS = ("failed", "hung")
DIFFERENCES = 6
STACK_FRAMES = 8
_DAY = 86_400
_VERDICT_COLOURS = {
    "failed": f"{BOLD};{RED}",
    "hung": f"{BOLD};{RED}",
    "interrupted": f"{BOLD};{YELLOW}",
    "unknown": f"{BOLD};{YELLOW}",
    "succeeded": GREEN,
    "running": GREEN,
}


class TextReporter:
    name = "text"
    suffixes = (".txt", ".log")

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        stream.write(_render(report, options, alone=True))

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        for position, report in enumerate(reports):
            if not options.quiet:
                page = Page(report.language, options)
                page.line(("" if position == 0 else "\n") + _run_heading(report), BOLD)
                stream.write(page.text())
            stream.write(_render(report, options, alone=False))


reporter = TextReporter()


def _render(report: Report, options: Options, alone: bool) -> str:
    """One run; `alone` says that the other runs of the folder are not shown around it."""
    page = Page(report.language, options)
    if options.quiet:
        _one_line(report, page)
    elif report.root_causes or report.verdict not in ("succeeded", "running"):
        _full(report, page, alone)
    else:
        _calm(report, page, alone)
    return page.text()


def _full(report: Report, page: Page, alone: bool) -> None:
    _verdict(report, page)
    if report.root_causes:
        cause = report.root_causes[0]
        page.wrap(page.say(cause.title), BOLD)
        attempts_line(report, page)
        page.line()
        _where(cause, page)
        _answers(cause, report, page)
    else:
        attempts_line(report, page)
        _notes(report, page)  # all there is to say
        _victims(report, page, columns(page.say(Text("victims", "受牵连"))))
    attempt_lines(report, page)
    _stacks(report, page)
    _timeline(report, page)
    _other_causes(report, page)
    _differences(report, page)
    if alone:
        run_lines(report, page)
    if report.root_causes:
        _notes(report, page)
        signature = report.root_causes[0].signature
        page.line()
        page.wrap(page.say(Text("More: ", "更多说明：")) + f"pdtriage explain {signature}", DIM)
    explanation(report, page)


def _calm(report: Report, page: Page, alone: bool) -> None:
    _verdict(report, page)
    attempts_line(report, page)
    attempt_lines(report, page)
    told = report.attempts.runs if report.attempts else ()
    failed = [r.index for r in report.runs if r.verdict in BAD_ENDS and r.index not in told]
    if failed and alone:
        earlier = [index for index in failed if index < (report.run or 0)]
        which = Text("an earlier", "较早的") if earlier else Text("a later", "较晚的")
        show = f"{page.analyze} --run {(earlier or failed)[-1]}"
        page.wrap(
            page.say(
                Text(
                    f"Run {report.run} of {len(report.runs)}; {which.en} run failed: {show}",
                    f"这是 {len(report.runs)} 次运行中的第 {report.run} 次；"
                    f"{which.zh}运行有失败：{show}",
                )
            )
        )
    _notes(report, page)
    explanation(report, page)


def _one_line(report: Report, page: Page) -> None:
    word = Text(f"{report.verdict}: ", f"{VERDICTS[report.verdict].zh}：")
    parts = [page.say(word) + headline(report)]
    if report.root_causes:
        cause = report.root_causes[0]
        parts.append(page.say(cause.title))
        parts.extend(location_of(evidence) for evidence in cause.evidence[:1])
    if report.attempts is not None:
        parts.append(page.say(report.attempts.summary))
    page.line(inert_line(" | ".join(parts)))


def _verdict(report: Report, page: Page) -> None:
    word = page.say(VERDICTS[report.verdict])
    colon = page.say(Text(": ", "："))
    page.wrap(word + colon + headline(report), _VERDICT_COLOURS[report.verdict])


def _where(cause: Cause, page: Page) -> None:
    if not cause.evidence:
        return
    shown, *others = cause.evidence
    page.line("  " + inert_line(location_of(shown)))
    before = shown.before[-CONTEXT_BEFORE:]
    after = tuple(takewhile(str.strip, shown.after[:CONTEXT_AFTER]))
    gutter = len(str(shown.line + len(after)))
    for number, text in zip(count(shown.line - len(before)), before, strict=False):
        _log_line(page, number, text, gutter)
    _log_line(page, shown.line, shown.text, gutter, rows=EVIDENCE_ROWS)
    for number, text in zip(count(shown.line + 1), after, strict=False):
        _log_line(page, number, text, gutter)
    for evidence in others[:2]:
        _also(page, evidence)
    page.line()


def _also(page: Page, evidence: Evidence) -> None:
    """A further line: beside its place if a good part of it fits there, else below it.

    The place itself is never cut or broken: people copy it.
    """
    place = "  " + inert_line(location_of(evidence))
    text = inert_line(evidence.text)
    if page.width - columns(place) - 2 >= min(columns(text), LEAST_TEXT):
        page.line(cut(f"{place}  {text}", page.width), DIM)
        return
    page.line(place, DIM)
    page.line(cut(f"      {text}", page.width), DIM)


def _log_line(page: Page, number: int, text: str, gutter: int, rows: int = 0) -> None:
    """One line of the log as it stands there; the evidence itself may take several rows."""
    lead = f"  {'>' if rows else ' '} {number:>{gutter}}  "
    room = page.width - len(lead)
    shown = inert(text).replace("\n", " ")
    if not rows:
        page.line(lead + cut(shown, room), DIM)
        return
    for row in wrap(shown, room, rows):
        page.line(lead + row, BOLD)
        lead = " " * len(lead)


def _answers(cause: Cause, report: Report, page: Page) -> None:
    labels = [
        page.say(label)
        for label in (
            Text("your code", "你的代码"),
            Text("what to do", "怎么办"),
            Text("victims", "受牵连"),
            Text("confidence", "可信度"),
        )
    ]
    width = max(columns(label) for label in labels)
    if cause.frame is not None:
        page.label(labels[0], width, _frame(cause.frame, page))
    steps = cause.advice[:ADVICE_STEPS]
    for number, step in enumerate(steps, 1):
        mark = f"{number}. " if len(steps) > 1 else ""
        page.label(labels[1] if number == 1 else "", width, page.say(step), mark=mark)
    _victims(report, page, width)
    reasons = page.say(Text("; ", "；")).join(page.say(reason) for reason in cause.why)
    confidence = page.say(CONFIDENCES[cause.confidence])
    colon = page.say(Text(": ", "："))
    page.label(labels[3], width, confidence + (colon + reasons if reasons else ""), most=3)


def _victims(report: Report, page: Page, label_width: int) -> None:
    if report.victims:
        label = page.say(Text("victims", "受牵连"))
        page.label(label, label_width, victims_line(report.victims, page.language), most=2)


def _stacks(report: Report, page: Page) -> None:
    """Where the processes stood, and in full the stack of whoever kept the others waiting."""
    taken = report.standstill
    if taken is None or not taken.stacks:
        return
    fold = fold_of(taken)
    page.line()
    page.line(page.say(stacks_title(taken)), BOLD)
    page.wrap(page.say(summary_of(taken, fold)), indent=2)
    for stack in telling_stacks(taken, fold)[:MOST_STACKS] if fold.odd else ():
        page.line(f"  {page.say(stack_title(stack))}", DIM)
        for frame in stack.frames[:STACK_FRAMES]:
            row = f"    {frame_line(frame.file, frame.line, frame.function)}"
            page.line("    " + cut(inert_line(row), page.width - 4), DIM)
    for note in taken.notes[:1]:
        page.wrap(page.say(note), DIM, indent=2)


def _timeline(report: Report, page: Page) -> None:
    if not report.timeline:
        return
    alike = groupby(report.timeline, lambda m: (m.role, m.rank, m.text))
    moments = [next(same) for _, same in alike]
    page.line()
    page.line(page.say(Text("Timeline", "时间线")), BOLD)
    times = [moment.t for moment in moments if moment.t is not None]
    with_date = bool(times) and max(times) - min(times) > _DAY
    places = _worth_showing(moments, report.root_causes)
    shown = [moments[place] for place in places]
    mark = " " if any(moment.about for moment in shown) else ""
    stamps = [
        "" if m.t is None else ("~" if m.about else mark) + moment_time(m.t, with_date)
        for m in shown
    ]
    names = [process_phrase(m.role, m.rank, None, None, page.language) for m in shown]
    stamp_width = max(map(columns, stamps))
    name_width = max(map(columns, names))
    following = 0
    for place, moment, stamp, name in zip(places, shown, stamps, names, strict=True):
        if place > following:
            skipped = place - following
            page.line("  " + page.say(Text(f"({skipped} more)", f"（另有 {skipped} 条）")), DIM)
        following = place + 1
        lead = f"  {pad(stamp, stamp_width)}  " if stamp_width else "  "
        lead += pad(name, name_width)
        page.wrap(page.say(moment.text), indent=columns(lead) + 2, first=lead)


def _worth_showing(moments: Sequence[Moment], causes: Sequence[Cause]) -> list[int]:
    """The first and the last few, and what the culprit said, wherever its clock puts that."""
    if len(moments) <= TIMELINE_MOMENTS + 1:
        return list(range(len(moments)))
    half = TIMELINE_MOMENTS // 2
    guilty = {(cause.role, rank) for cause in causes[:1] for rank in cause.ranks}
    errors = [
        place
        for place, moment in enumerate(moments)
        if moment.kind == "error" and (moment.role, moment.rank) in guilty
    ]
    ends = (*range(half), *range(len(moments) - half, len(moments)))
    return sorted({*ends, *errors[:1]})


def _other_causes(report: Report, page: Page) -> None:
    others = report.root_causes[1:]
    if not others:
        return
    page.line()
    page.line(page.say(Text("Other causes found", "其他原因")), BOLD)
    for cause in others[:OTHER_CAUSES]:
        confidence = page.say(CONFIDENCES[cause.confidence])
        who = culprit(cause, report)
        page.wrap(f"{who}: {page.say(cause.title)} ({confidence})", indent=4, first="  -")
        for evidence in cause.evidence[:1]:  # as it is: people copy it
            page.line("    " + inert_line(location_of(evidence)), DIM)
    if len(others) > OTHER_CAUSES:
        more = len(others) - OTHER_CAUSES
        page.line(
            page.say(
                Text(f"  ({more} more in --format json)", f"  （--format json 中另有 {more} 个）")
            )
        )


def _differences(report: Report, page: Page) -> None:
    if not report.differences:
        return
    page.line()
    page.line(page.say(baseline_title(report)), BOLD)
    for found in report.differences[:DIFFERENCES]:
        page.wrap(page.say(found.text), indent=4, first="  -")
        if found.place:  # as it is: people copy it
            page.line("    " + inert_line(found.place), DIM)
    more = len(report.differences) - DIFFERENCES
    if more > 0:
        page.line("  " + page.say(Text(f"({more} more)", f"（另有 {more} 条）")), DIM)


def _notes(report: Report, page: Page) -> None:
    notes = [page.say(note) for note in report.notes]
    if report.redactions:
        notes.append(page.say(redactions_line(report.redactions)))
    if not notes:
        return
    page.line()
    page.line(page.say(Text("Notes", "说明")), BOLD)
    for note in notes:
        page.wrap(note, indent=4, first="  -")


def _run_heading(report: Report) -> str:
    run = next((run for run in report.runs if run.index == report.run), None)
    when = run_time(run.started, run.ended) if run else ""
    title = Text(
        f"Run {report.run} of {len(report.runs)}",
        f"第 {report.run} 次运行，共 {len(report.runs)} 次",
    )
    return f"{title.in_(report.language)}  {when}".rstrip()


def _frame(frame: Frame, page: Page) -> str:
    place = f"{frame.file}:{frame.line}"
    if not frame.function or frame.function == "<module>":
        return place
    return place + page.say(Text(f" in {frame.function}", f"，函数 {frame.function}"))
