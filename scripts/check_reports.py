"""Do reports hold together? Of every recorded job in the folders given: no effect stands before its
cause in the timeline, the culprit's death is on it, no title is cut within a word or wider than a
line, every command of the advice is one that a shell can read.

python scripts/check_reports.py FOLDER...
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pdtriage import analyze
from pdtriage.model import Cause, Moment, Report
from pdtriage.support.text_width import columns

WIDEST = 2 * 78
"""Columns of a title: a line, or two where the words of an exception need them."""
_COMMAND = re.compile(r"`([^`]+)`")
_OTHER = re.compile(r"-|[\w.]+\(|if __name__|Process Process")
_SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,}")
_CLASS = re.compile(r"\w+(?:Error|Exception|Warning|Interrupt|Exit): ")
_FALLS = ("symptom", "signal", "exit")


def problems_of(report: Report) -> Iterator[str]:
    """What is wrong with one report."""
    yield from _early_effects(report)
    for cause in report.root_causes:
        said = max((len(shown.text) for shown in cause.evidence), default=0)
        for title in cause.title:
            yield from _bad_title(title)
            if title.endswith("…") and said <= WIDEST:
                yield f"cut, though it is not long: {title!r}"
    for moment in report.timeline:
        for said_then in moment.text:
            yield from _bad_title(said_then)
        same = moment.text.en == moment.text.zh and _SENTENCE.search(moment.text.en)
        if same and not _is_quoted(moment.text.en, report):
            yield f"in one language only: {moment.text.en!r}"
    yield from _missing_deaths(report)
    yield from _unreadable_commands(report)


def _bad_title(title: str) -> Iterator[str]:
    if columns(title) > WIDEST:
        yield f"wider than two lines: {title!r}"
    if re.search(r"\w…$", title):
        yield f"cut within a word: {title!r}"
    if re.search(r"[:：]\s*…?$", title):
        yield f"says nothing: {title!r}"


def _is_quoted(title: str, report: Report) -> bool:
    """Whether these are the words of a log, which nobody translates."""
    begin = title.partition(" …")[0].partition("…")[0][:40]
    shown = [line for cause in report.root_causes for line in cause.evidence]
    return any(begin in line.text for line in shown) or bool(_CLASS.match(title))


def commands_of(report: Report) -> list[str]:
    """What people paste: all in backticks of the advice but flags, names and lines of Python."""
    steps = [said for cause in report.root_causes for step in cause.advice for said in step]
    found = dict.fromkeys(command for step in steps for command in _COMMAND.findall(step))
    return [command for command in found if " " in command and not _OTHER.match(command)]


def _early_effects(report: Report) -> Iterator[str]:
    """What others say stands below what the culprit did, and its times say the same."""
    timeline = report.timeline
    starts = [n for n, moment in enumerate(timeline) if moment.kind == "start"]
    if starts not in ([], [0]):
        yield "something happened before the run started"
    yield from _early_ends(timeline)
    times = [moment.t for moment in timeline if moment.t is not None]
    if times != sorted(times):
        yield "times go back"
    if not report.root_causes or not timeline:
        return
    first = report.root_causes[0]
    own = [n for n, moment in enumerate(timeline) if _is_of(moment, first)]
    effects = [n for n, moment in enumerate(timeline) if _is_effect(moment, first)]
    if first.ranks and not own and first.title not in {moment.text for moment in timeline}:
        yield "the culprit is not in the timeline"
    elif own and effects and own[0] > effects[0]:
        yield f"an effect before its cause: {timeline[effects[0]].text.en}"


def _early_ends(timeline: Sequence[Moment]) -> Iterator[str]:
    """Nobody says anything after its end."""
    ended: set[tuple[str, int | None]] = set()
    for moment in timeline:
        who = moment.role, moment.rank
        if moment.kind == "exit":
            ended.add(who)
        elif who in ended and moment.kind in ("error", "symptom"):
            yield f"spoke after its end: {moment.text.en}"


def _missing_deaths(report: Report) -> Iterator[str]:
    """How the culprits ended is told where it is known; of a thousand, of the first few."""
    for cause in report.root_causes[:1]:
        told = {(m.role, m.rank) for m in report.timeline if m.kind in ("exit", "signal")}
        for row in report.ranks:
            is_guilty = row.role == cause.role and row.rank in cause.ranks[:8]
            ended = (row.exit_code, row.signal) != (None, None)
            if is_guilty and ended and (row.role, row.rank) not in told:
                yield f"the death of the culprit {row.rank} is not in the timeline"


def _is_of(moment: Moment, cause: Cause) -> bool:
    """Whether it is of whom the cause blames; of a launcher, which says much, the cause itself."""
    if cause.role == "launcher":
        return moment.role == "launcher" and moment.text == cause.title
    return (moment.role, moment.rank) in {(cause.role, rank) for rank in cause.ranks}


def _is_effect(moment: Moment, cause: Cause) -> bool:
    """Ends of anybody, what others say of it, and that the launcher found it dead."""
    found = moment.kind == "launcher" and "found" in moment.text.en and bool(cause.ranks)
    if _is_of(moment, cause):
        return moment.kind == "exit"
    return found or moment.kind in _FALLS


def _unreadable_commands(report: Report) -> Iterator[str]:
    for command in commands_of(report):
        read = subprocess.run(
            ["bash", "-n", "-c", command], capture_output=True, text=True, check=False
        )
        if read.returncode:
            yield f"no command of a shell: {command!r}: {read.stderr.strip()}"


def main(folders: list[str]) -> int:
    cases = [case for folder in folders for case in sorted(Path(folder).iterdir())]
    cases = [case for case in cases if case.is_dir()]
    wrong = 0
    for case in cases:
        for problem in problems_of(analyze(case)):
            wrong += 1
            print(f"{case.name}: {problem}")
    print(f"{len(cases)} cases, {wrong} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
