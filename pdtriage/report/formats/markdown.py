"""The report as Markdown, for issues, chats and the summary page of a CI job."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TextIO

import pdtriage
from pdtriage.hang.stack_groups import fold_of, telling_stacks
from pdtriage.hang.stack_words import (
    MOST_STACKS,
    frame_line,
    stack_title,
    stacks_title,
    summary_of,
)
from pdtriage.model import Cause, Report, Text
from pdtriage.report import Options
from pdtriage.report.attempt_rows import attempt_rows, has_other_runs
from pdtriage.report.fates import fate_words, fates, steps
from pdtriage.report.sanitise import inert, inert_line
from pdtriage.report.words import (
    CONFIDENCES,
    VERDICTS,
    baseline_title,
    culprit,
    excerpt,
    headline,
    location_of,
    moment_time,
    numbers,
    process_phrase,
    redactions_line,
    role_word,
    run_time,
    victims_line,
)
from pdtriage.support.text_width import cut

OTHER_CAUSES = 8
FATES_SHOWN = 20
RUNS_SHOWN = 20
DIFFERENCES_SHOWN = 20
_DAY = 86_400
_CODE = re.compile(r"`([^`\n]+)`")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$])")
_LEADING = re.compile(r"^(\s*)([-+=]|\d+[.)](?=\s|$))")
# GitHub and GitLab turn these into links and mentions after Markdown is done, escaped or not
_REFERENCE = re.compile(r"@\w|://|\bwww\.|[#!~%&]\d|\bGH-\d|\bmailto:", re.I)
_TICKS = re.compile(r"`+")
MOST_COLUMNS = 2000


class MarkdownReporter:
    name = "markdown"
    suffixes = (".md", ".markdown")

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        stream.write(as_markdown(report, alone=True, quiet=options.quiet))

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        pages = (as_markdown(report, alone=False, quiet=options.quiet) for report in reports)
        stream.write("\n---\n\n".join(pages))


reporter = MarkdownReporter()


def as_markdown(
    report: Report, *, alone: bool = True, quiet: bool = False, most_bytes: int | None = None
) -> str:
    """One run. What does not fit into `most_bytes` is left out from the end, and said so."""
    sections: list[Callable[[Report], str]] = [_verdict, _summary, _answer, _stacks, _attempts]
    if not quiet:
        sections += [_others, _differences, _notes, _timeline, _ranks]
        sections += [_runs, _footer] if alone else [_footer]
    left_out = _say(report, "*Shortened: the rest did not fit.*", "*已截短：其余内容放不下。*")
    room = None if most_bytes is None else most_bytes - len(left_out.encode()) - 2
    written: list[str] = []
    for section in sections:
        part = section(report)
        if not part:
            continue
        if room is not None:
            room -= len(part.encode()) + 2
            if room < 0:
                written.append(left_out)
                break
        written.append(part)
    return "\n\n".join(written) + "\n"


def _verdict(report: Report) -> str:
    word = VERDICTS[report.verdict].in_(report.language)
    said = f"## {word}{_say(report, ': ', '：')}{markdown_prose(headline(report))}"
    if len(report.runs) > 1:
        said += _say(
            report,
            f" (run {report.run} of {len(report.runs)})",
            f"（第 {report.run} 次运行，共 {len(report.runs)} 次）",
        )
    return said


def _summary(report: Report) -> str:
    """A sentence on several attempts, and whether they failed alike."""
    if report.attempts is None:
        return ""
    return f"*{markdown_prose(report.attempts.summary.in_(report.language))}*"


def _stacks(report: Report) -> str:
    """Where the processes stood, and the stack of whoever kept the others waiting."""
    taken = report.standstill
    if taken is None or not taken.stacks:
        return ""
    fold = fold_of(taken)
    title = markdown_prose(stacks_title(taken).in_(report.language))
    parts = [f"### {title}", markdown_prose(summary_of(taken, fold).in_(report.language))]
    for stack in telling_stacks(taken, fold)[:MOST_STACKS] if fold.odd else ():
        # no line begins with a stranger's words: a CI system that is shown the page might obey them
        frames = [f"at {frame_line(f.file, f.line, f.function)}" for f in stack.frames]
        parts.append(block([stack_title(stack).in_(report.language), *frames]))
    return "\n\n".join(parts)


def _attempts(report: Report) -> str:
    rows = []
    for row in attempt_rows(report):
        number = f"**{row.number}**" if row.run.index == report.run else f"{row.number}"
        what = cell(markdown_prose(row.what.in_(report.language)))
        then = cell(markdown_prose(row.then.in_(report.language))) if row.then else ""
        rows.append(f"| {number} | {what} | {then} |")
    if not rows:
        return ""
    head = _say(report, "| attempt | what happened | then |", "| 尝试 | 发生了什么 | 之后 |")
    return "\n".join([head, "|---:|---|---|", *rows])


def _answer(report: Report) -> str:
    if not report.root_causes:
        return _victims(report)
    cause = report.root_causes[0]
    parts = [f"**{markdown_prose(cause.title.in_(report.language))}**"]
    for shown in cause.evidence[:1]:
        parts.append(f"{code(location_of(shown))}\n\n{block(excerpt(shown))}")
    more = [f"- {code(location_of(e))} {code(e.text[:300])}" for e in cause.evidence[1:3]]
    if more:
        parts.append("\n".join(more))
    if cause.frame:
        spot = code(f"{cause.frame.file}:{cause.frame.line}")
        function = cause.frame.function
        inside = f" ({code(function)})" if function and function != "<module>" else ""
        parts.append(_label(report, Text("Your code", "你的代码"), spot + inside))
    if cause.advice:
        steps_ = [
            f"{number}. {markdown_prose(step.in_(report.language))}"
            for number, step in enumerate(cause.advice, 1)
        ]
        parts.append("\n".join([f"**{_say(report, 'What to do', '怎么办')}**", "", *steps_]))
    victims = _victims(report)
    if victims:
        parts.append(victims)
    parts.append(_confidence(cause, report))
    return "\n\n".join(parts)


def _victims(report: Report) -> str:
    if not report.victims:
        return ""
    said = markdown_prose(victims_line(report.victims, report.language))
    return _label(report, Text("Victims", "受牵连"), said)


def _confidence(cause: Cause, report: Report) -> str:
    said = CONFIDENCES[cause.confidence].in_(report.language)
    reasons = _say(report, "; ", "；").join(
        markdown_prose(why.in_(report.language)) for why in cause.why
    )
    if reasons:
        said += _say(report, ": ", "：") + reasons
    return _label(report, Text("Confidence", "可信度"), said)


def _others(report: Report) -> str:
    others = report.root_causes[1:]
    rows = []
    for cause in others[:OTHER_CAUSES]:
        spot = f" {code(location_of(cause.evidence[0]))}" if cause.evidence else ""
        title = markdown_prose(cause.title.in_(report.language))
        word = CONFIDENCES[cause.confidence].in_(report.language)
        rows.append(f"- {markdown_prose(culprit(cause, report))}: {title} ({word}){spot}")
    if len(others) > OTHER_CAUSES:
        more = len(others) - OTHER_CAUSES
        rows.append("- " + _say(report, f"{more} more", f"另有 {more} 个"))
    return _title_section(report, Text("Other causes found", "其他原因"), rows)


def _differences(report: Report) -> str:
    said = []
    for found in report.differences:
        where = f" {code(found.place)}" if found.place else ""
        said.append(f"- {markdown_prose(found.text.in_(report.language))}{where}")
    return _title_section(report, baseline_title(report), said[:DIFFERENCES_SHOWN])


def _notes(report: Report) -> str:
    notes = [f"- {markdown_prose(note.in_(report.language))}" for note in report.notes]
    if report.redactions:
        notes.append(f"- {markdown_prose(redactions_line(report.redactions).in_(report.language))}")
    return _title_section(report, Text("Notes", "说明"), notes)


def _timeline(report: Report) -> str:
    if not report.timeline:
        return ""
    times = [moment.t for moment in report.timeline if moment.t is not None]
    dated = bool(times) and max(times) - min(times) > _DAY
    rows = []
    for moment in report.timeline:
        mark = "~" if moment.about else ""
        stamp = "" if moment.t is None else mark + moment_time(moment.t, dated)
        name = process_phrase(moment.role, moment.rank, None, None, report.language)
        said = markdown_prose(moment.text.in_(report.language))
        rows.append(f"| {stamp} | {cell(markdown_prose(name))} | {cell(said)} |")
    head = _say(report, "| time | who | what |", "| 时间 | 进程 | 事件 |")
    return _fold(report, Text("Timeline", "时间线"), [head, "|---|---|---|", *rows])


def _ranks(report: Report) -> str:
    if not report.ranks:
        return ""
    rows = []
    for fate in fates(report)[:FATES_SHOWN]:
        known = numbers(fate.known_ranks)
        names = f"{role_word(fate.role, report.language, many=len(fate.rows) > 1)} {known or '?'}"
        hosts = ", ".join(fate.hosts[:3]) + (" ..." if len(fate.hosts) > 3 else "")
        words = fate_words(fate).in_(report.language)
        cells = (names[:300], str(len(fate.rows)), words, hosts, steps(fate.rows))
        rows.append("| " + " | ".join(cell(markdown_prose(text)) for text in cells) + " |")
    head = _say(
        report,
        "| who | number | how it ended | host | last step |",
        "| 进程 | 数量 | 结局 | 主机 | 最后一步 |",
    )
    return _fold(report, Text("Ranks", "各 rank"), [head, "|---|---|---|---|---|", *rows])


def _runs(report: Report) -> str:
    if len(report.runs) < 2 or not has_other_runs(report):
        return ""
    rows = []
    for run in report.runs[-RUNS_SHOWN:]:
        word = VERDICTS[run.verdict].in_(report.language).lower()
        number = f"**{run.index}**" if run.index == report.run else f"{run.index}"
        rows.append(f"| {number} | {word} | {run_time(run.started, run.ended)} |")
    head = _say(report, "| run | verdict | when |", "| 运行 | 结论 | 时间 |")
    return _fold(report, Text("Runs found", "所有运行"), [head, "|---|---|---|", *rows])


def _footer(report: Report) -> str:
    said = f"pdtriage {pdtriage.__version__}"
    if report.root_causes:
        cause = report.root_causes[0]
        said += f" · {code('pdtriage explain ' + cause.signature)}"
        if cause.fingerprint:
            said += f" · {code(cause.fingerprint)}"
    return f"<sub>{said}</sub>"


def _say(report: Report, en: str, zh: str) -> str:
    return zh if report.language == "zh" else en


def _label(report: Report, label: Text, said: str) -> str:
    return f"**{label.in_(report.language)}**{_say(report, ': ', '：')}{said}"


def _title_section(report: Report, title: Text, rows: Sequence[str]) -> str:
    return (
        "\n".join([f"**{markdown_prose(title.in_(report.language))}**", "", *rows]) if rows else ""
    )


def _fold(report: Report, title: Text, rows: Sequence[str]) -> str:
    """GitHub and GitLab fold this; elsewhere it is simply there."""
    head = f"<details>\n<summary>{title.in_(report.language)}</summary>\n"
    return "\n".join([head, *rows, "", "</details>"])


def markdown_prose(text: str) -> str:
    """A sentence on one line. What stands between backticks stays code; the rest is plain text."""
    parts = _CODE.split(cut(inert_line(text), MOST_COLUMNS))
    said = "".join(code(part) if odd % 2 else _plain(part) for odd, part in enumerate(parts))
    return _LEADING.sub(lambda found: f"{found[1]}{found[2][:-1]}\\{found[2][-1]}", said)


def code(text: str) -> str:
    """A code span: nothing inside it is read as Markdown."""
    shown = inert_line(text)
    if not shown.strip():
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(markdown: str) -> str:
    """Code inside a table, where a bar would end the cell."""
    return re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", markdown)


def block(lines: Sequence[str]) -> str:
    """Lines as they are, between fences longer than any in them."""
    shown = [inert(line).replace("\n", " ") for line in lines]
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    return "\n".join([f"{fence}text", *shown, fence])


def _plain(text: str) -> str:
    words = re.split(r"(\s+)", text)
    return "".join(code(w) if _REFERENCE.search(w) else _SPECIAL.sub(r"\\\1", w) for w in words)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
