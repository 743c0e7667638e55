"""Patterns of the parsers' tables, and what they said of lines that look alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal, TypeVar

from pdtriage.knowledge.signature import Format
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import limited_compile

Groups = tuple[str | None, ...]
"""What the named groups of a match hold, in the order they were asked for; those that hold nothing
are None or empty."""
Answer = TypeVar("Answer")
Cut = Callable[[str], Groups]
"""Takes the groups out of any text that differs from another one in its digits only."""

MOST_SHAPES = 4096
"""Remembered at a time; a log of which no two lines are alike must not fill the memory."""
LONGEST_SHAPE = 1 << 10
"""Bytes; longer lines are seldom alike, and would fill the memory of every process that reads."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_AS_THEY_ARE = bytes.maketrans(b"", b"")
_CERTAIN = re.compile(r"\\[1-9]|\\g<|\(\?P=|\\N\{")
"""What asks for the same text again, or for a character by its name."""
_NOT_OF_LINES = re.compile(
    r"\\(?:x(?!3\d)[0-9a-fA-F]{2}|u(?!003\d)[0-9a-fA-F]{4}|.)|\{[\d,]+\}|\[\^?[^][\\\d]*0-9"
)
"""Digits in a pattern that stand for none in a line (`\\x31` does), or for any."""
_ESCAPES_AND_SETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?")
_NAMED = re.compile(r"\(\?P<(\w+)>")


class _ForeignMatch(NamedTuple):
    """A match of a pattern that need not have all the groups, and may write them otherwise."""

    match: Any
    groups: dict[str, str | None]

    def group(self, *names: str) -> Groups:
        return tuple(map(self.groups.get, names))

    def span(self, name: str) -> tuple[int, int]:
        return self.match.span(name) if name in self.groups else (-1, -1)


_Match = re.Match[str] | _ForeignMatch
_Find = Callable[[str], _Match | None]
_First = tuple[int, _Match, tuple[str, ...]]
"""Place of the pattern, its match, and the names of the groups there."""


class Patterns:
    """Compiling takes a millisecond each, and most logs need only a few."""

    def __init__(self, formats: Sequence[Format], names: Sequence[str]) -> None:
        """`names` are those of the groups that are of interest, two or more."""
        self._formats = tuple(formats)
        self._names = tuple(names)
        self._finds: list[_Find | None] = [None] * len(self._formats)
        self._joined: Callable[[str], _First | None] | None = None
        self._others = [
            place
            for place, form in enumerate(self._formats)
            if not (form.shipped and _is_anchored(form.pattern))
        ]

    def __len__(self) -> int:
        return len(self._formats)

    def groups(self, place: int, text: str) -> Groups | None:
        """What the pattern finds first; None if it finds nothing."""
        match = self._find(place, text)
        return match.group(*self._names) if match else None

    def cut(self, place: int, text: str) -> Cut | None:
        """How to find the same in texts that look like this one."""
        match = self._find(place, text)
        return _cut(match, self._names) if match else None

    def first(self, text: str) -> tuple[int, Groups] | None:
        """The first pattern of all that finds something, and what."""
        first = self._first(text)
        return (first[0], first[1].group(*first[2])) if first else None

    def first_cut(self, text: str) -> Cut | None:
        """How to find the same in texts that look like this one."""
        first = self._first(text)
        return _cut(first[1], first[2]) if first else None

    def _find(self, place: int, text: str) -> _Match | None:
        find = self._finds[place]
        if find is None:
            form = self._formats[place]
            made = _quick_search if form.shipped else _limited_search
            find = self._finds[place] = made(form.pattern, self._names)
        return find(text)

    def _first(self, text: str) -> _First | None:
        if self._joined is None:
            self._joined = self._join()
        found = self._joined(text)
        for place in self._others:
            if found and found[0] < place:
                break
            if match := self._find(place, text):
                return place, match, self._names
        return found

    def _join(self) -> Callable[[str], _First | None]:
        """All that fit at the beginning of a text or nowhere, in one match."""
        patterns = {
            place: form.pattern
            for place, form in enumerate(self._formats)
            if place not in self._others
        }
        return _alternatives(patterns, self._names)


