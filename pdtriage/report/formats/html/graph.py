"""Who was brought down by whom, as a drawing: arrows lead from culprits to their victims."""

from __future__ import annotations

from dataclasses import dataclass

from pdtriage.model import Cause, Report, Text, Victim
from pdtriage.report.formats.html.build import (
    Child,
    Html,
    culprit_of,
    group_of,
    join_html,
    process_label,
    tag,
)
from pdtriage.report.sanitise import inert_line
from pdtriage.report.words import REASONS
from pdtriage.support.text_width import cut_list, wrap

MOST_CAUSES = 6
_BOX, _GAP, _BETWEEN = 340, 18, 120
_HIGH, _FIRST, _ROW = 76, 24, 18
_NAME_COLUMNS, _COLUMNS = 41, 46


@dataclass(frozen=True, slots=True)
class _Group:
    victims: tuple[Victim, ...]
    culprit: int


def graph(report: Report, name: str) -> Html:
    """The section, or nothing where nobody is blamed by anybody."""
    causes = report.root_causes[:MOST_CAUSES]
    groups = _groups(report, causes)
    if not causes or not groups:
        return Html("")
    height = max(len(causes), len(groups)) * (_HIGH + _GAP) + _GAP
    left = [_top(number, len(causes), height) for number in range(len(causes))]
    right = [_top(number, len(groups), height) for number in range(len(groups))]
    arrows = [
        _arrow(left[group.culprit], right[number], name) for number, group in enumerate(groups)
    ]
    boxes = [_cause_box(c, report, top) for c, top in zip(causes, left, strict=True)]
    boxes += [_victim_box(group, top) for group, top in zip(groups, right, strict=True)]
    title = Text("Who was brought down by whom", "谁拖垮了谁")
    drawing = tag(
        "svg",
        tag("title", title.en + " / " + title.zh, id=f"{name}-graph-title"),
        _arrowhead(name),
        *arrows,
        *boxes,
        viewBox=f"0 0 {2 * _BOX + _BETWEEN + 4} {height}",
        role="img",
        aria_labelledby=f"{name}-graph-title",
        class_="graph",
    )
    spoken = [
        tag(
            "li",
            culprit_of(causes[group.culprit], report),
            " \u2192 ",
            _names(group),
            Text(": ", "："),
            _reason(group),
        )
        for group in groups
    ]
    return tag(
        "section",
        tag("h2", title, id=f"{name}-graph"),
        tag("div", drawing, class_="scroll", tabindex=0),
        tag("ul", *spoken, class_="sr graph-words"),
        aria_labelledby=f"{name}-graph",
    )


def _groups(report: Report, causes: tuple[Cause, ...]) -> list[_Group]:
    """Victims of one culprit with one reason are one box."""
    owner = {rank: n for n, cause in reversed(list(enumerate(causes))) for rank in cause.ranks}
    groups: dict[tuple[str, str, int], list[Victim]] = {}
    for victim in report.victims:
        target = owner.get(victim.because_of, 0) if victim.because_of is not None else 0
        groups.setdefault((victim.role, victim.reason, target), []).append(victim)
    found = [_Group(tuple(members), key[2]) for key, members in groups.items()]
    return sorted(found, key=lambda group: (group.culprit, -len(group.victims)))


def _top(number: int, count: int, height: int) -> int:
    used = count * (_HIGH + _GAP) - _GAP
    return (height - used) // 2 + number * (_HIGH + _GAP)


def _victim_box(group: _Group, top: int) -> Html:
    count = len(group.victims)
    reason = _reason(group)
    said = Text(f"{count} × {reason.en}", f"{count} 个{reason.zh}") if count > 1 else reason
    names = _names(group)
    short = Text(cut_list(names.en, _NAME_COLUMNS), cut_list(names.zh, _NAME_COLUMNS))
    return _box(2 + _BOX + _BETWEEN, top, "victim", short, said)


def _cause_box(cause: Cause, report: Report, top: int) -> Html:
    who = culprit_of(cause, report)
    if len(cause.ranks) == 1:  # how many there are in all stands above
        name = process_label(cause.role, cause.rank, cause.local_rank, None)
        place = cause.host or ""
        comma = Text(", ", "，") if place else Text("", "")
        who = Text(name.en + comma.en + place, name.zh + comma.zh + place)
    return _box(2, top, "culprit", who, cause.title)


def _names(group: _Group) -> Text:
    ranks = tuple(v.rank for v in group.victims if v.rank is not None)
    return group_of(group.victims[0].role, ranks, len(group.victims))


def _reason(group: _Group) -> Text:
    return REASONS[group.victims[0].reason]


def _box(left: int, top: int, kind: str, first: Text, second: Text) -> Html:
    return tag(
        "g",
        tag("title", f"{first.en}: {second.en} / {first.zh}：{second.zh}"),
        tag("rect", x=left, y=top, width=_BOX, height=_HIGH, rx=8),
        *_bilingual_rows(left + 14, top + _FIRST, first, "name", (_NAME_COLUMNS, 1)),
        *_bilingual_rows(left + 14, top + _FIRST + _ROW + 2, second, "what", (_COLUMNS, 2)),
        class_=kind,
    )


def _bilingual_rows(
    x: int, y: int, text: Text, kind: str, room: tuple[int, int]
) -> tuple[Child, ...]:
    """Rows of text in both languages; a box has no other way to break a line."""
    if text.en == text.zh:
        return _rows(x, y, text.en, kind, room)
    return (
        tag("g", *_rows(x, y, text.en, kind, room), class_="en", lang="en"),
        tag("g", *_rows(x, y, text.zh, kind, room), class_="zh", lang="zh-CN"),
    )


def _rows(x: int, y: int, text: str, kind: str, room: tuple[int, int]) -> tuple[Html, ...]:
    width, most = room
    rows = wrap(inert_line(text), width, most)
    return tuple(tag("text", row, x=x, y=y + n * _ROW, class_=kind) for n, row in enumerate(rows))


def _arrow(top: int, target: int, name: str) -> Html:
    """An arrow from the culprit at `top` to its victims at `target`."""
    start, end = 2 + _BOX, 2 + _BOX + _BETWEEN - 6
    middle = (start + end) // 2
    y1, y2 = top + _HIGH // 2, target + _HIGH // 2
    curve = f"M{start} {y1}C{middle} {y1} {middle} {y2} {end} {y2}"
    return tag("path", d=curve, class_="edge", marker_end=f"url(#{name}-head)")


def _arrowhead(name: str) -> Html:
    return join_html(
        tag(
            "defs",
            tag(
                "marker",
                tag("path", d="M0 0L8 4L0 8z"),
                id=f"{name}-head",
                markerWidth=8,
                markerHeight=8,
                refX=7,
                refY=4,
                orient="auto",
            ),
        )
    )
