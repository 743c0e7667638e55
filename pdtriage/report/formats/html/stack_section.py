"""The part of the page that shows where the processes stood."""

from __future__ import annotations

from pdtriage.hang.stack_groups import StackGroup, fold_of, helpers_in_the_way
from pdtriage.hang.stack_words import (
    frame_line,
    stack_owner,
    stack_title,
    stacks_title,
    summary_of,
    where_text,
)
from pdtriage.model import ProcessStack, Report, Standstill, Text
from pdtriage.report.formats.html.build import Html, prose_html, tag
from pdtriage.support.number_spans import numbers

MOST_GROUPS = 40


def stacks_section(report: Report, name: str) -> Html:
    """All places with their ranks, and one whole stack for each."""
    taken = report.standstill
    if taken is None or not taken.stacks:
        return Html("")
    fold = fold_of(taken)
    odd = set(fold.odd)
    groups = sorted(fold.groups, key=lambda group: odd.isdisjoint(group.members))
    total = sum(len(group.members) for group in groups)
    return tag(
        "section",
        tag("h2", stacks_title(taken)),
        tag("p", prose_html(summary_of(taken, fold))),
        *(
            _group(group, taken, total, odd=not odd.isdisjoint(group.members))
            for group in groups[:MOST_GROUPS]
        ),
        *(tag("p", prose_html(note), class_="note") for note in taken.notes),
        id=f"{name}-stacks",
    )


def _group(group: StackGroup, taken: Standstill, total: int, *, odd: bool) -> Html:
    """How many stand there as a bar, and the stack, with that of the loader worker it waits for;
    open is that of whom the others wait for."""
    who = f"rank {numbers(group.ranks)}" if group.ranks else stack_owner(group.members[0])
    where = where_text(group.where, group.members[0])
    head = Text(f"{who}: {where.en}", f"{who}：{where.zh}")
    share = max(2, round(100 * len(group.members) / max(1, total)))
    bar = tag(
        "svg",
        tag("rect", width=share, height=8),
        class_="share",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    waits = Text("the others wait for it", "其他进程在等它")
    return tag(
        "details",
        tag(
            "summary",
            bar,
            tag("b", prose_html(head)),
            tag("span", waits, class_="chip") if odd else None,
        ),
        tag("pre", _frames(group.members[0]), tabindex=0),
        *(
            part
            for helper in helpers_in_the_way(group.members[0], taken.stacks)[:1]
            for part in (tag("p", stack_title(helper)), tag("pre", _frames(helper), tabindex=0))
        ),
        class_="stack culprit" if odd else "stack",
        open=odd,
    )


def _frames(stack: ProcessStack) -> Html:
    """One in each line, which begins with a tag: a CI system that is shown the page obeys none."""
    frames = [*stack.native, *(frame_line(f.file, f.line, f.function) for f in stack.frames)]
    return Html("\n".join(tag("span", frame) for frame in frames))
