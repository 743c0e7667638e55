"""The timeline: one lane per rank, folded by equal fate."""

from __future__ import annotations

from pdtriage.model import Language, RankRow, Report, Text
from pdtriage.report.fates import Fate, ending_label, fate_words, fates, steps
from pdtriage.report.formats.html import tools
from pdtriage.report.formats.html.build import Html, group_of, process_label, tag
from pdtriage.report.formats.html.drawing import Scale, happenings, life_of, lives_of, scale_of
from pdtriage.support.text_width import cut_list

NAME_COLUMNS = 44
MOST_LANES = 1200
MOST_TITLED = 64
"""With more ranks the single lanes are terse, in the language of the report alone: the words and
tooltips of their group tell more."""


def timeline(report: Report, name: str, most: int = MOST_LANES) -> Html:
    """The whole section, or nothing where not a single rank is known."""
    found = fates(report)
    if not found:
        return Html("")
    scale = scale_of(report)
    terse = None if len(report.ranks) <= MOST_TITLED else report.language
    room = most
    groups = []
    for fate in found:
        groups.append(_group(fate, scale, min(room, len(fate.rows)), terse))
        room = max(0, room - len(fate.rows))
    return tag(
        "section",
        tag("h2", Text("Timeline", "时间线"), id=f"{name}-timeline"),
        tools.toolbar(report, name) if scale else None,
        tag(
            "div",
            tools.axis(scale) if scale else None,
            _launcher_lane(report, scale) if scale else None,
            *groups,
            class_="lanes" if scale else "lanes timeless",
            data_first=None if scale is None else str(scale.first),
            data_last=None if scale is None else str(scale.last),
        ),
        tools.legend(report) if scale else tools.without_times(),
        tools.table(report, scale),
        aria_labelledby=f"{name}-timeline",
    )


def _group(fate: Fate, scale: Scale | None, shown: int, terse: Language | None) -> Html:
    if len(fate.rows) == 1:
        return _lane(fate.rows[0], fate, scale, None)
    count = len(fate.rows)
    names = group_of(fate.role, fate.known_ranks, count)
    short = Text(cut_list(names.en, NAME_COLUMNS), cut_list(names.zh, NAME_COLUMNS))
    head = tag(
        "summary",
        tag("b", short, tag("i", f" \u00d7 {count}"), title=names.en),
        tag("span", _hosts(fate), class_="where"),
        lives_of(fate.rows, scale),
        tag("span", _with_step(fate_words(fate), steps(fate.rows)), class_="end"),
        class_=f"lane {fate.part}",
    )
    rows: list[Html | None] = [_lane(row, fate, scale, terse) for row in fate.rows[:shown]]
    if count > shown:
        left = count - shown
        rows.append(
            tag(
                "p",
                Text(
                    f"{left} more ranks of this kind are not drawn",
                    f"另有 {left} 个同类 rank 未画出",
                ),
                class_="note",
            )
        )
    return tag("details", head, *rows, class_="fate")


def _lane(row: RankRow, fate: Fate, scale: Scale | None, terse: Language | None) -> Html:
    where = " ".join(part for part in (row.host, row.device) if part)
    end = ending_label(row.exit_code, row.signal)
    words = fate_words(fate) if len(fate.rows) == 1 else end
    step = "" if row.last_step is None else str(row.last_step)
    said = _with_step(words, step)
    return tag(
        "div",
        tag("b", process_label(row.role, row.rank, row.local_rank, row.host)),
        tag("span", where, class_="where"),
        life_of(row, scale, terse is None),
        tag("span", said.in_(terse) if terse else said, class_="end"),
        class_=f"lane {fate.part}",
        data_host=row.host,
        data_role=row.role,
        data_status=row.status,
    )


def _launcher_lane(report: Report, scale: Scale | None) -> Html | None:
    own = [m for m in report.timeline if m.role == "launcher" and m.rank is None]
    if not own:
        return None
    return tag(
        "div",
        tag("b", Text("launcher", "启动器")),
        tag("span", "", class_="where"),
        happenings(own, scale),
        tag("span", "", class_="end"),
        class_="lane launcher",
    )


def _hosts(fate: Fate) -> str | Text:
    if len(fate.hosts) <= 1:
        return fate.hosts[0] if fate.hosts else ""
    return Text(f"{len(fate.hosts)} hosts", f"{len(fate.hosts)} 台主机")


def _with_step(words: Text, step: str) -> Text:
    if not step:
        return words
    comma = (", ", "，") if words.en else ("", "")
    return Text(f"{words.en}{comma[0]}step {step}", f"{words.zh}{comma[1]}第 {step} 步")
