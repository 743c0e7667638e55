"""Step counters: how far a rank came, and whether it went on after an error."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.events.clock import Clock
from pdtriage.events.lines import Line
from pdtriage.events.patterns import Cut, Patterns
from pdtriage.events.shapes import Kind
from pdtriage.model import Progress

STEP_GROUPS = ("step", "epoch", "total", "loss")
LONGEST_COUNTER = 12
"""Digits; a longer number is an id, not a step."""


class Counters:
    """Reads one line as progress, by the [[counter]] tables."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._last: int | None = None

    def read(self, line: Line, base: int, clock: Clock, kind: Kind) -> Progress | None:
        """The step a line of this kind tells.

        `base` is where the buffer of the line begins in the file.
        """
        text = line.text
        for number in self._order(kind.fits):
            cut = self._cut(kind, number, text)
            if cut is None:
                continue
            step, epoch, total, loss = cut(text)
            if (count := _whole(step)) is None:
                continue
            self._last = number
            moment = clock.read_kind(line.stamp or text, kind)
            return Progress(
                line.number,
                base + line.start,
                count,
                _whole(epoch),
                _whole(total),
                _real(loss),
                moment[0] if moment else None,
            )
        return None

    def _cut(self, kind: Kind, number: int, text: str) -> Cut | None:
        try:
            return kind.steps[number]
        except KeyError:
            cut = kind.steps[number] = self._patterns.cut(number, text)
            return cut

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
