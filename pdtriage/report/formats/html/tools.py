"""What stands around the lanes: filters and zoom, the legend, the same as a table."""

from __future__ import annotations

from pdtriage.model import Language, Moment, Report, Role, Text
from pdtriage.report.fates import STATUSES
from pdtriage.report.formats.html.build import Html, group_of, process_label, tag
from pdtriage.report.formats.html.drawing import Scale, mark_class
from pdtriage.report.words import moment_time, role_word
from pdtriage.verdict.timeline import with_moments

MOST_ROWS = 200
_FALLS = ("symptom", "signal", "exit")
_TICKS = 5


MOST_HOSTS = 1200
"""Nobody finds a host in a longer list, and not all lanes of such a job are drawn."""


def toolbar(report: Report, name: str) -> Html:
    """The filters and the zoom, hidden until a script shows them: they need JavaScript."""
    hosts = list(dict.fromkeys(row.host for row in report.ranks if row.host))
    hosts = hosts if len(hosts) <= MOST_HOSTS else []
    roles = list(dict.fromkeys(row.role for row in report.ranks))
    statuses = list(dict.fromkeys(row.status for row in report.ranks))
    choices: tuple[tuple[str, Text, list[tuple[str, Text]]], ...] = (
        ("host", Text("host", "主机"), [(host, Text(host, host)) for host in hosts]),
        ("role", Text("role", "角色"), [(r, _role(r)) for r in roles]),
        ("status", Text("status", "状态"), [(s, STATUSES[s]) for s in statuses]),
    )
    return tag(
        "div",
        *(
            _choice(f"{name}-{what}", what, label, options, report.language)
            for what, label, options in choices
        ),
        tag(
            "span",
            _button("in", "+", "zoom in / 放大"),
            _button("out", "\u2212", "zoom out / 缩小"),
            _button("left", "\u2190", "earlier / 更早"),
            _button("right", "\u2192", "later / 更晚"),
            _button("end", Text("the end", "末尾"), "the last tenth / 最后十分之一"),
            _button("all", Text("all", "全部"), "whole run / 整个运行"),
            class_="zoom",
        ),
        tag("span", class_="count", role="status"),
        class_="tools",
        hidden=True,
    )


def axis(scale: Scale) -> Html:
    ticks = [scale.first + (scale.last - scale.first) * n / (_TICKS - 1) for n in range(_TICKS)]
    labels = [tag("span", moment_time(tick, scale.with_date)) for tick in ticks]
    return tag("div", tag("div", *labels, class_="ticks"), class_="axis", aria_hidden="true")


def legend(report: Report) -> Html:
    marks = (
        ("start", Text("start", "启动")),
        ("progress", Text("step", "训练步")),
        ("warning", Text("warning", "警告")),
        ("error", Text("error", "错误")),
        ("symptom", Text("symptom", "症状")),
        ("signal", Text("signal", "信号")),
        ("exit", Text("exit", "退出")),
    )
    items = [tag("span", tag("i", class_=f"k-{kind}"), label) for kind, label in marks]
    differing = len({row.host for row in report.ranks if row.clock_offset})
    clocks = (
        Text(
            f"clocks of {differing} hosts that differ are set right by what both ends saw (~)",
            f"其中 {differing} 台主机的时钟有偏差，已按双方都看到的事件校正（以 ~ 标出）",
        )
        if differing
        else Text("clocks of different hosts may differ", "不同主机的时钟可能有偏差")
    )
    if len({row.host for row in report.ranks}) > 1:
        told = Text(f"Times are those of the logs; {clocks.en}.", f"时间取自日志；{clocks.zh}。")
    else:
        told = Text("Times are those of the logs.", "时间取自日志。")
    note = Text(
        f"{told.en} A step or an error without a time is placed by those around it.",
        f"{told.zh}没有时间的训练步或错误，按其前后的时间估计位置。",
    )
    return tag("p", *items, tag("span", note), class_="legend")


def without_times() -> Html:
    said = Text(
        "These logs hold no times, so nothing can be drawn: only how each rank ended.",
        "这些日志中没有时间，无法画出时间线，只列出各 rank 的结局。",
    )
    return tag("p", said, class_="note")


