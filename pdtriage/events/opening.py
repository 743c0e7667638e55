"""Echoes of a file's first lines: a program that is started again begins with the same words."""

from __future__ import annotations

import re

from pdtriage.events.clock import Clock
from pdtriage.events.lines import Lines
from pdtriage.events.progress import Counters
from pdtriage.model import Echo

OPENING_LINES = 4
LOOKED_AT = 160
"""Bytes of a line that are compared."""
MOST_ECHOES = 64
"""What comes more often is part of the training, not of the start."""
SHORTEST = 6

_NUMBER = re.compile(rb"(?:\\?[0-9a-fA-FxX]*\d)+")


class Opening:
    """Remembers how the file begins and finds where it begins that way again."""

    def __init__(self, counters: Counters, clock: Clock, begin: int = 0) -> None:
        self._counters = counters
        self._clock = clock
        self._pattern: re.Pattern[bytes] | None = None
        self._strength = 0
        self._found: list[Echo] = []
        self._begin = self._seen = begin

    def look(self, region: bytes, first_line: int) -> None:
        """Takes the next decided region of the file."""
        self._found.extend(self._in(region, self._seen, first_line))
        self._seen += len(region)

    def echoes_with(self, buffer: bytes, decided: int, base: int, base_line: int) -> list[Echo]:
        """Every place where the file begins anew, the undecided rest included."""
        first_line = base_line + buffer.count(b"\n", 0, decided)
        found = [*self._found, *self._in(buffer[decided:], base + decided, first_line)]
        periodic = any(echo.line <= OPENING_LINES + 1 for echo in found)
        return [] if periodic or len(found) > MOST_ECHOES else found

    def _in(self, region: bytes, offset: int, first_line: int) -> list[Echo]:
        if self._pattern is None and offset == self._begin:
            self._learn(region)
        found: list[Echo] = []
        line, counted = first_line, 0
        for match in self._pattern.finditer(region) if self._pattern else ():
            line += region.count(b"\n", counted, match.start())
            counted = match.start()
            if offset + match.start() > self._begin:
                found.append(Echo(line, offset + match.start(), self._strength))
        return found

    def _learn(self, head: bytes) -> None:
        """The first lines up to the first step counter, numbers left open."""
        shapes: list[bytes] = []
        for raw in head[: 1 << 14].lstrip().split(b"\n")[:OPENING_LINES]:
            text = raw.strip()[:LOOKED_AT]
            if self._counters.read(Lines(raw, 1), 0, 0, self._clock) or b"Traceback (most" in raw:
                break
            shapes.append(_NUMBER.sub(rb"[0-9a-fA-FxX]+", re.escape(text)) + rb"[^\n]*")
        if shapes and len(shapes[0]) >= SHORTEST:
            self._strength = len(shapes)
            self._pattern = re.compile(rb"(?m)^[ \t]*" + rb"\n[ \t]*".join(shapes))
