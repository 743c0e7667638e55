"""Lines that tell how far a file came: step counters, and what glog wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from pdtriage.knowledge.signature import detecting_form
from pdtriage.model import Progress
from pdtriage.scan.clock import Clock
from pdtriage.scan.lines import CR, LONGEST, Lines, near_end, near_start
from pdtriage.scan.patterns import Cut, LineKind, Patterns, Shapes
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.multi_pattern import EngineName, database_of

STEP_GROUPS = ("step", "epoch", "total", "loss")
LONGEST_COUNTER = 12
"""Digits; a longer number is an id, not a step."""
_COLOURS = re.compile(rb"\x1b\[[\d;]*m")
_GLOG_LINE = rb"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "


StepLine = tuple[int, int, bytes, LineKind]
"""A line of interest, or the part of one that a carriage return left standing alone: its number,
where the whole line begins in the buffer, its bytes and what is known of such lines."""

TORN = LineKind(())
"""Lines that must be looked at in parts: a carriage return is in them, or they are too long."""


class StepLines(NamedTuple):
    """All of one part of a buffer, rising."""

    counters: list[StepLine]
    glog: list[StepLine]
    """Lines of glog."""


class StepLineDetector:
    """Finds step lines; asked only where progress is sampled."""

    def __init__(
        self,
        counters: Sequence[str],
        clocks: Sequence[str] = (),
        engine: EngineName | None = None,
    ) -> None:
        """Lines that neither counters nor clocks can tell apart are of one kind."""
        expressions = [detecting_form(pattern).encode() for pattern in counters]
        self._glog = len(expressions)
        self._database = database_of("counters", [*expressions, _GLOG_LINE], engine)
        self._shapes = Shapes([*counters, *clocks], self._kind)

    def find(self, lines: Lines, begin: int, end: int, first_only: bool = False) -> StepLines:
        """The step lines in the part of the buffer from `begin` to `end`, also those it cuts.

        Or, with `first_only`, of those up to the first counter.
        """
        buffer, shapes = lines.buffer, self._shapes
        first, end = near_start(buffer, begin), near_end(buffer, end)
        number, start = lines.number_at(first), lines.start_of(first)
        counters: list[StepLine] = []
        glog: list[StepLine] = []
        alike = buffer[first:end].translate(shapes.table).split(b"\n")
        lengths = list(accumulate(map(len, alike), initial=first))  # of the lines before each
        if lines.are_wrapped:
            alike = [
                lines.bare(raw).translate(shapes.table) for raw in buffer[first:end].split(b"\n")
            ]
        for place, kind in enumerate(map(shapes.__getitem__, alike)):
            if kind is None:  # as most are
                continue
            at = lengths[place] + place
            raw = buffer[at : lengths[place + 1] + place]
            line = number + place, at if place else start
            if kind is TORN:  # a bar that was drawn hundreds of times
                parts = _parts(raw, alike[place], shapes)
                glog += [(*line, part, own) for part, own in parts if own.is_glog]
                counters += [(*line, part, own) for part, own in parts if own.fits]
            elif kind.fits:
                counters.append((*line, raw, kind))
            if kind.is_glog:
                glog.append((*line, raw, kind))
            if first_only and counters:
                break
        return StepLines(counters, glog)

    def _kind(self, line: bytes) -> LineKind | None:
        """None if it is of no interest. Behind all counters stands glog."""
        if CR in line or len(line) > LONGEST:
            return TORN
        if b"\x1b" in line:
            line = _COLOURS.sub(b"", line)
        found: set[int] = set()

        def on_match(index: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            found.add(index)

        self._database.scan(line, on_match)
        fits = sorted(found - {self._glog})
        return LineKind(fits, self._glog in found) if found else None


def _parts(
    raw: bytes, alike: bytes, shapes: Shapes[LineKind | None]
) -> list[tuple[bytes, LineKind]]:
    """What carriage returns left standing and is of interest, each by itself; of what is too long
    the beginning. `alike` is the whole with zeros for its digits."""
    kinds = map(shapes.__getitem__, [own[:LONGEST] for own in alike.split(b"\r")])
    return [
        (part[:LONGEST], kind)
        for part, kind in zip(raw.split(b"\r"), kinds, strict=True)
        if part and kind is not None
    ]


class Counters:
    """Reads one line as progress, by the [[counter]] tables."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns

    def read(self, lines: Lines, line: StepLine, base: int, clock: Clock) -> Progress | None:
        """The step a line tells; `base` is where the buffer begins in the file."""
        number, start, raw, kind = line
        text, stamp, kind = lines.text_of(raw, kind)
        for counter in kind.fits:
            cut = self._cut(kind, counter, text)
            if cut is None:
                continue
            step, epoch, total, loss = cut(text)
            if not step:  # of a counter that tells what else is counted so
                return None
            if (count := _whole(step)) is None:
                continue
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

    def _cut(self, kind: LineKind, number: int, text: str) -> Cut | None:
        try:
            return kind.steps[number]
        except KeyError:
            cut = kind.steps[number] = self._patterns.cut(number, text)
            return cut


def _whole(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() and len(value) <= LONGEST_COUNTER else None


def _real(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None