def _cut(match: _Match, names: Sequence[str]) -> Cut:
    """A group that holds nothing stands at -1, and nothing stands between that and -1."""
    return itemgetter(*(slice(*match.span(name)) for name in names))


def _alternatives(
    patterns: Mapping[int, str], names: tuple[str, ...]
) -> Callable[[str], _First | None]:
    """Which of the patterns fits first, and its match; each has names of its own for its groups."""
    if not patterns:
        return lambda _text: None
    parts = []
    for place, pattern in patterns.items():
        own = _NAMED.sub(rf"(?P<\1_{place}>", _with_all(pattern, names))
        parts.append(f"(?P<fits_{place}>{own})")
    compiled = re.compile("|".join(parts))
    match = compiled.match
    wanted = {
        compiled.groupindex[f"fits_{place}"]: (place, tuple(f"{name}_{place}" for name in names))
        for place in patterns
    }

    def first(text: str) -> _First | None:
        found = match(text)
        if found is None:
            return None
        place, own = wanted[found.lastindex or 0]
        return place, found, own

    return first


def _quick_search(pattern: str, names: Sequence[str]) -> _Find:
    """Search for patterns that ship and are known not to run away: ten times faster than with a
    time limit."""
    compiled = re.compile(_with_all(pattern, names))
    return compiled.match if _is_anchored(pattern) else compiled.search


def _limited_search(pattern: str, _names: Sequence[str]) -> _Find:
    find = limited_compile(pattern).search

    def search(text: str) -> _Match | None:
        found = find(text)
        return _ForeignMatch(found, found.groupdict()) if found else None

    return search


def _with_all(pattern: str, names: Sequence[str]) -> str:
    """A pattern with a group for every name; one it does not have never holds anything."""
    absent = [name for name in names if f"(?P<{name}>" not in pattern]
    return pattern + "".join(f"(?P<{name}>(?!))?" for name in absent)


def _is_anchored(pattern: str) -> bool:
    """Whether it fits at the beginning or nowhere: `search` would try every other place, too."""
    plain = _ESCAPES_AND_SETS.sub("", pattern)
    depth = 0
    for char in plain:
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            return False
    return plain.startswith("^")


class Shapes(dict[bytes, Answer]):
    """What patterns say of lines: each shape is looked at once, and asking is a look-up.

    `shapes[raw.translate(shapes.table)]` is the answer for a line.
    """

    def __init__(
        self, patterns: Iterable[str], look: Callable[[bytes], Answer], most: int | None = None
    ) -> None:
        """`look` asks these patterns about a shape, which is a line with zeros for its digits."""
        super().__init__()
        self._look = look
        self._most = MOST_SHAPES if most is None else most
        self.table = _ZEROS if all(map(_takes_any_digit, patterns)) else _AS_THEY_ARE

    def __missing__(self, shape: bytes) -> Answer:
        answer = self._look(shape)
        if len(shape) <= LONGEST_SHAPE:
            if len(self) >= self._most:
                self.clear()
            self[shape] = answer
        return answer


class LineKind:
    """What is known of the lines of one shape: the same stands at the same places of all of them.

    The places are found in the first one that is read.
    """

    __slots__ = ("dated", "fits", "is_glog", "steps")

    def __init__(self, fits: Sequence[int], is_glog: bool = False) -> None:
        self.fits = fits  # places of the counters that may fit
        self.is_glog = is_glog
        self.steps: dict[int, Cut | None] = {}  # of a counter's groups, None where it does not fit
        self.dated: Cut | Literal[False] | None = None  # of a stamp; False where there is none


def _takes_any_digit(pattern: str) -> bool:
    """Whether it asks for digits only as such, so that lines of one shape are alike to it."""
    own = _NOT_OF_LINES.sub("", pattern)
    return not _CERTAIN.search(pattern) and not any(map(str.isdigit, own))
