"""The fast scan: where in a buffer does anything we know of stand?

Hyperscan looks for the literals of all signatures at once; what it finds are only candidates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pdtriage.events.database import database_of
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


class Detector:
    """Positions of candidate literals in a buffer, in rising order."""

    def __init__(self, literals: Sequence[str], cache_name: str = "literals") -> None:
        self.literals = tuple(literals)
        self._database = database_of(
            cache_name,
            [_FATAL_LINE if it == FATAL else re.escape(it).encode() for it in self.literals],
        )

    def find(self, buffer: bytes) -> list[tuple[int, int]]:
        """(position of the literal, index of the literal), each line only once per literal."""
        hits: list[tuple[int, int]] = []
        lengths = self._lengths

        def on_match(found: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            hits.append((end - lengths[found], found))

        self._database.scan(buffer, match_event_handler=on_match)
        hits.sort()
        return hits

    @property
    def _lengths(self) -> tuple[int, ...]:
        return _byte_lengths(self.literals)


@lru_cache(maxsize=8)
def _byte_lengths(literals: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(_FATAL_LENGTH if it == FATAL else len(it.encode()) for it in literals)


def literals_of(knowledge: Knowledge) -> tuple[str, ...]:
    """Every literal once, the structural ones first."""
    seen = dict.fromkeys([*STRUCTURE, FATAL])
    for signature in knowledge.signatures.values():
        seen.update(dict.fromkeys(signature.literals))
    return tuple(seen)


class CounterDetector:
    """Positions of step counters; scanned only where progress is sampled."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._database = database_of(
            "counters", [_without_names(pattern).encode() for pattern in patterns]
        )

    def line_ends(self, buffer: bytes) -> list[int]:
        """A position inside every line that looks like progress, once per line, rising."""
        ends: list[int] = []

        def on_match(_found: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            ends.append(end)

        self._database.scan(buffer, match_event_handler=on_match)
        positions: list[int] = []
        line_end = -1
        for end in sorted(ends):
            if end > line_end:
                line_end = buffer.find(b"\n", end - 1)
                line_end = len(buffer) if line_end < 0 else line_end
                positions.append(end - 1)
        return positions


def _without_names(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)
