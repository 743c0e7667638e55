"""Time stamps of all the formats logs carry, driven by the [[clock]] tables of parsers/."""

from __future__ import annotations

import calendar
import re
import time
from functools import lru_cache

from pdtriage.events.patterns import Patterns

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LOOKED_AT = 160
"""A stamp stands near the beginning of a line."""
DAY = 86_400.0
STAMP_GROUPS = (
    *("unix", "pid", "year", "month", "day"),
    *("hour", "minute", "second", "fraction", "offset"),
)
SHAPED, MOST_SHAPES = 8, 100
_DIGIT = re.compile(r"\d")
_ZEROS = str.maketrans("123456789", "000000000")


class Clock:
    """Reads stamps of one file; `modified` gives the year to formats that have none."""

    def __init__(self, patterns: Patterns, modified: float | None) -> None:
        self._patterns = patterns
        self._newest = modified
        self._year = time.gmtime(modified).tm_year if modified is not None else 1970
        self._order = tuple(range(len(patterns)))
        self._fitted: dict[str, int] = {}
        """Which pattern fitted a line that begins like this."""

    def read(self, text: str) -> tuple[float, int | None] | None:
        """Seconds since 1970 as the log tells it, and the pid where the format carries one."""
        head = text[:LOOKED_AT]
        shape = head[:SHAPED].translate(_ZEROS)
        fitted = self._fitted.get(shape)
        if fitted is None and not _DIGIT.search(head):
            return None
        for number in self._order if fitted is None else (fitted, *self._order):
            groups = self._patterns.groups(number, head)
            if groups is None:
                continue
            if fitted is None and len(self._fitted) < MOST_SHAPES:
                self._fitted[shape] = number
            unix, pid, *told = groups
            stamp = float(unix) if unix else self._seconds(*told)
            if stamp is not None:
                return stamp, int(pid) if pid else None
        return None

    def _seconds(self, year: str | None, *told: str | None) -> float | None:
        if year:
            return _moment(int(year) + (2000 if len(year) == 2 else 0), *told)
        stamp = _moment(self._year, *told)
        if stamp is not None and self._newest is not None and stamp > self._newest + DAY:
            return _moment(self._year - 1, *told)  # December, read in January
        return stamp


def _moment(
    year: int,
    month: str | None,
    day: str | None,
    hour: str | None,
    minute: str | None,
    second: str | None,
    fraction: str | None,
    offset: str | None,
) -> float | None:
    begin = _begin_of_day(year, month, day)
    if begin is None:
        return None
    minutes = int(hour or 0) * 60 + int(minute or 0)
    stamp = float(begin + minutes * 60 + int(second or 0))
    if fraction:
        stamp += float("0." + fraction)
    return stamp - _offset(offset) if offset else stamp


@lru_cache(maxsize=64)
def _begin_of_day(year: int, named: str | None, day: str | None) -> int | None:
    month = _month(named)
    try:
        return None if month is None else calendar.timegm((year, month, int(day or 1), 0, 0, 0))
    except (ValueError, OverflowError):
        return None


def _month(value: str | None) -> int | None:
    if not value:
        return None
    number = int(value) if value.isdecimal() else _named(value)
    return number if 1 <= number <= 12 else None


def _named(value: str) -> int:
    short = value[:3].lower()
    return MONTHS.index(short) + 1 if short in MONTHS else 0


def _offset(value: str) -> float:
    """Seconds to take off for `+08:00`; `Z` is zero."""
    digits = value.lstrip("+-").replace(":", "")
    if not digits.isdecimal() or len(digits) < 2:
        return 0.0
    seconds = int(digits[:2]) * 3600 + int(digits[2:4] or 0) * 60
    return float(-seconds if value.startswith("-") else seconds)
