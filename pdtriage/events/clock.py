"""Time stamps of all the formats logs carry, driven by the [[clock]] tables of parsers/."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Sequence

import regex

from pdtriage.knowledge.signature import PATTERN_SECONDS

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LOOKED_AT = 160
"""A stamp stands near the beginning of a line."""
DAY = 86_400.0
_DIGIT = re.compile(r"\d")


class Clock:
    """Reads stamps of one file; `modified` gives the year to formats that have none."""

    def __init__(self, patterns: Sequence[regex.Pattern[str]], modified: float | None) -> None:
        self._patterns = patterns
        self._newest = modified
        self._year = time.gmtime(modified).tm_year if modified is not None else 1970
        self._order = list(range(len(patterns)))
        """As in the file, but what fitted the last time comes first."""

    def read(self, text: str) -> tuple[float, int | None] | None:
        """Seconds since 1970 as the log tells it, and the pid where the format carries one."""
        head = text[:LOOKED_AT]
        if not _DIGIT.search(head):
            return None
        for number in self._order:
            found = _search(self._patterns[number], head)
            if found is None:
                continue
            if number != self._order[0]:
                others = (it for it in range(len(self._patterns)) if it != number)
                self._order = [number, *others]
            groups = found.groupdict()
            stamp = self._seconds(groups)
            if stamp is not None:
                pid = groups.get("pid")
                return stamp, int(pid) if pid else None
        return None

    def _seconds(self, groups: dict[str, str | None]) -> float | None:
        unix = groups.get("unix")
        if unix:
            return float(unix)
        month = _month(groups.get("month"))
        day = int(groups.get("day") or 1)
        clock = [int(groups.get(name) or 0) for name in ("hour", "minute", "second")]
        if month is None:
            return None
        year = groups.get("year")
        if year:
            full = int(year) + (2000 if len(year) == 2 else 0)
            return self._finish(full, month, day, clock, groups)
        stamp = self._finish(self._year, month, day, clock, groups)
        if stamp is not None and self._newest is not None and stamp > self._newest + DAY:
            return self._finish(
                self._year - 1, month, day, clock, groups
            )  # December, read in January
        return stamp

    def _finish(
        self, year: int, month: int, day: int, clock: list[int], groups: dict[str, str | None]
    ) -> float | None:
        try:
            whole = calendar.timegm((year, month, day, *clock, 0, 0, 0))
        except (ValueError, OverflowError):
            return None
        fraction = groups.get("fraction")
        return whole + (float("0." + fraction) if fraction else 0.0) - _offset(groups.get("offset"))


def _search(pattern: regex.Pattern[str], head: str) -> regex.Match[str] | None:
    try:
        return pattern.search(head, timeout=PATTERN_SECONDS)
    except TimeoutError:
        return None


def _month(value: str | None) -> int | None:
    if not value:
        return None
    number = int(value) if value.isdecimal() else _named(value)
    return number if 1 <= number <= 12 else None


def _named(value: str) -> int:
    short = value[:3].lower()
    return MONTHS.index(short) + 1 if short in MONTHS else 0


def _offset(value: str | None) -> float:
    """Seconds to take off for `+08:00`; `Z` and nothing are zero."""
    digits = (value or "").lstrip("+-").replace(":", "")
    if not digits.isdecimal() or len(digits) < 2:
        return 0.0
    seconds = int(digits[:2]) * 3600 + int(digits[2:4] or 0) * 60
    return float(-seconds if value and value.startswith("-") else seconds)
