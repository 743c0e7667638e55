"""All ranks of a large job on one map: a row for each host, a cell for each rank, by its fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pdtriage.model import Language, RankRow, Report, Text
from pdtriage.report.fates import Fate, fate_words, fates
from pdtriage.report.formats.html.build import Html, tag
from pdtriage.report.words import process_phrase
from pdtriage.support.number_spans import numbers

FEWEST, MOST = 17, 8192
"""Ranks: fewer have a lane each, more are too small to see."""
MOST_TITLED = 1200
CELL, GAP = 12, 3
_WIDEST = 64
"""Cells in a row."""
_LABEL_ROWS = 128
BY_HOST = Text("All ranks by host", "各主机上的全部 rank")
ALL = Text("All ranks", "全部 rank")


def rank_map(report: Report, name: str) -> Html:
    """The section, or nothing for a small job."""
    if not FEWEST <= len(report.ranks) <= MOST:
        return Html("")
    found = fates(report)
    kinds = {id(row): cell_class(fate) for fate in found for row in fate.rows}
    words = {id(row): fate_words(fate) for fate in found for row in fate.rows}
    by_host = _is_by_host(report.ranks)
    blocks = _blocks(report.ranks, by_host)
    titled = len(report.ranks) <= MOST_TITLED
    drawn = [
        tag(
            "div",
            tag("span", label, class_="host", title=label),
            _cells(rows, kinds, words, report.language if titled else None),
            class_="host-row",
        )
        for label, rows in blocks
    ]
    said = _spoken(found)
    return tag(
        "section",
        tag("h2", BY_HOST if by_host else ALL, id=f"{name}-map"),
        _legend(found),
        tag(
            "div",
            *drawn,
            class_="rank-map wide" if _columns(blocks) > 8 else "rank-map",
            role="img",
            aria_label=f"{said.en} / {said.zh}",
        ),
        aria_labelledby=f"{name}-map",
    )


def cell_class(fate: Fate) -> str:
    """The class of a cell: a colour and, for culprits and the silent, a shape of its own."""
    if fate.part == "culprit":
        return "culprit"
    if fate.status == "victim":
        return fate.reason or "collateral"
    return fate.status


def _columns(blocks: Sequence[tuple[str, Sequence[RankRow]]]) -> int:
    return max(len(rows) for _, rows in blocks)


def _is_by_host(rows: Sequence[RankRow]) -> bool:
    """Whether hosts are known, and not more than can be told apart."""
    hosts = Counter(row.host for row in rows)
    if None in hosts or not 1 < len(hosts) <= _LABEL_ROWS * 4:
        return False
    return max(hosts.values()) <= _WIDEST


def _blocks(rows: Sequence[RankRow], by_host: bool) -> list[tuple[str, list[RankRow]]]:
    """Rows of the map with their labels: by host or by number."""
    if by_host:
        hosts: dict[str, list[RankRow]] = {}
        for row in rows:
            hosts.setdefault(row.host or "", []).append(row)
        return list(hosts.items())
    width = 32 if len(rows) <= 2048 else _WIDEST
    pieces = [list(rows[at : at + width]) for at in range(0, len(rows), width)]
    return [(_span(piece), piece) for piece in pieces]


def _span(rows: Sequence[RankRow]) -> str:
    known = [row.rank for row in rows if row.rank is not None]
    return f"{known[0]}–{known[-1]}" if known else ""


def _cells(
    rows: Sequence[RankRow], kinds: dict[int, str], words: dict[int, Text], titles: Language | None
) -> Html:
    pitch = CELL + GAP
    drawn = []
    for place, row in enumerate(rows):
        title = _title(row, words[id(row)], titles) if titles else None
        kind = kinds[id(row)]
        if kind == "culprit":  # a cross: not by its colour alone
            drawn.append(tag("path", title, class_="f-culprit", d=_cross(place * pitch)))
        else:
            drawn.append(
                tag("rect", title, class_=f"f-{kind}", x=place * pitch or None, y=0, **_SIZE)
            )
    width = len(rows) * pitch - GAP
    return tag("svg", *drawn, viewBox=f"0 0 {width} {CELL}", width=width, height=CELL)


_SIZE = {"width": CELL, "height": CELL}


def _cross(x: int) -> str:
    return f"M{x + 1} 1l{CELL - 2} {CELL - 2}m0-{CELL - 2}l-{CELL - 2} {CELL - 2}"


def _title(row: RankRow, words: Text, language: Language) -> Html:
    name = process_phrase(row.role, row.rank, row.local_rank, row.host, language)
    step = Text(f" · step {row.last_step}", f" · 第 {row.last_step} 步").in_(language)
    colon = Text(": ", "：").in_(language)
    return tag(
        "title", name + colon + words.in_(language) + ("" if row.last_step is None else step)
    )


def _legend(found: Sequence[Fate]) -> Html:
    """Every fate with its count and its ranks, which is also what a screen reader tells."""
    items = []
    for fate in found:
        ranks = numbers(fate.known_ranks)
        items.append(
            tag(
                "li",
                tag("i", class_=f"f-{cell_class(fate)}", aria_hidden="true"),
                tag("b", str(len(fate.rows))),
                " ",
                fate_words(fate),
                tag("span", f" {ranks}" if ranks and len(ranks) <= 60 else "", class_="where"),
            )
        )
    return tag("ul", *items, class_="map-legend")


def _spoken(found: Sequence[Fate]) -> Text:
    words = [(len(fate.rows), fate_words(fate)) for fate in found]
    return Text(
        "; ".join(f"{count} {word.en}" for count, word in words),
        "；".join(f"{count} 个{word.zh}" for count, word in words),
    )
