"""How a pattern masks: a match as a whole, or its group `secret` where the match is suspicious."""

from __future__ import annotations

import re
from collections.abc import Callable

MASK = "***"

Mask = Callable[[str], str]
"""Counts a secret and gives what stands in its place."""
Substitute = Callable[[str, Mask], str]
Rule = tuple[tuple[str, ...], Substitute]
"""With words, in small letters, of which a text must have one.

Most texts have none: that is seen at once, and few of the patterns are ever compiled.
"""


def all_of(pattern: re.Pattern[str]) -> Substitute:
    """Masks each match."""
    return lambda text, mask: pattern.sub(lambda found: mask(found.group()), text)


def mask_groups(
    pattern: re.Pattern[str], suspicious: Callable[[re.Match[str]], bool] = bool
) -> Substitute:
    """Masks the group `secret` of each match; what stands around it stays."""

    def _substitute(text: str, mask: Mask) -> str:
        def _one(found: re.Match[str]) -> str:
            secret = found["secret"]
            if MASK in secret or not suspicious(found):
                return found.group()
            start, end = (place - found.start() for place in found.span("secret"))
            whole = found.group()
            return whole[:start] + mask(secret) + whole[end:]

        return pattern.sub(_one, text)

    return _substitute
