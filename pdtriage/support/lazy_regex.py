"""Patterns that are compiled when they are first used, and patterns with a time limit.

There are some hundred of the first, and most analyses need few: compiling them all takes a
twentieth of a small one. The others are those of parsers: whoever wrote them, none keeps an
analysis busy.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, AnyStr, cast

PATTERN_SECONDS = 0.25
"""Time limit of one exact match; a hostile line costs at most this, then counts as no match."""
CHANCES = 3
"""So often a pattern may take too long before it is not tried any more: logs have many lines."""


def lazy_compile(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`; a pattern that is wrong shows when it is used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Of what is not here yet: the method of the compiled pattern, kept for the next time."""
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


@cache
def limited_compile(pattern: str) -> re.Pattern[str]:
    """Like `compile` of the package `regex`; finds nothing where that takes too long, and nothing
    any more where it took too long again and again."""
    return cast("re.Pattern[str]", _LimitedPattern(pattern))


class _LimitedPattern:
    def __init__(self, pattern: str) -> None:
        import regex  # of thousands of logs few need it, and who only hands them out never does

        self._compiled = regex.compile(pattern)
        self._chances = CHANCES

    def search(self, text: str) -> Any:
        return self._within_time(self._compiled.search, text)

    def match(self, text: str) -> Any:
        return self._within_time(self._compiled.match, text)

    def _within_time(self, find: Any, text: str) -> Any:
        if self._chances:
            try:
                return find(text, timeout=PATTERN_SECONDS)
            except TimeoutError:
                self._chances -= 1
        return None
