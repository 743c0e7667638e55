"""The part of the page that shows where the processes stood."""

from __future__ import annotations

from pdtriage.hang.places import StackGroup, fold_of
from pdtriage.hang.words import frame_line, name_of, stacks_title, summary_of, where_text
from pdtriage.model import ProcessStack, Report, Text
from pdtriage.report.formats.html.build import Html, prose, tag
from pdtriage.report.sanitise import inert_line
from pdtriage.support.number_spans import numbers

MOST_GROUPS = 40


def stacks(report: Report, name: str) -> Html:
    """All places with their ranks, and one whole stack for each."""
    taken = report.standstill
    if taken is None or not taken.stacks:
        return Html("")
    fold = fold_of(taken)
    return tag(
        "section",
        tag("h2", stacks_title(taken)),
        tag("p", prose(summary_of(taken, fold))),
        *(_group(group) for group in fold.groups[:MOST_GROUPS]),
        *(tag("p", prose(note), class_="note") for note in taken.notes),
        id=f"{name}-stacks",
    )


def _group(group: StackGroup) -> Html:
    who = f"rank {numbers(group.ranks)}" if group.ranks else name_of(group.members[0])
    where = where_text(group.where, group.members[0])
    head = Text(f"{who}: {where.en}", f"{who}：{where.zh}")
    return tag("details", tag("summary", prose(head)), tag("pre", _frames(group.members[0])))


def _frames(stack: ProcessStack) -> str:
    frames = [*stack.native, *(frame_line(f.file, f.line, f.function) for f in stack.frames)]
    return "\n".join(map(inert_line, frames))
