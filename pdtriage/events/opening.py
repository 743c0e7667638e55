"""Echoes of a file's first lines: a program that is started again begins with the same words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pdtriage.model import Echo

OPENING_LINES = 4
LOOKED_AT = 160
"""Bytes of a line that are compared."""
MOST_ECHOES = 64
"""What comes more often is part of the training, not of the start."""
SHORTEST = 6
SHORTEST_NEEDLE = 4
FARTHEST = 1 << 12
"""Bytes between a line's beginning and the needle in it; it is among the first looked at."""

_NUMBER = re.compile(rb"(?:\\?[0-9a-fA-FxX]*\d)+")


class Opening:
    """Remembers how the file begins and finds where it begins that way again."""

    def __init__(self, is_progress: Callable[[bytes], bool], begin: int = 0) -> None:
        self._is_progress = is_progress
        self._pattern: re.Pattern[bytes] | None = None
        self._needle = b""
        self._needle_line = 0
        self._strength = 0
        self._found: list[Echo] = []
        self._begin = begin

    def look(self, buffer: bytes, start: int, end: int, base: int, line: int) -> None:
        """Takes the next decided region; `line` is the number of its first."""
        if len(self._found) <= MOST_ECHOES:
            self._found.extend(self._in(buffer, start, end, base, line))

    def echoes_with(self, buffer: bytes, start: int, base: int, line: int) -> list[Echo]:
        """Every place where the file begins anew, the undecided rest included."""
        found = [*self._found, *self._in(buffer, start, len(buffer), base, line)]
        periodic = any(echo.line <= OPENING_LINES + 1 for echo in found)
        return [] if periodic or len(found) > MOST_ECHOES else found

    def _in(self, buffer: bytes, start: int, end: int, base: int, line: int) -> list[Echo]:
        if self._pattern is None and base + start == self._begin:
            self._learn(buffer[start : min(end, start + (1 << 14))])
        found: list[Echo] = []
        counted = start
        for place in self._places(buffer, start, end):
            line += buffer.count(b"\n", counted, place)
            counted = place
            if base + place > self._begin:
                found.append(Echo(line, base + place, self._strength))
                if len(found) > MOST_ECHOES:
                    break
        return found

    def _places(self, buffer: bytes, start: int, end: int) -> Iterator[int]:
        """Where the pattern begins; its longest fixed part finds them a hundred times faster."""
        if self._pattern is None:
            return
        if len(self._needle) < SHORTEST_NEEDLE:
            yield from (found.start() for found in self._pattern.finditer(buffer, start, end))
            return
        at, tried = start, -1
        while (at := buffer.find(self._needle, at, end)) >= 0:
            low = max(start, at - FARTHEST)
            place = max(low, buffer.rfind(b"\n", low, at) + 1)
            for _ in range(self._needle_line if place > low or low == start else 0):
                place = buffer.rfind(b"\n", start, max(start, place - 1)) + 1 or start
            match = self._pattern.match(buffer, place, end) if place != tried else None
            tried = place
            if match:
                yield place
            at = max(at + len(self._needle), match.end() if match else 0)

    def _learn(self, head: bytes) -> None:
        """The first lines up to the first step counter, numbers left open."""
        shapes: list[bytes] = []
        for raw in head.lstrip().split(b"\n")[:OPENING_LINES]:
            text = raw.strip()[:LOOKED_AT]
            if self._is_progress(raw) or b"Traceback (most" in raw:
                break
            fixed = max(_NUMBER.split(text), key=len)
            if len(fixed) > len(self._needle):
                self._needle, self._needle_line = fixed, len(shapes)
            shapes.append(_NUMBER.sub(rb"[0-9a-fA-FxX]+", re.escape(text)) + rb"[^\n]*")
        if shapes and len(shapes[0]) >= SHORTEST:
            self._strength = len(shapes)
            self._pattern = re.compile(rb"(?m)^[ \t]*" + rb"\n[ \t]*".join(shapes))
