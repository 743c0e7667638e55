"""Lines that one log has and another has not, whatever numbers, paths and times stand in them.

Pure: who reads the logs, and how much of them, is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

MOST_NOVEL = 3
NEAR = 200
"""Lines before the failure in which also a line without an alarming word is worth showing."""
TALKATIVE = 30
"""More new kinds of lines than this, and the log speaks freely: only alarming ones are shown."""
COMPARED = 200

_VARIABLE = re.compile(
    r"0[xX][0-9a-fA-F]+"
    # paths; what goes before is looked at once, however long a word is
    r"|(?<![\w.-])(?:[A-Za-z]:|~|[\w.-]+)?[/\\][\w.~@%+=/\\-]+"
    r"|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b"
    r"|[-+]?\d(?:[\d.:,_eE+-]*\d)?"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_ALARMING = re.compile(
    r"err(?:or|no)|\bE\d{4}\b|fail|fatal|warn|\bW\d{4}\b|retry|retri|tim(?:ed|e)[ _-]?out|\bnan\b"
    r"|\binf\b|lost|refused|reset|denied|missing|not found|cannot|can't|unable|exception|kill|slow"
    r"|stuck|stall|corrupt|invalid|mismatch|abort|overflow|out of|exceed|unexpected|disconnect"
    r"|错误|失败|异常|警告|超时|重试|无法|丢失|损坏|断开|不足",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Written:
    """A line of a log, and where it stands."""

    text: str
    file: str
    number: int | None = None
    """None where nobody counted the lines before it."""

    @property
    def place(self) -> str:
        return self.file if self.number is None else f"{self.file}:{self.number}"


@dataclass(frozen=True, slots=True)
class Novel:
    """One kind of line; shown is the last of them."""

    line: Written
    count: int


@lru_cache(maxsize=1 << 14)
def template(text: str) -> str:
    """What stays of a line when numbers, addresses, times and paths are left open."""
    return " ".join(_VARIABLE.sub("#", text[:COMPARED]).split())


def alarming(text: str) -> bool:
    return bool(_ALARMING.search(text))


def novel_lines(ours: Sequence[Written], theirs: Collection[str]) -> list[Novel]:
    """What only our log says, the most telling of it, in the order of the log.

    `ours` are the lines up to the failure, `theirs` the templates of the other log.
    """
    last: dict[str, int] = {}
    counts: dict[str, int] = {}
    for place, line in enumerate(ours):
        kind = template(line.text)
        if kind not in theirs and _speaks(line.text):
            last[kind] = place
            counts[kind] = counts.get(kind, 0) + 1
    end = len(ours)
    scored = []
    for kind, place in last.items():
        alarm, distance = alarming(ours[place].text), end - place
        if alarm or (distance <= NEAR and len(last) <= TALKATIVE):
            nearness = 1 - min(distance, NEAR) / NEAR
            scored.append((2 * alarm + nearness + 1 / counts[kind], place, kind))
    chosen = sorted(sorted(scored, reverse=True)[:MOST_NOVEL], key=lambda one: one[1])
    return [Novel(ours[place], counts[kind]) for _, place, kind in chosen]


def unreached_line(ours: Collection[str], theirs: Sequence[Written]) -> Written | None:
    """What the other log says next, after the last thing that both say."""
    common = max((n for n, line in enumerate(theirs) if template(line.text) in ours), default=None)
    if common is None:
        return None
    return next((line for line in theirs[common + 1 :] if _speaks(line.text)), None)


def _speaks(text: str) -> bool:
    """Neither a ruler, nor a bare number, nor the inside of something longer."""
    return bool(_LETTERS.search(text)) and (not text.startswith(("  ", "\t")) or alarming(text))
