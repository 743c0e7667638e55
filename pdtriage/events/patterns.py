"""Patterns of the parsers' tables, compiled when they are first needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pdtriage.knowledge.signature import PATTERN_SECONDS, Format

Groups = tuple[str | None, ...]
"""What the named groups of a match hold, in the order they were asked for."""
Search = Callable[[str], Groups | None]

_ESCAPES_AND_SETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]")


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


def _quick(pattern: str, names: tuple[str, ...]) -> Search:
    """For what ships and is known not to run away: ten times faster than with a time limit."""
    compiled = re.compile(pattern)
    find = compiled.match if _is_anchored(pattern) else compiled.search

    def search(text: str) -> Groups | None:
        found = find(text)
        return tuple(map(found.groupdict().get, names)) if found else None

    return search


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
