"""Curves over time: one per rank or card; of many a band with its middle, and the culprits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

from pdtriage.model import Report, Text
from pdtriage.report.fates import fates
from pdtriage.report.formats.html.build import Child, Html, tag
from pdtriage.report.words import moment_time
from pdtriage.support.fast_namedtuple import NamedTuple

WIDTH, HEIGHT = 1000, 300
MOST_LINES = 16
"""More lines than that are a band."""
MOST_ROWS = 80
_SLICES = 48
_DAY = 86_400
_OF_CARDS = ("GB", "%")
_EVERY_CARD = Text("every card", "各显卡")
Part = Literal["culprit", "other"]


class Curve(NamedTuple):
    """What one rank or card did."""

    name: Text
    part: Part
    points: tuple[tuple[float, float | None], ...]
    """(place, value); no value where it was no number."""


def course(report: Report, name: str) -> Html:
    """The section with all curves there are data for, or nothing."""
    charts = [
        _chart(title, unit, curves, timed)
        for title, unit, curves, timed in (
            _pace(report),
            _losses(report),
            _memory(report),
            _busy(report),
        )
        if any(len(curve.points) > 1 for curve in curves)
    ]
    if not charts:
        return Html("")
    return tag(
        "section",
        tag("h2", Text("How it went", "训练过程"), id=f"{name}-course"),
        tag("div", *charts, class_="charts"),
        aria_labelledby=f"{name}-course",
    )


_Chart = tuple[Text, Text, list[Curve], bool]


def _pace(report: Report) -> _Chart:
    parts = _parts(report)
    curves = [
        Curve(_rank(row.rank, row.local_rank), parts.get((row.role, row.rank), "other"), row.pace)
        for row in report.ranks
        if row.pace
    ]
    return Text("Step rate", "训练速度"), Text("steps/s", "步/秒"), curves, True


def _losses(report: Report) -> _Chart:
    """Over time; over steps where the lines tell no time."""
    parts = _parts(report)
    rows = [row for row in report.ranks if row.losses]
    timed = bool(rows) and all(t is not None for row in rows for t, _, _ in row.losses)
    curves = [
        Curve(
            _rank(row.rank, row.local_rank),
            parts.get((row.role, row.rank), "other"),
            tuple(zip(_places(row.losses, timed), (v for _, _, v in row.losses), strict=True)),
        )
        for row in rows
    ]
    return Text("Loss", "损失（loss）"), Text("", ""), curves, timed


def _places(losses: Sequence[tuple[float | None, int, float | None]], timed: bool) -> list[float]:
    """Times, or else steps in all: a counter that begins anew does not lead a curve back."""
    places: list[float] = []
    before, last = 0, 0
    for time, step, _ in losses:
        if step < last:
            before += last
        last = step
        places.append(time if timed and time is not None else float(before + step))
    return places


def _memory(report: Report) -> _Chart:
    curves = [
        curve._replace(points=tuple((t, used / 1024) for t, _, used in card.samples))
        for curve, card in zip(_cards(report), report.cards, strict=True)
    ]
    return Text("Memory of the cards", "显存占用"), Text("GB", "GB"), curves, True


def _busy(report: Report) -> _Chart:
    curves = [
        curve._replace(points=tuple((t, float(busy)) for t, busy, _ in card.samples))
        for curve, card in zip(_cards(report), report.cards, strict=True)
    ]
    return Text("How busy the cards were", "显卡利用率"), Text("%", "%"), curves, True


def _cards(report: Report) -> list[Curve]:
    parts = _parts(report) if report.cards else {}
    blamed = {(row.host, row.device) for row in report.ranks if (row.role, row.rank) in parts}
    return [
        Curve(
            Text(*[" ".join(part for part in (card.host, card.device) if part)] * 2),
            "culprit" if (card.host, card.device) in blamed else "other",
            (),
        )
        for card in report.cards
    ]


def _parts(report: Report) -> dict[tuple[str, int | None], Part]:
    found: dict[tuple[str, int | None], Part] = {}
    for fate in fates(report):
        if fate.part == "culprit":
            found |= {(row.role, row.rank): "culprit" for row in fate.rows}
    return found


def _rank(rank: int | None, local: int | None) -> Text:
    return Text(*[f"rank {rank}" if rank is not None else f"local {local}"] * 2)


def _chart(title: Text, unit: Text, curves: Sequence[Curve], timed: bool) -> Html:
    values = [value for curve in curves for _, value in curve.points if value is not None]
    places = [place for curve in curves for place, _ in curve.points]
    limits = (0.0, 100.0) if unit.en == "%" else _limits(values, from_zero=bool(unit.en))
    frame = _Frame(min(places), max(places), *limits)
    many = len(curves) > MOST_LINES
    others = [curve for curve in curves if curve.part != "culprit"]
    drawn = _band(others, frame) if many else []
    shown = [c for c in curves if c.part == "culprit"][:MOST_LINES] if many else curves
    for curve in sorted(shown, key=lambda curve: curve.part == "culprit"):
        drawn += _line(curve, frame)
    said = _summary(curves, unit)
    spoken = f"{title.en}: {said.en} / {title.zh}：{said.zh}"
    plot = tag("svg", tag("title", spoken), _grid(), *drawn, **_SVG)
    return tag(
        "figure",
        tag("figcaption", tag("b", title), _unit(unit), tag("span", said, class_="said")),
        tag(
            "div",
            tag("div", *(tag("span", _short(y)) for y in frame.labels()), class_="y-axis"),
            plot,
            tag("div", *(tag("span", x) for x in frame.ticks(timed)), class_="ticks"),
            class_="plot",
        ),
        _legend(many, curves, unit),
        _table(curves, timed),
        class_="chart",
    )


_SVG: Mapping[str, str] = {
    "viewBox": f"0 0 {WIDTH} {HEIGHT}",
    "preserveAspectRatio": "none",
    "role": "img",
}


class _Frame(NamedTuple):
    """Turns places and values into points of the drawing."""

    first: float
    last: float
    low: float
    high: float

    def at(self, place: float, value: float) -> str:
        x = WIDTH * (place - self.first) / ((self.last - self.first) or 1)
        y = HEIGHT * (1 - (value - self.low) / ((self.high - self.low) or 1))
        return f"{round(x)} {round(y)}"

    def labels(self) -> list[float]:
        return [self.high, (self.low + self.high) / 2, self.low]

    def ticks(self, timed: bool) -> list[Text]:
        middle = (self.first + self.last) / 2
        dated = self.last - self.first > _DAY
        places = (self.first, middle, self.last)
        if timed:
            return [Text(*[moment_time(place, dated)] * 2) for place in places]
        first = Text(f"step {self.first:.0f}", f"第 {self.first:.0f} 步")
        return [first, Text(*[f"{middle:.4g}"] * 2), Text(*[f"{self.last:.0f}"] * 2)]


def _limits(values: Sequence[float], from_zero: bool) -> tuple[float, float]:
    """The ends of an axis; of a loss not from zero where all values are below it or far above."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    low = 0.0 if from_zero or 0 <= low <= 0.6 * high else low
    return (low, high * 1.05 if high > 0 else high) if high > low else (low - 0.5, high + 0.5)


