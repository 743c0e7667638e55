"""The fast scan: where in a buffer does anything we know of stand?

Hyperscan looks for the literals of all signatures at once; what it finds are only candidates.
Where it has no wheel, `google-re2` or the standard library find the same, slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pdtriage.knowledge import Knowledge
from pdtriage.scan.traceback_lines import FRAME
from pdtriage.scan.tracebacks import CUT_BYTES
from pdtriage.support.multi_pattern import EngineName, database_of

STRUCTURE = (
    "Traceback (most recent call last)",
    "Exception in thread ",
    "Error Message Summary:",
    "SyntaxError: ",
    "IndentationError: ",
    "TabError: ",
    FRAME,
)
"""Openings of blocks that are parsed as a whole, whatever signatures say."""
FATAL = "\0glog fatal"
"""Stands for a glog line of level F among the literals: a letter and the day, no fixed word."""
_FATAL_LINE = rb"F[01]\d[0-3]\d \d\d:\d\d:\d\d\.\d{6}"
_FATAL_LENGTH = len("F0101 00:00:00.000000")
_NEVER = rb"\x00never\x00"
_FRAME = FRAME.encode()

Hit = int
"""Where a literal stands, and behind that which one it is: a log that screams has a million of
them, and numbers are made, sorted and compared in half the time of pairs."""
LITERAL_BITS = 20
_LITERAL = (1 << LITERAL_BITS) - 1


def hit_at(position: int, literal: int = 0) -> Hit:
    """A hit; without a literal it is the first that can stand there."""
    return (position << LITERAL_BITS) | literal


def position_of(hit: Hit) -> int:
    return hit >> LITERAL_BITS


def literal_in(hit: Hit) -> int:
    """The index of its literal."""
    return hit & _LITERAL


def literals_in(hits: Sequence[Hit]) -> list[int]:
    """The index of the literal of each."""
    return [hit & _LITERAL for hit in hits]


class Detector:
    """Positions of candidate literals in a buffer, in rising order."""

    def __init__(self, literals: Sequence[str], engine: EngineName | None = None) -> None:
        self.literals = tuple(literals)
        encoded = [literal.encode() for literal in literals]
        self.lengths = list(map(len, encoded))
        expressions = _escape(encoded)
        if FATAL in self.literals:
            fatal = self.literals.index(FATAL)
            self.lengths[fatal], expressions[fatal] = _FATAL_LENGTH, _FATAL_LINE
        self._frame = self.literals.index(FRAME) if FRAME in self.literals else None
        if self._frame is not None:
            expressions[self._frame] = _NEVER  # every traceback is full of them
        self.longest = max(self.lengths, default=0)
        self._ends = [literal - hit_at(length) for literal, length in enumerate(self.lengths)]
        """To be added to where a literal ends."""
        self._database = database_of("literals", expressions, engine)

    def find(self, buffer: bytes, begin: int = 0) -> list[Hit]:
        """Every place of every literal; `begin` is the offset of the buffer's first byte.

        Frames are told at the beginning only, where a log may have lost the head of a traceback.
        """
        hits: list[Hit] = []
        ends, add = self._ends, hits.append

        def on_match(found: int, _start: int, end: int, _flags: int, _context: object) -> None:
            add((begin + end << LITERAL_BITS) + ends[found])

        self._database.scan(buffer, on_match)
        if begin < CUT_BYTES and self._frame is not None:
            frames = _frames(buffer, CUT_BYTES - begin)
            hits += [hit_at(begin + at, self._frame) for at in frames]
        hits.sort()
        return hits


def _frames(buffer: bytes, before: int) -> Iterator[int]:
    at = buffer.find(_FRAME, 0, before + len(_FRAME))
    while at >= 0:
        yield at
        at = buffer.find(_FRAME, at + 1, before + len(_FRAME))


def _escape(literals: Sequence[bytes]) -> list[bytes]:
    """Escapes literals as `re.escape`, but all at once: two thousand one by one would take 4 ms."""
    between = b"\xff"  # no byte of any UTF-8
    joined = between.join(literals)
    for special in "\\()[]{}?*+-|^$.&~# \t\n\r\v\f":
        joined = joined.replace(special.encode(), b"\\" + special.encode())
    return joined.split(between) if literals else []


class HitStream:
    """The hits of a text that comes chunk by chunk: each byte is scanned once.

    All literals have a fixed length, so what stands across the border of two chunks is found by
    looking at the border alone. Hyperscan's own streams would need a second database and a state
    for each file, and are slower.
    """

    def __init__(self, detector: Detector, begin: int) -> None:
        self._detector = detector
        self._reach = max(1, detector.longest - 1)
        self._tail = b""
        self._end = begin

    def take(self, chunk: bytes) -> list[Hit]:
        """What is new with this chunk, by offset in the whole text."""
        hits: list[Hit] = []
        if self._tail:
            around = self._tail + chunk[: self._reach]
            lengths, seam = self._detector.lengths, self._end
            found = self._detector.find(around, seam - len(self._tail))
            hits += [
                hit
                for hit in found
                if position_of(hit) < seam < position_of(hit) + lengths[literal_in(hit)]
            ]
        hits += self._detector.find(chunk, self._end)
        self._end += len(chunk)
        self._tail = (chunk if len(chunk) >= self._reach else self._tail + chunk)[-self._reach :]
        return hits


def literals_of(knowledge: Knowledge) -> tuple[str, ...]:
    """Every literal once, the structural ones first."""
    seen = dict.fromkeys([*STRUCTURE, FATAL])
    for signature in knowledge.signatures.values():
        seen.update(dict.fromkeys(signature.literals))
    return tuple(seen)
