"""Trial of a pattern on text made to make it backtrack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from pdtriage.events.lines import LONGEST
from pdtriage.knowledge.signature import PATTERN_SECONDS

FILLERS = (
    " ",
    "a",
    "1",
    "/",
    ".",
    "a ",
    "1,",
    "a/",
    "a.b",
    "(",
    "[a",
    "'a'",
    ": ",
    "=",
    "-_",
    "中",
)


def runs_away(pattern: str, seeds: Sequence[str]) -> str | None:
    """A short form of a text on which `pattern` takes too long, or None."""
    compiled = regex.compile(pattern)
    for name, text in _hostile(seeds):
        if _too_slow(compiled, text) and _too_slow(compiled, text):  # twice: a busy machine
            return name
    return None


def _hostile(seeds: Sequence[str]) -> Iterator[tuple[str, str]]:
    for seed in seeds:
        head = seed[: LONGEST // 4]
        half = head[: len(head) // 2]
        for filler in FILLERS:
            stuffing = filler * (LONGEST // len(filler))
            shown = f"{filler!r} * {LONGEST // len(filler)}"
            yield f"{head} + {shown}", head + stuffing + "\x00"
            yield f"{shown} + {head}", stuffing + head
            yield f"{half} + {shown}", half + stuffing + "\x00"


def _too_slow(compiled: regex.Pattern[str], text: str) -> bool:
    try:
        compiled.search(text, timeout=PATTERN_SECONDS)
    except TimeoutError:
        return True
    return False
