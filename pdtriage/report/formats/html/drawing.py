"""The life of a process, or of several that ended alike, as a small drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdtriage.model import Moment, RankRow, Report, Text
from pdtriage.report.formats.html.build import Html, tag

WIDTH = 1000
_DAY = 86_400
_NEAR = 8
"""Marks of many ranks that close are one mark."""
_MOST_MARKS = 120
"""Of a fold: what the most ranks did."""
_MANY = 16
"""More ranks than that are drawn as how many did something at a time, not as marks of each."""
_SLICE = 20
_HEIGHTS = {
    "progress": (7, 6),
    "start": (3, 14),
    "warning": (1, 9),
    "symptom": (10, 9),
    "signal": (10, 9),
    "error": (0, 20),
    "exit": (3, 14),
    "other": (4, 12),
}
"""Where a mark begins and how far it reaches: the kinds differ in more than their colour.

Later ones lie on top."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Turns seconds into places on a lane."""

    first: float
    last: float

    def x_of(self, time: float) -> int:
        if self.last <= self.first:
            return 0
        share = (time - self.first) / (self.last - self.first)
        return round(WIDTH * min(1.0, max(0.0, share)))

    @property
    def with_date(self) -> bool:
        return self.last - self.first > _DAY


def by_one_clock(report: Report) -> Report:
    """The report with what its hosts tell at the times of the culprit's clock, for drawing."""
    offsets = {row.host: row.clock_offset for row in report.ranks if row.clock_offset}
    if not offsets:
        return report
    cards = ((card, offsets.get(card.host) or 0.0) for card in report.cards)
    return report._replace(
        ranks=tuple(map(_set_right, report.ranks)),
        cards=tuple(
            card._replace(samples=tuple((t - ahead, busy, used) for t, busy, used in card.samples))
            for card, ahead in cards
        ),
        runs=tuple(run._replace(started=None, ended=None) for run in report.runs),
    )


def _set_right(row: RankRow) -> RankRow:
    ahead = row.clock_offset
    if not ahead:
        return row
    moments = (m if m.t is None else m._replace(t=m.t - ahead, about=True) for m in row.moments)
    return row._replace(
        first_seen=None if row.first_seen is None else row.first_seen - ahead,
        last_seen=None if row.last_seen is None else row.last_seen - ahead,
        progress=tuple((time - ahead, step) for time, step in row.progress),
        moments=tuple(moments),
        pace=tuple((time - ahead, rate) for time, rate in row.pace),
        losses=tuple((None if t is None else t - ahead, s, v) for t, s, v in row.losses),
    )


def scale_of(report: Report) -> Scale | None:
    """The scale from the first time to the last; None where the logs tell none."""
    run = next((run for run in report.runs if run.index == report.run), None)
    times = [moment.t for moment in report.timeline]
    times += [moment.t for row in report.ranks for moment in row.moments]
    times += [time for row in report.ranks for time in (row.first_seen, row.last_seen)]
    if run is not None:
        times += [run.started, run.ended]
    known = [time for time in times if time is not None]
    return Scale(min(known), max(known)) if known else None


def life_of(row: RankRow, scale: Scale | None, titled: bool) -> Html:
    """One rank; the words for its marks are left out where there are a thousand such drawings."""
    if scale is None:
        return tag("span", class_="life")
    if titled:
        marks = [_mark(m.kind, scale.x_of(m.t), m.text) for m in _with_times(row.moments)]
    else:
        places: dict[str, list[int]] = {}
        for moment in _with_times(row.moments):
            places.setdefault(mark_class(moment.kind), []).append(scale.x_of(moment.t))
        marks = [(kind, _path(kind, where)) for kind, where in places.items()]
    return _drawn(scale, [row], marks)


