"""Trial of a pattern on text made to make it backtrack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import process_time

import regex

from pdtriage.scan.lines import LONGEST
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import PATTERN_SECONDS

FILLERS = (" ", "a", "1", "/", "a ", "1,", "a/", "a.", "[a", "'a'", ": ", "-_", "A", "Aa", "中")
SHRINK = 32
SHORT = LONGEST // SHRINK
SUSPICIOUS = PATTERN_SECONDS / SHRINK**2 / 2
"""Time that grows with the square of the length, and is at the limit on the longest line, is this
on a short one, with room to spare. What takes less there needs no long trial."""
POSITIONS = 12
LONG_TRIALS = 4
PATIENCE = 8
"""So many times its limit a pattern may take, by the clock on the wall."""


def runs_away(
    pattern: str, seeds: Sequence[str], flags: int = 0, *, anywhere: bool = True
) -> str | None:
    """A text on which `pattern` takes too long, though no longer than lines can be, or None.

    `anywhere`: it is searched for; else it is tried at the beginning of a text only.

    The first one ends the trial: a pattern that runs away on one text does so on many.
    """
    compiled = regex.compile(pattern if anywhere else rf"\A(?:{pattern})", flags)
    slow: list[tuple[float, _Stretched]] = []
    for text in _hostile(seeds):
        seconds = _seconds(compiled, text.of(SHORT))
        if seconds >= PATTERN_SECONDS and _times_out(compiled, text.of(SHORT)):
            return text.as_expression(SHORT)
        if seconds > SUSPICIOUS:
            slow.append((seconds, text))
    slow.sort(key=lambda trial: trial[0], reverse=True)
    for _, text in slow[:LONG_TRIALS]:
        long = text.of(LONGEST)
        if all(_times_out(compiled, long) for _ in range(2)):  # a busy machine
            return text.as_expression(LONGEST)
    return None


class _Stretched(NamedTuple):
    """Text with a filler in it, as long as one likes."""

    head: str
    filler: str
    tail: str

    def of(self, length: int) -> str:
        return self.head + self.filler * (length // len(self.filler)) + self.tail

    def as_expression(self, length: int) -> str:
        return f"{self.head!r} + {self.filler!r} * {length // len(self.filler)} + {self.tail!r}"


def _hostile(seeds: Sequence[str]) -> Iterator[_Stretched]:
    """Each seed stretched at several positions, once with and once without what comes after."""
    for seed in seeds:
        for at in _positions(seed):
            for filler in FILLERS:
                yield _Stretched(seed[:at], filler, "\x00")
                if at < len(seed):
                    yield _Stretched(seed[:at], filler, seed[at:])


def _positions(seed: str) -> list[int]:
    """Its ends, and beginnings and ends of words, thinned out evenly."""
    edges = (found.start() for found in re.finditer(r"\b|\s|(?<=\s)", seed))
    positions = sorted({0, *edges, len(seed)})
    step = max(1, -(-len(positions) // POSITIONS))
    return sorted({*positions[::step], len(seed)})


def _times_out(compiled: regex.Pattern[str], text: str) -> bool:
    return _seconds(compiled, text) >= PATTERN_SECONDS


def _seconds(compiled: regex.Pattern[str], text: str) -> float:
    """CPU time of this process: on a busy machine a time limit passes while nothing is done."""
    started = process_time()
    with suppress(TimeoutError):
        compiled.search(text, timeout=PATIENCE * PATTERN_SECONDS)
    return process_time() - started