def _line(curve: Curve, frame: _Frame) -> list[Html]:
    known = [frame.at(place, value) for place, value in curve.points if value is not None]
    drawn = [
        tag(
            "path",
            tag("title", curve.name.en),
            class_=f"c-{curve.part}",
            d="M" + "L".join(known if len(known) > 1 else known * 2),
        )
        for _ in known[:1]
    ]
    lost = [place for place, value in curve.points if value is None]
    if lost:  # from here on it was no number any more
        x = frame.at(lost[0], frame.low).split()[0]
        drawn.append(tag("path", tag("title", "NaN"), class_="c-nan", d=f"M{x} 0v{HEIGHT}"))
    return drawn


def _band(curves: Sequence[Curve], frame: _Frame) -> list[Html]:
    """The extremes and the middle of all curves; between its points each goes straight on."""
    step = (frame.last - frame.first) / _SLICES
    places = [frame.first + (number + 0.5) * step for number in range(_SLICES)]
    passed: list[list[float]] = [[] for _ in places]
    told: list[list[float]] = [[] for _ in places]
    for curve in curves:
        known = [(place, value) for place, value in curve.points if value is not None]
        for place, value in known:
            told[min(_SLICES - 1, int((place - frame.first) / (step or 1)))].append(value)
        for number, value in _values_at(places, known):
            passed[number].append(value)
    at = [
        (place, sorted([*own, *points]), median(own or points))
        for place, own, points in zip(places, passed, told, strict=True)
        if own or points
    ]
    if not at:
        return []
    upper = [frame.at(place, own[-1]) for place, own, _ in at]
    lower = [frame.at(place, own[0]) for place, own, _ in reversed(at)]
    middle = [frame.at(place, usual) for place, _, usual in at]
    return [
        tag("path", class_="c-band", d=f"M{'L'.join([*upper, *lower])}Z"),
        tag("path", class_="c-middle", d="M" + "L".join(middle)),
    ]


