"""Lines that tell how far a file came: step counters, and what glog wrote.

Lines of a log repeat themselves but for their digits. What fits one of them fits all of its shape:
each shape is looked at once, and a line costs a look into a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pdtriage.events.engines import EngineName, database_of
from pdtriage.events.lines import LONGEST, Lines, near_end, near_start

MOST_SHAPES = 4096
"""Remembered at a time; a log of which no two lines are alike must not fill the memory."""
_GLOG_LINE = rb"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_AS_THEY_ARE = bytes.maketrans(b"", b"")

_OPTIONAL_TAIL = re.compile(r"\(\?:\.\{0,\d+\}\?")
_SAME_AGAIN = re.compile(r"\\[1-9]|\(\?P=")
_NO_DIGITS_OF_LINES = re.compile(r"\\(?:x[0-9a-fA-F]{2}|.)|\{[\d,]+\}")

Fits = tuple[int, ...]
"""Places of the counters that may fit a line."""


class Mark(NamedTuple):
    """A line of interest, or the part of one that a carriage return left standing alone."""

    number: int
    start: int
    """Where the whole line begins in the buffer."""
    raw: bytes
    fits: Fits


class Marks(NamedTuple):
    """All of one part of a buffer, rising."""

    counters: list[Mark]
    writers: list[Mark]
    """Lines of glog."""


class MarkDetector:
    """Finds marks; asked only where progress is sampled."""

    def __init__(self, counters: Sequence[str], engine: EngineName | None = None) -> None:
        expressions = [_detecting(pattern).encode() for pattern in counters]
        self._glog = len(expressions)
        self._database = database_of("counters", [*expressions, _GLOG_LINE], engine)
        self._shape = _ZEROS if all(map(_takes_any_digit, counters)) else _AS_THEY_ARE
        self._known: dict[bytes, Fits] = {}

    def find(self, lines: Lines, begin: int, end: int) -> Marks:
        """Those of all lines that reach into the part of the buffer from `begin` to `end`."""
        buffer = lines.buffer
        at, end = near_start(buffer, begin), near_end(buffer, end)
        start, number = lines.start_of(at), lines.number_at(at)
        counters: list[Mark] = []
        writers: list[Mark] = []
        known, shape, glog = self._known, self._shape, self._glog
        for raw in buffer[at:end].split(b"\n"):
            for part in (raw,) if b"\r" not in raw and len(raw) <= LONGEST else _parts(raw):
                fits = known.get(part.translate(shape))
                if fits is None:
                    fits = self._look_at(part)
                if fits and fits[-1] == glog:
                    fits = fits[:-1]
                    writers.append(Mark(number, start, part, fits))
                if fits:
                    counters.append(Mark(number, start, part, fits))
            at += len(raw) + 1
            start = at
            number += 1
        return Marks(counters, writers)

    def _look_at(self, raw: bytes) -> Fits:
        """What fits lines of this shape; behind all counters stands glog."""
        shape = raw.translate(self._shape)
        found: set[int] = set()

        def on_match(index: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            found.add(index)

        self._database.scan(shape, on_match)
        if len(self._known) >= MOST_SHAPES:
            self._known.clear()
        fits = self._known[shape] = tuple(sorted(found))
        return fits


def _parts(raw: bytes) -> list[bytes]:
    """What carriage returns left standing, each by itself; of what is too long the beginning."""
    return [part[:LONGEST] for part in raw.split(b"\r") if part]


def _takes_any_digit(pattern: str) -> bool:
    """Whether it asks for digits only as such, so that lines of one shape are alike to it."""
    own = _NO_DIGITS_OF_LINES.sub("", pattern)
    return not _SAME_AGAIN.search(pattern) and not any(map(str.isdigit, own))


def _detecting(pattern: str) -> str:
    """What suffices to see that a line is progress: no groups, no optional end (the loss)."""
    plain = re.sub(r"\(\?P<\w+>", "(?:", pattern)
    tail = _OPTIONAL_TAIL.search(plain)
    if tail and plain.endswith(")?"):
        try:
            re.compile(plain[: tail.start()])
        except re.error:  # the optional part does not end where the pattern ends
            return plain
        plain = plain[: tail.start()]
    return plain
