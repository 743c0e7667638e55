"""Do reports hold together? Of every recorded job in the folders given: no effect stands before its
cause in the timeline, the culprit's death is on it, no title is cut within a word or wider than a
line, every command of the advice is one that a shell can read.

python scripts/check_reports.py FOLDER...
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pdtriage import analyze
from pdtriage.model import Moment, Report
from pdtriage.support.text_width import columns

WIDEST = 72
_COMMAND = re.compile(r"`([^`]+)`")
_OTHER = re.compile(r"-|[\w.]+\(|if __name__|Process Process")
_FALLS = ("symptom", "signal", "exit")


def problems_of(report: Report) -> Iterator[str]:
    """What is wrong with one report."""
    yield from _early_effects(report)
    for cause in report.root_causes:
        for title in cause.title:
            if columns(title) > WIDEST:
                yield f"wider than a line: {title!r}"
            if re.search(r"\w…$", title):
                yield f"cut within a word: {title!r}"
    yield from _missing_deaths(report)
    yield from _unreadable_commands(report)


def commands_of(report: Report) -> list[str]:
    """What people paste: all in backticks of the advice but flags, names and lines of Python."""
    steps = [said for cause in report.root_causes for step in cause.advice for said in step]
    found = dict.fromkeys(command for step in steps for command in _COMMAND.findall(step))
    return [command for command in found if " " in command and not _OTHER.match(command)]


def _early_effects(report: Report) -> Iterator[str]:
    """What others say stands below what the culprit did, and its times say the same."""
    if not report.root_causes or not report.timeline:
        return
    first = report.root_causes[0]
    guilty = {(first.role, rank) for rank in first.ranks}
    own = [n for n, m in enumerate(report.timeline) if (m.role, m.rank) in guilty]
    effects = [n for n, m in enumerate(report.timeline) if _is_effect(m, guilty)]
    if guilty and not own and first.title not in {moment.text for moment in report.timeline}:
        yield "the culprit is not in the timeline"
    elif own and effects and own[0] > effects[0]:
        yield f"an effect before its cause: {report.timeline[effects[0]].text.en}"
    times = [moment.t for moment in report.timeline if moment.t is not None]
    if times != sorted(times):
        yield "times go back"


def _missing_deaths(report: Report) -> Iterator[str]:
    """How the culprits ended is told where it is known; of a thousand, of the first few."""
    for cause in report.root_causes[:1]:
        told = {(m.role, m.rank) for m in report.timeline if m.kind in ("exit", "signal")}
        for row in report.ranks:
            is_guilty = row.role == cause.role and row.rank in cause.ranks[:8]
            ended = (row.exit_code, row.signal) != (None, None)
            if is_guilty and ended and (row.role, row.rank) not in told:
                yield f"the death of the culprit {row.rank} is not in the timeline"


def _is_effect(moment: Moment, guilty: set[tuple[str, int]]) -> bool:
    return moment.kind in _FALLS and (moment.role, moment.rank) not in guilty


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