def _values_at(
    places: Sequence[float], points: Sequence[tuple[float, float]]
) -> Iterator[tuple[int, float]]:
    """Where a curve passes, by the numbers of the places between its first point and its last."""
    at = 1
    for number, place in enumerate(places):
        while at < len(points) and points[at][0] < place:
            at += 1
        if at < len(points) and points[at - 1][0] <= place:
            (begin, low), (end, high) = points[at - 1], points[at]
            yield number, low + (high - low) * (place - begin) / ((end - begin) or 1)


def _grid() -> Html:
    lines = "".join(f"M0 {y}h{WIDTH}" for y in (1, HEIGHT // 2, HEIGHT - 1))
    return tag("path", class_="c-grid", d=lines)


def _unit(unit: Text) -> Html | None:
    return tag("span", unit, class_="unit") if unit.en else None


def _summary(curves: Sequence[Curve], unit: Text) -> Text:
    """The last value of the culprit, and what is usual among the others."""
    lasts = {c.name: [v for _, v in c.points if v is not None][-1:] for c in curves}
    blamed = [c for c in curves if c.part == "culprit" and lasts[c.name]]
    others = [lasts[c.name][0] for c in curves if c.part != "culprit" and lasts[c.name]]
    said: list[Text] = []
    for curve in blamed[:1]:
        value = _short(lasts[curve.name][0])
        said.append(
            Text(
                f"{curve.name.en} at the end {value} {unit.en}".rstrip(),
                f"{curve.name.zh} 最后为 {value} {unit.zh}".rstrip(),
            )
        )
    if others:
        value = _short(median(others))
        english = "the others" if blamed else "at the end"
        chinese = "其他为" if blamed else "最后为"
        said.append(
            Text(
                f"{english} {value} {unit.en}".rstrip(),
                f"{chinese} {value} {unit.zh}".rstrip(),
            )
        )
    fullest = _fullest(curves) if unit.en == "GB" and len(curves) > 1 else None
    if fullest:
        name, value = fullest[0], f"{_short(fullest[1])} {unit.en}"
        said.append(Text(f"most {value} on {name.en}", f"最多为 {name.zh} 的 {value}"))
    if any(value is None for curve in curves for _, value in curve.points):
        said.append(Text("then no number any more (NaN)", "之后不再是有限数（NaN）"))
    return Text(", ".join(s.en for s in said), "，".join(s.zh for s in said))


def _fullest(curves: Sequence[Curve]) -> tuple[Text, float] | None:
    """The card that held the most, and how much."""
    most = ((curve.name, v) for curve in curves for _, v in curve.points if v is not None)
    return max(most, key=lambda one: one[1], default=None)


def _legend(many: bool, curves: Sequence[Curve], unit: Text) -> Html:
    blamed = [curve.name for curve in curves if curve.part == "culprit"]
    items: list[Child] = []
    if blamed:
        more = "" if len(blamed) == 1 else f" +{len(blamed) - 1}"
        items.append(tag("span", tag("i", class_="l-culprit"), blamed[0].en + more))
    if many:
        items.append(tag("span", tag("i", class_="l-middle"), Text("median", "中位数")))
        items.append(
            tag("span", tag("i", class_="l-band"), Text("lowest to highest", "最低到最高"))
        )
    elif len(curves) > len(blamed):
        every = _EVERY_CARD if unit.en in _OF_CARDS else Text("every rank", "各 rank")
        word = Text("the others", "其他") if blamed else every
        items.append(tag("span", tag("i", class_="l-other"), word))
    return tag("p", *items, class_="legend")


def _table(curves: Sequence[Curve], timed: bool) -> Html:
    """The drawing as a table: of every curve how it began, its extremes and its end."""
    names = (
        Text("who", "进程"),
        Text("first", "最初"),
        Text("lowest", "最低"),
        Text("highest", "最高"),
        Text("last", "最后"),
        Text("until", "截至") if timed else Text("until step", "截至步数"),
    )
    rows = []
    for curve in sorted(curves, key=lambda curve: curve.part != "culprit")[:MOST_ROWS]:
        own = [value for _, value in curve.points if value is not None]
        if own:
            end = curve.points[-1][0]
            cells = [_short(value) for value in (own[0], min(own), max(own), own[-1])]
            cells.append(moment_time(end, False) if timed else str(round(end)))
            rows.append(tag("tr", tag("td", curve.name), *(tag("td", cell) for cell in cells)))
    head = tag("tr", *(tag("th", cell, scope="col") for cell in names))
    body = tag("table", tag("thead", head), tag("tbody", *rows))
    left = len(curves) - MOST_ROWS
    more = tag("p", Text(f"{left} more", f"另有 {left} 个"), class_="note") if left > 0 else None
    title = Text("as a table", "以表格查看")
    return tag("details", tag("summary", title), tag("div", body, more, class_="scroll"))


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
