"""Time stamps of all the formats logs carry, driven by the [[clock]] tables of parsers/."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache

from pdtriage.scan.patterns import Groups, LineKind, Patterns
from pdtriage.support.lazy_regex import lazy_compile

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LOOKED_AT = 160
"""A stamp stands near the beginning of a line."""
DAY = 86_400.0
MONTH = 31 * DAY
ALMOST_A_YEAR = 300 * DAY
FIRST_YEAR, LAST_YEAR = 1, 9999
DAYS_TO_1970 = 719_468
"""From the first of March of the year 0."""
STAMP_GROUPS = (
    *("unix", "pid", "year", "month", "day"),
    *("hour", "minute", "second", "fraction", "offset"),
)

Moment = tuple[float, int | None]
"""Seconds since 1970, and the pid of who wrote it, where that is told."""
Times = tuple[float, float] | tuple[()]
"""The first and the last that a log tells, if it tells any."""


HEAD = 1 << 14
"""Bytes at the beginning of a file that are searched for a year."""
_DATE = lazy_compile(rb"20(\d\d)[-/](\d\d)[-/](\d\d)[ T_]\d\d:\d\d:\d\d")  # fast: a fixed beginning
_UNIX = lazy_compile(rb"Aborted at (\d{10}) \(unix time\)")


class Clock:
    """Reads stamps of one file.

    Formats without a year take it from the first line of the file that has one, then from the
    time at which the file was `modified`.
    """

    def __init__(self, patterns: Patterns, modified: float | None) -> None:
        self._patterns = patterns
        self._newest = modified
        self._oldest: float | None = None
        self.dating: tuple[bool, float | None] = False, None
        """Whether a year was guessed, and the last moment that was told with its own."""
        self.unix_times: set[float] = set()
        """Moments that were told by UTC; of all others nobody knows the time zone."""
        try:
            self._year = str(time.gmtime(modified or 0).tm_year)
        except (ValueError, OverflowError, OSError):  # an archive may tell of any time
            self._newest, self._year = None, "1970"

    def learn_year(self, head: bytes) -> None:
        """Learns the year from how the file begins; later lines are of the months that follow, and
        what stands above the first year is older than that."""
        date = _DATE.search(head, 0, HEAD)
        told = date or _UNIX.search(head, 0, HEAD)
        if told is None:
            return
        moment: float | None = float(told[1])
        if date:
            year, month, day = (each.decode() for each in date.groups())
            begin = _begin_of_minute(year, month, "1", "0", "0")
            self._oldest = None if begin is None else begin - MONTH
            moment = _begin_of_minute(year, month, day, "0", "0")
        else:
            self._oldest = float(told[1]) - MONTH
        if moment is None or self._oldest is None:
            return
        for line in head[: told.start()].decode("utf-8", "replace").splitlines():
            found = self._patterns.first(line[:LOOKED_AT])
            if found is not None:
                first = self._before(moment + 2 * DAY, found[1])
                self._oldest = min(self._oldest, self._oldest if first is None else first - DAY)
                return

    def _before(self, moment: float, groups: Groups) -> float | None:
        """The last time before a moment that fits a stamp without a year."""
        if groups[0] or groups[2]:
            return None
        own = time.gmtime(moment).tm_year
        begins = [_begin_of_minute(str(year), *groups[3:7]) for year in (own, own - 1)]
        return next((begin for begin in begins if begin is not None and begin < moment), None)

    @property
    def is_undated(self) -> bool:
        """Whether all it has read was given the year in which the file was modified."""
        has_guessed, last = self.dating
        return has_guessed and last is None

    @property
    def last_dated(self) -> float | None:
        """The last moment that was told with its year, where others were given a year."""
        has_guessed, last = self.dating
        return last if has_guessed else None

    def read(self, text: str) -> Moment | None:
        """Seconds since 1970 as the log tells it, and the pid where the format carries one."""
        head = text[:LOOKED_AT]
        found = self._patterns.first(head)
        if found is None:
            return None
        place, groups = found
        stamp = self._moment(groups)
        while stamp is None and (place := place + 1) < len(self._patterns):  # a 13th month
            groups = self._patterns.groups(place, head) or ()
            stamp = self._moment(groups) if groups else None
        return stamp

    def read_kind(self, text: str, kind: LineKind) -> Moment | None:
        """The time that a line of this kind tells."""
        cut = kind.dated
        if cut is None:
            cut = kind.dated = self._patterns.first_cut(text[:LOOKED_AT]) or False
        return self._moment(cut(text)) or self.read(text) if cut else None

    def _moment(self, groups: Groups) -> Moment | None:
        """What the groups of a stamp say; None if there is no such day."""
        unix, pid, year, month, day, hour, minute, second, fraction, offset = groups
        writer = int(pid) if pid else None
        if unix:
            moment = float(unix)
            self.unix_times.add(moment)
            self._learn(moment)
            return moment, writer
        begin = _begin_of_minute(year or self._year, month, day, hour, minute)
        if begin is None:
            return None
        stamp = float(begin + int(second or 0))
        if fraction:
            stamp += float("0." + fraction)
        if offset:
            stamp -= _offset(offset)
        if not year and self._oldest is not None:
            stamp = self._in_year_from(self._oldest, stamp, groups)
        if year or self._oldest is not None:
            self._learn(stamp)
            return stamp, writer
        if not self.dating[0]:
            self.dating = True, self.dating[1]
        if self._newest is not None and stamp > self._newest + DAY:  # December, read in January
            begin = _begin_of_minute(str(int(self._year) - 1), month, day, hour, minute)
            return None if begin is None else (begin + stamp % 60, writer)
        return stamp, writer

    def _learn(self, moment: float) -> None:
        has_guessed, last = self.dating
        if last is None or moment > last:
            self.dating = has_guessed, moment

    def _in_year_from(self, oldest: float, stamp: float, groups: Groups) -> float:
        """A time with the same day and hour, in the year that begins with `oldest`."""
        first = time.gmtime(oldest).tm_year
        for year in (first, first + 1):
            begin = _begin_of_minute(str(year), *groups[3:7])
            if begin is not None:
                moved = begin + stamp % 60
                if moved >= oldest:
                    return moved
        return stamp


@lru_cache(maxsize=256)
def _begin_of_minute(
    year: str, named: str | None, day: str | None, hour: str | None, minute: str | None
) -> int | None:
    """Remembered: all ranks write in the same minutes."""
    number, month = int(year) + (2000 if len(year) == 2 else 0), _month(named)
    if month is None or not FIRST_YEAR <= number <= LAST_YEAR:
        return None
    hours = 24 * (days_to_month(number, month) + int(day or 1) - 1) + int(hour or 0)
    return 60 * (60 * hours + int(minute or 0))


def days_to_month(year: int, month: int) -> int:
    """Days from 1970 to the first of this month; `calendar` takes 4 ms to import.

    Years are counted from March on, so that the day that some of them have more comes last.
    """
    years, months = (year, month - 3) if month > 2 else (year - 1, month + 9)
    leap_days = years // 4 - years // 100 + years // 400
    return 365 * years + leap_days + (153 * months + 2) // 5 - DAYS_TO_1970


def _month(value: str | None) -> int | None:
    if not value:
        return None
    number = int(value) if value.isdecimal() else _month_by_name(value)
    return number if 1 <= number <= 12 else None


def _month_by_name(value: str) -> int:
    short = value[:3].lower()
    return MONTHS.index(short) + 1 if short in MONTHS else 0


def _offset(value: str) -> float:
    """Seconds to take off for `+08:00`; `Z` is zero."""
    digits = value.lstrip("+-").replace(":", "")
    if not digits.isdecimal() or len(digits) < 2:
        return 0.0
    seconds = int(digits[:2]) * 3600 + int(digits[2:4] or 0) * 60
    return float(-seconds if value.startswith("-") else seconds)


def span_of(times: Iterable[float]) -> Times:
    """The first and the last of some moments.

    Lines without a year were given that of their file, which may have been copied long after:
    those that seem to be years later are of the first one's year.
    """
    told = list(times)
    if not told:
        return ()
    first, last = min(told), max(told)
    if last - first > ALMOST_A_YEAR:
        last = max(near(each, first) for each in told)
    return first, last


def near(moment: float, to: float) -> float:
    """A time with the same day and hour, in the year in which it is nearest to another moment."""
    if abs(moment - to) <= ALMOST_A_YEAR:
        return moment
    own = time.gmtime(moment)
    year = time.gmtime(to).tm_year
    shifted = [
        moment + DAY * (days_to_month(each, own.tm_mon) - days_to_month(own.tm_year, own.tm_mon))
        for each in (year - 1, year, year + 1)
    ]
    return min(shifted, key=lambda each: abs(each - to))