def table(report: Report, scale: Scale | None) -> Html | None:
    """The lanes for the ear, for the keyboard and for print."""
    moments, whole = moments_of(report)
    if not moments:
        return None
    dated = scale is not None and scale.with_date
    rows = [
        tag(
            "tr",
            tag("td", stamp),
            tag("td", _names(alike)),
            tag("td", alike[0].text),
            class_=f"t-{mark_class(alike[0].kind)}",
        )
        for stamp, alike in _rows_by_second(moments, dated)
    ]
    head = tag(
        "tr",
        tag("th", Text("time", "时间"), scope="col"),
        tag("th", Text("who", "进程"), scope="col"),
        tag("th", Text("what", "事件"), scope="col"),
    )
    count = len(moments)
    many = "moment" if count == 1 else "moments"
    title = (
        Text(f"{count} {many} as a table", f"以表格查看 {count} 个事件")
        if whole
        else Text(
            f"The {count} most telling moments as a table", f"以表格查看最关键的 {count} 个事件"
        )
    )
    body = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag("details", tag("summary", title), tag("div", body, class_="scroll"))


def moments_of(report: Report) -> tuple[list[Moment], bool]:
    """Everything there is in the order of the short story, where that can be read; else that."""
    launchers = [moment for moment in report.timeline if moment.role == "launcher"]
    lived = [moment for row in report.ranks for moment in row.moments]
    if not lived or len(lived) + len(launchers) > MOST_ROWS:
        return list(report.timeline), len(lived) + len(launchers) <= len(report.timeline)
    said = {_without_count(moment) for moment in report.timeline}
    more = [moment for moment in lived if _without_count(moment) not in said]
    more = [_not_before_the_cause(moment, report) for moment in more]
    more.sort(key=lambda m: (m.t is None, m.t or 0.0))
    return list(with_moments(report.timeline, more)), True


def _not_before_the_cause(moment: Moment, report: Report) -> Moment:
    """What a rank says of the fall of another, no earlier than that: stamps are of unlike grain."""
    blamed = {(cause.role, rank) for cause in report.root_causes[:1] for rank in cause.ranks}
    if (moment.role, moment.rank) in blamed or moment.kind not in _FALLS or moment.t is None:
        return moment
    errors = [m for m in report.timeline if (m.role, m.rank) in blamed and m.kind != "start"]
    first = errors[0].t if errors else None
    is_early = first is not None and moment.t < first
    return moment._replace(t=first, about=True) if is_early else moment


def _without_count(moment: Moment) -> tuple[Role, int | None, str, str]:
    """What tells whether two are the same; a lane also says how often it was."""
    return moment.role, moment.rank, moment.kind, moment.text.en.partition(" (\u00d7 ")[0]


def _rows_by_second(moments: list[Moment], dated: bool) -> list[tuple[str, list[Moment]]]:
    """What several ranks did in the same second is one row."""
    rows: dict[tuple[str, str, str, Text], list[Moment]] = {}
    for moment in moments:
        key = (_time(moment, dated), moment.kind, moment.role, moment.text)
        rows.setdefault(key, []).append(moment)
    return [(key[0], alike) for key, alike in rows.items()]


def _names(alike: list[Moment]) -> Text:
    first = alike[0]
    ranks = tuple({moment.rank for moment in alike if moment.rank is not None})
    if len(ranks) < 2:
        return process_label(first.role, first.rank, None, None)
    return group_of(first.role, ranks, len(ranks))


def _time(moment: Moment, dated: bool) -> str:
    if moment.t is None:
        return ""
    return ("~ " if moment.about else "") + moment_time(moment.t, dated)


def _role(role: Role) -> Text:
    return Text(role_word(role, "en"), role_word(role, "zh"))


def _choice(
    name: str, what: str, label: Text, options: list[tuple[str, Text]], language: Language
) -> Html | None:
    if len(options) < 2:
        return None
    rows = [_option(value, shown, language) for value, shown in options]
    every = _option("", Text("all", "全部"), language)
    return tag("label", label, " ", tag("select", every, *rows, data_filter=what, id=name))


def _option(value: str, shown: Text, language: Language) -> Html:
    """An option in one language, as it holds no elements; a script says it in the other."""
    differs = shown.en != shown.zh
    return tag(
        "option",
        shown.in_(language),
        value=value,
        data_en=shown.en if differs else None,
        data_zh=shown.zh if differs else None,
    )


def _button(act: str, label: str | Text, title: str) -> Html:
    return tag("button", label, type="button", data_zoom=act, title=title, aria_label=title)
