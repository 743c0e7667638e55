"""Echoes of a file's first lines: a program that is started again begins with the same words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pdtriage.model import Echo

OPENING_LINES = 4
LOOKED_AT = 160
"""Bytes of a line that are compared."""
MOST_ECHOES = 64
"""What comes more often is part of the training, not of the start."""
SHORTEST_NEEDLE, GOOD_NEEDLE = 4, 24
MOST_TRIED = 32
"""Places of its rarest byte; where there are more, it is not rare."""
DULL = 2
"""Different bytes in what is drawn, like a row of equal signs: it stands everywhere."""
FEWEST_LINES = 2
"""Of an opening that stands behind the end of a process: one line may be its last word."""
FARTHEST = 1 << 12
"""Bytes between a line's beginning and the needle in it; it is among the first looked at."""

_NUMBER = re.compile(rb"(?<![0-9a-fA-FxX])[0-9a-fA-FxX]*\d")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]")
_FAILING = re.compile(
    rb"Traceback \(most|Exception in thread|Error Message Summary:"
    rb'|^\s+File "|^[A-Za-z][\w.]{0,80}(?:Error|Exception)(?::|\s*$)'
)
"""Where a log was cut or rotated within a traceback or a dump, the rest of that begins nothing."""
_HEX = b"0123456789abcdefABCDEFxX"
_COMMON = b" 0123456789etaonrsicl.:_-/,updmghfbvy=[]()|%\"'<>INFOEWAPDTRSLCM"
"""What logs are made of, the most common first; any other ASCII is rarer."""
_RARITY = bytes(
    _COMMON.find(byte) if byte in _COMMON else 255 * (byte < 128) for byte in range(256)
)
_CUT_AT_DIGITS = bytes.maketrans(b"0123456789", b"\n" * 10)


class Opening:
    """Remembers how the file begins and finds where it begins that way again."""

    def __init__(self, begin: int = 0, first_line: int = 1) -> None:
        self.begin = begin
        self._first_line = first_line
        self._end = begin  # of the opening itself
        self._lines: tuple[bytes, ...] = ()
        self._needle = b""
        self._needle_line = 0
        self._rarest = 0  # place in the needle
        self._found: list[Echo] = []

    def learn(self, head: bytes, first_step: int) -> None:
        """The first lines up to the first step or traceback, numbers left open."""
        text = head.lstrip()
        end = len(head) - len(text)
        lines: list[bytes] = []
        is_indented = head[max(0, end - 1) : end].strip(b"\r\n") != b""
        for raw in text.split(b"\n", OPENING_LINES)[:OPENING_LINES]:
            if first_step <= end + len(raw):
                break
            if _FAILING.search(raw):
                lines = [] if is_indented else lines
                break
            lines.append(raw)
            end += len(raw) + 1
        if not any(map(_WORD.search, lines)):
            lines = []  # a fence around pasted text, a rule: what only divides begins nothing
        self._lines = tuple(lines)
        self._end = self.begin + end
        self._needle, self._needle_line = _needle_in(lines)
        self._rarest = _rarest_in(self._needle)

    @property
    def length(self) -> int:
        """How many lines come before the first step; 0 where a process says nothing before it."""
        return len(self._lines)

    @property
    def as_echo(self) -> Echo:
        """The place where it was learnt."""
        return Echo(self._first_line, self.begin, len(self._lines))

    def look(self, buffer: bytes, start: int, end: int, base: int, line: int) -> list[Echo]:
        """What is new in the next decided region; `line` is the number of its first line."""
        if len(self._found) > MOST_ECHOES:
            return []
        found = self._in(buffer, start, end, base, line)
        self._found.extend(found)
        return found

    def echoes_with(self, buffer: bytes, start: int, base: int, line: int) -> list[Echo]:
        """Every place where the file begins anew, the undecided rest included."""
        found = [*self._found, *self._in(buffer, start, len(buffer), base, line)]
        periodic = any(echo.line <= self._first_line + OPENING_LINES for echo in found)
        return [] if periodic or len(found) > MOST_ECHOES else found

    def _in(self, buffer: bytes, start: int, end: int, base: int, line: int) -> list[Echo]:
        found: list[Echo] = []
        counted = start
        for place in self._places(buffer, max(start, self._end - base), end):
            line += buffer.count(b"\n", counted, place)
            counted = place
            found.append(Echo(line, base + place, len(self._lines)))
            if len(found) > MOST_ECHOES:
                break
        return found

    def _places(self, buffer: bytes, start: int, end: int) -> Iterator[int]:
        """Where before `end` it begins that way, whatever is behind it to be compared.

        The longest fixed part finds them a hundred times faster.
        """
        if not self._lines:
            return
        if len(self._needle) < SHORTEST_NEEDLE:
            for each in _pattern(self._lines).finditer(buffer, start):
                if each.start() >= end:
                    return
                yield each.start()
            return
        at, tried = start, -1
        while (at := self._next(buffer, at)) >= 0:
            low = max(start, at - FARTHEST)
            place = max(low, buffer.rfind(b"\n", low, at) + 1)
            for _ in range(self._needle_line if place > low or low == start else 0):
                place = buffer.rfind(b"\n", start, max(start, place - 1)) + 1 or start
            if place >= end:
                return
            match = _pattern(self._lines).match(buffer, place) if place != tried else None
            tried = place
            if match:
                yield place
            at = max(at + len(self._needle), match.end() if match else 0)

    def _next(self, buffer: bytes, at: int) -> int:
        """Where the needle stands next; one byte is found three times as fast as a word."""
        needle, behind = self._needle, self._rarest
        for _ in range(MOST_TRIED):
            at = buffer.find(needle[behind], at + behind) - behind
            if at < 0 or buffer.startswith(needle, at):
                return at
            at += 1
        return buffer.find(needle, at)


