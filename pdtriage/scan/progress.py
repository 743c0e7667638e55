"""Step counters: how far a rank came, and whether it went on after an error."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Progress
from pdtriage.scan.clock import Clock
from pdtriage.scan.lines import Lines
from pdtriage.scan.patterns import Cut, Patterns
from pdtriage.scan.shapes import Kind
from pdtriage.scan.step_lines import Mark

STEP_GROUPS = ("step", "epoch", "total", "loss")
LONGEST_COUNTER = 12
"""Digits; a longer number is an id, not a step."""


class Counters:
    """Reads one line as progress, by the [[counter]] tables."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._last: int | None = None

    def read(self, lines: Lines, mark: Mark, base: int, clock: Clock) -> Progress | None:
        """The step a line tells; `base` is where the buffer begins in the file."""
        number, start, raw, kind = mark
        text, stamp, kind = lines.told(raw, kind)
        fits = kind.fits
        for counter in fits if len(fits) == 1 else self._order(fits):
            cut = self._cut(kind, counter, text)
            if cut is None:
                continue
            step, epoch, total, loss = cut(text)
            if (count := _whole(step)) is None:
                continue
            self._last = counter
            moment = clock.read_kind(stamp or text, kind)
            return Progress(
                number,
                base + start,
                count,
                _whole(epoch) if epoch else None,
                _whole(total) if total else None,
                _real(loss) if loss else None,
                moment[0] if moment else None,
            )
        return None

    def copy(self) -> Counters:
        """One that reads on from here by itself: which counter fits depends on the last one."""
        copy = Counters(self._patterns)
        copy._last = self._last
        return copy

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
