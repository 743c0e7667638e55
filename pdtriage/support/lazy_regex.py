"""Patterns that are compiled when they are first used.

There are some hundred of them, and most analyses need few: compiling them all takes a twentieth of
a small one.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


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