class Openings:
    """How the file begins, or how it goes on behind the end of a first process that could not even
    begin: that one had nothing to say."""

    def __init__(self, begin: int = 0) -> None:
        self.first = Opening(begin)
        self._later: list[Opening] = []

    def copy(self) -> Openings:
        """What is learnt from now on is not learnt by this one."""
        twin = Openings()
        twin.first, twin._later = self.first, [*self._later]
        return twin

    @property
    def are_learnt(self) -> bool:
        """Whether it is known by which words a process begins."""
        return bool(self.first.length or self._later)

    def learn_behind(self, end: int, line: int, text: bytes, first_step: int) -> None:
        """Where a process ended, the number of the line there and the text behind it, in which
        the next one makes its first step, or ends, at `first_step`."""
        if self.are_learnt:
            return
        opening = Opening(end, line)
        opening.learn(text, first_step)
        if opening.length >= FEWEST_LINES:
            self._later.append(opening)

    def look(self, buffer: bytes, start: int, end: int, base: int, line: int) -> list[Echo]:
        """What is new in the next decided region; `line` is the number of its first line."""
        found = self.first.look(buffer, start, end, base, line)
        for opening in self._later:
            found = _join(found, opening.look(buffer, start, end, base, line))
        return found

    def echoes_with(self, buffer: bytes, start: int, base: int, line: int) -> list[Echo]:
        """Every place where the file begins anew, the undecided rest included."""
        found = self.first.echoes_with(buffer, start, base, line)
        for opening in self._later:
            if again := opening.echoes_with(buffer, start, base, line):
                found = _join(found, [opening.as_echo, *again])
        return found


def _join(some: list[Echo], others: list[Echo]) -> list[Echo]:
    known = {echo.offset for echo in some}
    return sorted([*some, *(echo for echo in others if echo.offset not in known)])


def _needle_in(lines: Sequence[bytes]) -> tuple[bytes, int]:
    """The first good piece of a line that has no digits, or the longest, and the line's place."""
    needle, place = b"", 0
    for number, raw in enumerate(lines):
        fixed = _fixed_in(raw)
        if len(fixed) > len(needle):
            needle, place = fixed, number
            if len(needle) >= GOOD_NEEDLE:
                break
    return needle, place


@lru_cache(maxsize=256)
def _fixed_in(raw: bytes) -> bytes:
    """Remembered: many ranks begin with the same words."""
    fixed = max(_comparable_part(raw).translate(_CUT_AT_DIGITS).split(b"\n"), key=len).rstrip(_HEX)
    return fixed if len(set(fixed)) > DULL else b""


@lru_cache(maxsize=64)
def _rarest_in(needle: bytes) -> int:
    """The place of its rarest byte."""
    rarity = needle.translate(_RARITY)
    return rarity.find(max(rarity, default=0))


def _comparable_part(raw: bytes) -> bytes:
    return raw.strip()[:LOOKED_AT]


@lru_cache(maxsize=64)
def _pattern(lines: tuple[bytes, ...]) -> re.Pattern[bytes]:
    fixed = (map(re.escape, _NUMBER.split(_comparable_part(raw))) for raw in lines)
    shapes = (rb"[ \t]*" + rb"[0-9a-fA-FxX]+".join(parts) + rb"[^\n]*" for parts in fixed)
    # Each takes its whole line in one way and no other: tried again in all ways, by all lines
    # together, a few rows of digits or blanks would take hours.
    once = (rb"(?=(%s))\%d" % (shape, place) for place, shape in enumerate(shapes, 1))
    return re.compile(rb"(?m)^" + rb"\n".join(once))
