"""The timeline: one lane per rank, folded by equal fate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdtriage.model import Moment, RankRow, Report, Text
from pdtriage.report.fates import Fate, ending, fate_words, fates, steps
from pdtriage.report.html.build import Html, tag
from pdtriage.report.html.words import group_of, process_of
from pdtriage.report.layout import cut
from pdtriage.report.wording import moment_time, role_word

WIDTH = 1000
NAME_COLUMNS = 44
MOST_LANES = 1200
_TICKS = 5
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Scale:
    """From seconds to places on a lane."""

    first: float
    last: float

    def place(self, time: float) -> int:
        if self.last <= self.first:
            return 0
        share = (time - self.first) / (self.last - self.first)
        return round(WIDTH * min(1.0, max(0.0, share)))

    @property
    def with_date(self) -> bool:
        return self.last - self.first > _DAY


def timeline(report: Report, name: str) -> Html:
    """The whole section, or nothing where not a single rank is known."""
    found = fates(report)
    if not found:
        return Html("")
    scale = _scale(report)
    moments: dict[tuple[str, int | None], list[Moment]] = {}
    for moment in report.timeline:
        moments.setdefault((moment.role, moment.rank), []).append(moment)
    room = MOST_LANES
    groups = []
    for fate in found:
        groups.append(_group(fate, scale, moments, min(room, len(fate.rows))))
        room = max(0, room - len(fate.rows))
    return tag(
        "section",
        tag("h2", Text("Timeline", "时间线"), id=f"{name}-timeline"),
        _toolbar(report, name) if scale else None,
        tag(
            "div",
            _axis(scale) if scale else None,
            _launcher_lane(moments, scale) if scale else None,
            *groups,
            class_="lanes",
            data_first=None if scale is None else str(scale.first),
            data_last=None if scale is None else str(scale.last),
        ),
        _legend(),
        _moments(report, scale),
        aria_labelledby=f"{name}-timeline",
    )


def _scale(report: Report) -> Scale | None:
    run = next((run for run in report.runs if run.index == report.run), None)
    times = [moment.t for moment in report.timeline if moment.t is not None]
    seen = [time for row in report.ranks for time in (row.first_seen, row.last_seen)]
    times += [time for time in seen if time is not None]
    if run is not None:
        times += [time for time in (run.started, run.ended) if time is not None]
    return Scale(min(times), max(times)) if times else None


def _group(
    fate: Fate,
    scale: Scale | None,
    moments: dict[tuple[str, int | None], list[Moment]],
    shown: int,
) -> Html:
    own = [m for row in fate.rows for m in moments.get((row.role, row.rank), ())]
    if len(fate.rows) == 1:
        return _lane(fate.rows[0], fate, scale, own)
    count = len(fate.rows)
    names = group_of(fate.role, fate.known_ranks, count)
    short = Text(cut(names.en, NAME_COLUMNS), cut(names.zh, NAME_COLUMNS))
    head = tag(
        "summary",
        tag("b", short, tag("i", f" \u00d7 {count}"), title=names.en),
        tag("span", _hosts(fate), class_="where"),
        _drawing(scale, fate.rows, own),
        tag("span", _with_step(fate_words(fate), steps(fate.rows)), class_="end"),
        class_=f"lane {fate.part}",
    )
    rows: list[Html | None] = [
        _lane(row, fate, scale, moments.get((row.role, row.rank), ())) for row in fate.rows[:shown]
    ]
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


def _lane(row: RankRow, fate: Fate, scale: Scale | None, moments: Sequence[Moment]) -> Html:
    where = " ".join(part for part in (row.host, row.device) if part)
    end = ending(row.exit_code, row.signal)
    words = fate_words(fate) if len(fate.rows) == 1 else Text(end, end)
    step = "" if row.last_step is None else str(row.last_step)
    return tag(
        "div",
        tag("b", process_of(row.role, row.rank, row.local_rank, row.host)),
        tag("span", where, class_="where"),
        _drawing(scale, [row], moments),
        tag("span", _with_step(words, step), class_="end"),
        class_=f"lane {fate.part}",
        data_host=row.host,
        data_role=row.role,
        data_status=row.status,
    )


def _launcher_lane(
    moments: dict[tuple[str, int | None], list[Moment]], scale: Scale | None
) -> Html | None:
    own = moments.get(("launcher", None))
    if not own:
        return None
    return tag(
        "div",
        tag("b", Text("launcher", "启动器")),
        tag("span", "", class_="where"),
        _drawing(scale, [], own),
        tag("span", "", class_="end"),
        class_="lane launcher",
    )


def _drawing(scale: Scale | None, rows: Sequence[RankRow], moments: Iterable[Moment]) -> Html:
    """The life of processes as a bar, and what happened as marks on it."""
    if scale is None:
        return tag("span", class_="life")
    moments = [moment for moment in moments if moment.t is not None]
    parts: list[Html] = []
    seen = [row.last_seen for row in rows if row.last_seen is not None]
    if seen:
        end = scale.place(max(*seen, *(moment.t or 0 for moment in moments), seen[0]))
        begun = [row.first_seen for row in rows if row.first_seen is not None]
        begin = min(scale.place(min(begun)) if begun else 0, end)
        parts.append(tag("rect", x=begin or None, y=6, width=max(2, end - begin), height=8))
    steps_ = [row.last_progress for row in rows if row.last_progress is not None]
    if steps_:
        parts.append(tag("path", class_="m-progress", d=f"M{scale.place(max(steps_))} 4V16"))
    for moment in moments:
        if moment.t is not None:
            at = scale.place(moment.t)
            said = tag("title", moment.text)
            parts.append(tag("path", said, class_=f"m-{_kind(moment.kind)}", d=f"M{at} 2V18"))
    return tag(
        "svg",
        *parts,
        class_="life",
        viewBox=f"0 0 {WIDTH} 20",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


_KINDS = ("start", "progress", "warning", "error", "cause", "symptom", "signal", "exit", "victim")


def _kind(kind: str) -> str:
    kind = {"cause": "error", "victim": "signal"}.get(kind, kind)
    return kind if kind in _KINDS else "other"


def _axis(scale: Scale) -> Html:
    ticks = [scale.first + (scale.last - scale.first) * n / (_TICKS - 1) for n in range(_TICKS)]
    labels = [tag("span", moment_time(tick, scale.with_date)) for tick in ticks]
    return tag("div", tag("div", *labels, class_="ticks"), class_="axis", aria_hidden="true")


def _hosts(fate: Fate) -> str | Text:
    if len(fate.hosts) <= 1:
        return fate.hosts[0] if fate.hosts else ""
    return Text(f"{len(fate.hosts)} hosts", f"{len(fate.hosts)} 台主机")


def _with_step(words: Text, step: str) -> Text:
    if not step:
        return words
    comma = (", ", "，") if words.en else ("", "")
    return Text(f"{words.en}{comma[0]}step {step}", f"{words.zh}{comma[1]}第 {step} 步")


def _toolbar(report: Report, name: str) -> Html:
    """Needs JavaScript, so it is hidden until a script shows it."""
    hosts = list(dict.fromkeys(row.host for row in report.ranks if row.host))
    roles = list(dict.fromkeys(row.role for row in report.ranks))
    statuses = list(dict.fromkeys(row.status for row in report.ranks))
    return tag(
        "div",
        _choice(name, "host", Text("host", "主机"), [(host, host) for host in hosts]),
        _choice(name, "role", Text("role", "角色"), [(r, role_word(r, "en")) for r in roles]),
        _choice(name, "status", Text("status", "状态"), [(s, s) for s in statuses]),
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


def _choice(name: str, what: str, label: Text, options: list[tuple[str, str]]) -> Html | None:
    if len(options) < 2:
        return None
    rows = [tag("option", shown, value=value) for value, shown in options]
    every = tag("option", "all / 全部", value="")
    return tag(
        "label", label, " ", tag("select", every, *rows, data_filter=what, id=f"{name}-{what}")
    )


def _button(act: str, label: str | Text, title: str) -> Html:
    return tag("button", label, type="button", data_zoom=act, title=title, aria_label=title)


def _legend() -> Html:
    marks = (
        ("start", Text("start", "启动")),
        ("progress", Text("last step", "最后一步")),
        ("error", Text("error", "错误")),
        ("symptom", Text("symptom", "症状")),
        ("signal", Text("signal", "信号")),
        ("exit", Text("exit", "退出")),
    )
    items = [tag("span", tag("i", class_=f"k-{kind}"), label) for kind, label in marks]
    note = Text(
        "Times are those of the logs; clocks of different hosts may differ.",
        "时间取自日志；不同主机的时钟可能有偏差。",
    )
    return tag("p", *items, tag("span", note), class_="legend")


def _moments(report: Report, scale: Scale | None) -> Html | None:
    if not report.timeline:
        return None
    rows = []
    dated = scale is not None and scale.with_date
    for moment in report.timeline:
        rows.append(
            tag(
                "tr",
                tag("td", "" if moment.t is None else moment_time(moment.t, dated)),
                tag("td", process_of(moment.role, moment.rank, None, None)),
                tag("td", moment.text),
                class_=f"t-{_kind(moment.kind)}",
            )
        )
    head = tag(
        "tr",
        tag("th", Text("time", "时间"), scope="col"),
        tag("th", Text("who", "进程"), scope="col"),
        tag("th", Text("what", "事件"), scope="col"),
    )
    many = "moment" if len(rows) == 1 else "moments"
    title = Text(f"{len(rows)} {many} as a table", f"以表格查看 {len(rows)} 个事件")
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag("details", tag("summary", title), tag("div", table, class_="scroll"))
