"""Step counters: how far a rank came, and whether it went on after an error."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.events.clock import Clock
from pdtriage.events.lines import Line
from pdtriage.events.patterns import Patterns
from pdtriage.model import Progress

STEP_GROUPS = ("step", "epoch", "total", "loss")
LONGEST_COUNTER = 12
"""Digits; a longer number is an id, not a step."""
NO_TIME_IN = 4
"""Lines of a counter without a time before no other is searched for one."""


class Counters:
    """Reads one line as progress, by the [[counter]] tables."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._last: int | None = None
        self._unstamped: dict[int, int] = {}

    def read(self, line: Line, base: int, clock: Clock, likely: Sequence[int]) -> Progress | None:
        """The step a line tells; `likely` are the only patterns worth trying.

        `base` is where the buffer of the line begins in the file.
        """
        for number in self._order(likely):
            groups = self._patterns.groups(number, line.text)
            if groups is None or (step := _whole(groups[0])) is None:
                continue
            self._last = number
            stamp = self._stamp(number, line.stamp or line.text, clock)
            return Progress(
                line.number,
                base + line.start,
                step,
                _whole(groups[1]),
                _whole(groups[2]),
                _real(groups[3]),
                stamp[0] if stamp else None,
            )
        return None

    def _stamp(self, number: int, text: str, clock: Clock) -> tuple[float, int | None] | None:
        """Lines of one counter look alike: if the first ones carry no time, the others do not."""
        if self._unstamped.get(number, 0) >= NO_TIME_IN:
            return None
        stamp = clock.read(text)
        if stamp is None:
            self._unstamped[number] = self._unstamped.get(number, 0) + 1
        return stamp

    def _order(self, likely: Sequence[int]) -> Sequence[int]:
        """As they come, but what fitted the last time comes first."""
        last = self._last
        if last is None or last not in likely[1:]:
            return likely
        return [last, *(number for number in likely if number != last)]


def _whole(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() and len(value) <= LONGEST_COUNTER else None


def _real(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None
