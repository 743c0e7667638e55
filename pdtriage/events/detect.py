"""The fast scan: where in a buffer does anything we know of stand?

Hyperscan looks for the literals of all signatures at once; what it finds are only candidates.
Where it has no wheel, `google-re2` or the standard library find the same, slower.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.events.engines import EngineName, database_of
from pdtriage.events.lines import LONGEST
from pdtriage.knowledge import Knowledge

STRUCTURE = (
    "Traceback (most recent call last)",
    "Exception in thread ",
    "Error Message Summary:",
    "SyntaxError: ",
    "IndentationError: ",
    "TabError: ",
)
"""Openings of passages that are parsed as a whole, whatever signatures say."""
FATAL = "\0glog fatal"
"""Stands for a glog line of level F among the literals: a letter and the day, no fixed word."""
_FATAL_LINE = rb"F[01]\d[0-3]\d \d\d:\d\d:\d\d\.\d{6}"
_FATAL_LENGTH = len("F0101 00:00:00.000000")

_OPTIONAL_TAIL = re.compile(r"\(\?:\.\{0,\d+\}\?")

Hit = tuple[int, int]
"""Position of a literal in the buffer, index of the literal."""


class Detector:
    """Positions of candidate literals in a buffer, in rising order."""

    def __init__(self, literals: Sequence[str], engine: EngineName | None = None) -> None:
        self.literals = tuple(literals)
        self._lengths = [_FATAL_LENGTH if it == FATAL else len(it.encode()) for it in literals]
        expressions = [_FATAL_LINE if it == FATAL else re.escape(it.encode()) for it in literals]
        self._database = database_of("literals", expressions, engine)

    def find(self, buffer: bytes | memoryview) -> list[Hit]:
        """Every place of every literal."""
        hits: list[Hit] = []
        lengths, add = self._lengths, hits.append

        def on_match(found: int, _start: int, end: int, _flags: int, _context: object) -> None:
            add((end - lengths[found], found))

        self._database.scan(buffer, on_match)
        hits.sort()
        return hits


def literals_of(knowledge: Knowledge) -> tuple[str, ...]:
    """Every literal once, the structural ones first."""
    seen = dict.fromkeys([*STRUCTURE, FATAL])
    for signature in knowledge.signatures.values():
        seen.update(dict.fromkeys(signature.literals))
    return tuple(seen)


class CounterDetector:
    """Positions of step counters; scanned only where progress is sampled."""

    def __init__(self, patterns: Sequence[str], engine: EngineName | None = None) -> None:
        expressions = [_detecting(pattern).encode() for pattern in patterns]
        self._database = database_of("counters", expressions, engine)

    def find(self, buffer: bytes) -> list[tuple[int, list[int]]]:
        """A position in every line that looks like progress, rising, and what may fit there.

        What a progress bar overwrote with a carriage return is a line of its own here.
        """
        ends: list[tuple[int, int]] = []

        def on_match(found: int, _start: int, end: int, _flags: int, _context: object) -> None:
            ends.append((end, found))

        self._database.scan(buffer, on_match)
        places: list[tuple[int, list[int]]] = []
        line_end = -1
        for end, found in sorted(ends):
            if end > line_end:
                start, line_end = _shown_around(buffer, end - 1)
                places.append((start if line_end - start <= LONGEST else end - 1, []))
            if found not in places[-1][1]:
                places[-1][1].append(found)
        return places


def _shown_around(buffer: bytes, position: int) -> tuple[int, int]:
    """Begin and end of what stands between two line ends or carriage returns."""
    start = buffer.rfind(b"\n", 0, position) + 1
    start = max(start, buffer.rfind(b"\r", start, position) + 1)
    end = buffer.find(b"\n", position)
    end = len(buffer) if end < 0 else end
    overwritten = buffer.find(b"\r", position, end)
    return start, end if overwritten < 0 else overwritten


def _detecting(pattern: str) -> str:
    """What suffices to see that a line is progress: no groups, no optional end (the loss)."""
    plain = re.sub(r"\(\?P<\w+>", "(?:", pattern)
    tail = _OPTIONAL_TAIL.search(plain)
    if tail and plain.endswith(")?"):
        try:
            re.compile(plain[: tail.start()])
        except re.error:  # the optional part does not end where the pattern ends
            return plain
        return plain[: tail.start()]
    return plain
