"""Patterns of the parsers' tables, compiled when they are first needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from pdtriage.knowledge.signature import PATTERN_SECONDS, Format

Groups = tuple[str | None, ...]
"""What the named groups of a match hold, in the order they were asked for."""
Search = Callable[[str], Groups | None]

_ESCAPES_AND_SETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]")
_NAMED = re.compile(r"\(\?P<(\w+)>")


class Patterns:
    """Compiling takes a millisecond each, and most logs need only a few."""

    def __init__(self, formats: Sequence[Format], names: Sequence[str]) -> None:
        """`names` are those of the groups that are of interest."""
        self._formats = tuple(formats)
        self._names = tuple(names)
        self._searches: list[Search | None] = [None] * len(self._formats)

    def __len__(self) -> int:
        return len(self._formats)

    def groups(self, place: int, text: str) -> Groups | None:
        """What the pattern finds first; None if it finds nothing."""
        search = self._searches[place]
        if search is None:
            form = self._formats[place]
            made = _quick if form.shipped else _limited
            search = self._searches[place] = made(form.pattern, self._names)
        return search(text)

    def first(self, text: str) -> tuple[int, Groups] | None:
        """The first pattern of all that finds something, and what."""
        found = self._joined(text)
        for place in self._others:
            if found and found[0] < place:
                break
            if groups := self.groups(place, text):
                return place, groups
        return found

    @cached_property
    def _joined(self) -> Callable[[str], tuple[int, Groups] | None]:
        """All that fit at the beginning of a text or nowhere, in one match."""
        return _alternatives(
            {
                place: form.pattern
                for place, form in enumerate(self._formats)
                if place not in self._others
            },
            self._names,
        )

    @cached_property
    def _others(self) -> list[int]:
        return [
            place
            for place, form in enumerate(self._formats)
            if not (form.shipped and _is_anchored(form.pattern))
        ]


def _alternatives(
    patterns: Mapping[int, str], names: tuple[str, ...]
) -> Callable[[str], tuple[int, Groups] | None]:
    """Which of the patterns fits first, and its groups; each has names of its own for them."""
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

    def first(text: str) -> tuple[int, Groups] | None:
        found = match(text)
        if found is None:
            return None
        place, own = wanted[found.lastindex or 0]
        return place, found.group(*own)

    return first


def _quick(pattern: str, names: tuple[str, ...]) -> Search:
    """For what ships and is known not to run away: ten times faster than with a time limit."""
    compiled = re.compile(_with_all(pattern, names))
    find = compiled.match if _is_anchored(pattern) else compiled.search

    def search(text: str) -> Groups | None:
        found = find(text)
        return found.group(*names) if found else None

    return search


def _with_all(pattern: str, names: Sequence[str]) -> str:
    """The same with a group for every name; one it does not have never holds anything."""
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


def _limited(pattern: str, names: tuple[str, ...]) -> Search:
    import regex  # only for parsers of others

    find = regex.compile(pattern).search

    def search(text: str) -> Groups | None:
        try:
            found = find(text, timeout=PATTERN_SECONDS)
        except TimeoutError:
            return None
        return tuple(map(found.groupdict().get, names)) if found else None

    return search
