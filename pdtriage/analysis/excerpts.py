"""The lines of a log that matter, out of a stream of any size: masked, and gaps marked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pdtriage.report.masking.secrets import masked_text
from pdtriage.scan.lines import clean, shown

LONGEST = 16_000


@dataclass(frozen=True, slots=True)
class Windows:
    """Which lines are wanted: around marks, and at both ends of the file."""

    marks: tuple[int, ...] = ()
    before: int = 120
    after: int = 40
    head: int = 30
    tail: int = 60

    def wants(self, number: int) -> bool:
        if number <= self.head:
            return True
        return any(mark - self.before <= number <= mark + self.after for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Excerpt:
    content: bytes
    lines: int
    skipped: int


def excerpt_of(pieces: Iterable[bytes], windows: Windows) -> Excerpt:
    """One pass, with no more in memory than what is kept."""
    kept: list[tuple[int, str]] = []
    tail: deque[tuple[int, str]] = deque(maxlen=windows.tail)
    number = 0
    for number, raw in enumerate(_lines(pieces), 1):
        line = (number, shown(clean(raw)))
        if windows.wants(number):
            kept.append(line)
        else:
            tail.append(line)
    kept = sorted({**dict(kept), **dict(tail)}.items())
    text, last, skipped = [], 0, number - len(kept)
    for at, line_text in kept:
        if at > last + 1:
            text.append(f"[... {at - last - 1} lines left out ...]")
        text.append(line_text)
        last = at
    masked, _ = masked_text("\n".join(text) + "\n" if text else "")
    return Excerpt(masked.encode("utf-8", "replace"), number, skipped)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of at most `LONGEST` bytes; what is longer is cut, not kept in memory."""
    pending = b""
    for piece in pieces:
        *whole, rest = (pending + piece).split(b"\n")
        for line in whole:
            yield line[:LONGEST]
        pending = rest[:LONGEST]
    if pending:
        yield pending
