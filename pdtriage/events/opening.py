"""Echoes of a file's first lines: a program that is started again begins with the same words."""

from __future__ import annotations

import re

from pdtriage.events.clock import Clock
from pdtriage.events.lines import Lines
from pdtriage.events.progress import Counters

LOOKED_AT = 200
MOST_ECHOES = 64
"""A line that comes more often is part of the training, not of the start."""
SHORTEST = 6

_NUMBER = re.compile(rb"(?:\\?[0-9a-fA-FxX]*\d)+")

_NUMBER = re.compile(rb"(?:\\?[0-9a-fA-FxX]*\d)+")


class Opening:
    """Remembers how the file begins and finds where it begins that way again."""

    def __init__(self, counters: Counters, clock: Clock) -> None:
        self._counters = counters
        self._clock = clock
        self._pattern: re.Pattern[bytes] | None = None
        self._found: list[tuple[int, int]] = []
        self._seen = 0

    def look(self, region: bytes, first_line: int) -> None:
        """Takes the next decided region of the file."""
        self._found.extend(self._in(region, self._seen, first_line))
        self._seen += len(region)

    def echoes_with(
        self, buffer: bytes, decided: int, base: int, base_line: int
    ) -> list[tuple[int, int]]:
        """(line, offset) of every place the file begins anew, the undecided rest included."""
        first_line = base_line + buffer.count(b"\n", 0, decided)
        found = [*self._found, *self._in(buffer[decided:], base + decided, first_line)]
        return found if len(found) <= MOST_ECHOES else []

    def _in(self, region: bytes, offset: int, first_line: int) -> list[tuple[int, int]]:
        if self._pattern is None:
            if offset > 0 or b"\n" not in region.lstrip():
                return []
            self._pattern = self._learn(region)
        found = []
        line, counted = first_line, 0
        for match in self._pattern.finditer(region) if self._pattern else ():
            line += region.count(b"\n", counted, match.start())
            counted = match.start()
            if offset + match.start() > 0:
                found.append((line, offset + match.start()))
        return found

    def _learn(self, head: bytes) -> re.Pattern[bytes] | None:
        """A pattern for the first line, unless it is progress or too short to tell."""
        raw = head[: 1 << 14].lstrip().split(b"\n", 1)[0].strip()[:LOOKED_AT]
        if len(raw) < SHORTEST or self._counters.read(Lines(raw, 1), 0, 0, self._clock):
            return None
        return re.compile(rb"(?m)^[ \t]*" + _NUMBER.sub(rb"[0-9a-fA-FxX]+", re.escape(raw)))
