"""Times of one run: none of them lasts for years, whatever year a line without one was given."""

from __future__ import annotations

import time
from collections.abc import Iterable

from pdtriage.scan.clock import days_to_month

ALMOST_A_YEAR = 300 * 86_400.0
DAY = 86_400.0

Times = tuple[float, float] | tuple[()]
"""The first and the last that a log tells, if it tells any."""


def extent(times: Iterable[float]) -> Times:
    """From the first to the last.

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
    """The same day and time in the year in which it is nearest to another moment."""
    if abs(moment - to) <= ALMOST_A_YEAR:
        return moment
    own = time.gmtime(moment)
    year = time.gmtime(to).tm_year
    shifted = [
        moment + DAY * (days_to_month(each, own.tm_mon) - days_to_month(own.tm_year, own.tm_mon))
        for each in (year - 1, year, year + 1)
    ]
    return min(shifted, key=lambda each: abs(each - to))