def lives_of(rows: Sequence[RankRow], scale: Scale | None) -> Html:
    """Several ranks in one drawing: what many did at about the same time is told once."""
    if scale is None:
        return tag("span", class_="life")
    if len(rows) > _MANY:
        return _crowd(rows, scale)
    told: Counter[tuple[str, int, Text]] = Counter()
    for row in rows:
        for moment in _with_times(row.moments):
            at = scale.x_of(moment.t) // _NEAR * _NEAR
            told[moment.kind, at, moment.text] += 1
    marks = [
        _mark(
            kind, at, text if count == 1 else Text(f"{count} × {text.en}", f"{count} × {text.zh}")
        )
        for (kind, at, text), count in told.most_common(_MOST_MARKS)
    ]
    return _drawn(scale, rows, marks)


def _crowd(rows: Sequence[RankRow], scale: Scale) -> Html:
    """Many ranks: the higher a column, the more of them did it in that part of the time."""
    counts: dict[str, Counter[int]] = {}
    for row in rows:
        done = {(mark_class(m.kind), scale.x_of(m.t) // _SLICE) for m in _with_times(row.moments)}
        done |= {("progress", scale.x_of(time) // _SLICE) for time, _ in row.progress}
        for kind, part in done:
            counts.setdefault(kind, Counter())[part] += 1
    drawn = []
    for kind in _HEIGHTS:
        columns = ""
        for part, count in sorted(counts.get(kind, Counter()).items()):
            height = max(2, round(20 * count / len(rows)))
            columns += f"M{part * _SLICE} 20v-{height}h{_SLICE - 2}v{height}z"
        if columns:
            drawn.append(tag("path", class_=f"h-{kind}", d=columns))
    return tag(
        "svg",
        _bar(scale, rows),
        *drawn,
        class_="life crowd",
        viewBox=f"0 0 {WIDTH + _SLICE} 20",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def happenings(moments: Iterable[Moment], scale: Scale | None) -> Html:
    """Marks without a life: those of a launcher."""
    if scale is None:
        return tag("span", class_="life")
    marks = [_mark(m.kind, scale.x_of(m.t), m.text) for m in _with_times(moments)]
    return _drawn(scale, [], marks)


def mark_class(kind: str) -> str:
    kind = {"cause": "error", "victim": "signal"}.get(kind, kind)
    return kind if kind in _HEIGHTS else "other"


@dataclass(frozen=True, slots=True)
class _Timed:
    t: float
    kind: str
    text: Text


def _with_times(moments: Iterable[Moment]) -> list[_Timed]:
    return [_Timed(m.t, m.kind, m.text) for m in moments if m.t is not None]


def _drawn(scale: Scale, rows: Sequence[RankRow], marks: list[tuple[str, Html]]) -> Html:
    order = list(_HEIGHTS)
    steps = sorted({scale.x_of(time) for row in rows for time, _ in row.progress})
    if len(rows) > 1:
        steps = sorted({x_of // _NEAR * _NEAR for x_of in steps})
    return tag(
        "svg",
        _bar(scale, rows),
        _path("progress", steps) if steps else None,
        *(drawn for _, drawn in sorted(marks, key=lambda mark: order.index(mark[0]))),
        class_="life",
        viewBox=f"0 0 {WIDTH} 20",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _bar(scale: Scale, rows: Sequence[RankRow]) -> Html | None:
    times = [time for row in rows for time in (row.first_seen, row.last_seen)]
    times += [moment.t for row in rows for moment in row.moments]
    times += [time for row in rows for time, _ in row.progress]
    known = [time for time in times if time is not None]
    if not known:
        return None
    begin, end = scale.x_of(min(known)), scale.x_of(max(known))
    return tag("rect", x=begin or None, y=6, width=max(2, end - begin), height=8)


def _mark(kind: str, at: int, text: Text) -> tuple[str, Html]:
    kind = mark_class(kind)
    # a tooltip knows no style sheet, so it has both languages
    said = text.en if text.en == text.zh else f"{text.en} / {text.zh}"
    return kind, _path(kind, [at], tag("title", said))


def _path(kind: str, places: Iterable[int], title: Html | None = None) -> Html:
    top, height = _HEIGHTS[kind]
    line, before = "", 0
    for at in sorted(places):  # from mark to mark: with a thousand lanes every byte counts
        line += f"m{at - before}-{height}v{height}" if line else f"M{at} {top}v{height}"
        before = at
    return tag("path", title, class_=f"m-{kind}", d=line)
