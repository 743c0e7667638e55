"""Patterns of the parsers' tables, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import regex


class Patterns(Sequence["regex.Pattern[str]"]):
    """Compiling takes a millisecond each, and most logs need only a few."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._sources = tuple(sources)
        self._compiled: dict[int, regex.Pattern[str]] = {}

    def __len__(self) -> int:
        return len(self._sources)

    @overload
    def __getitem__(self, place: int) -> regex.Pattern[str]: ...
    @overload
    def __getitem__(self, place: slice) -> list[regex.Pattern[str]]: ...
    def __getitem__(self, place: int | slice) -> regex.Pattern[str] | list[regex.Pattern[str]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place not in self._compiled:
            self._compiled[place] = regex.compile(self._sources[place])
        return self._compiled[place]
