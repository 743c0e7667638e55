"""Lines that name what was raised, told from what else a program prints there."""

from __future__ import annotations

import re

from pdtriage.scan.frames import FRAME_LINE
from pdtriage.support.lazy_regex import lazy_compile

EXCEPTION_LINE = lazy_compile(
    r"^(?P<type>(?:[A-Za-z_][\w$]*\.)*(?:_?[A-Za-z]\w*?)?"
    r"(?:Error|Exception|Exit|Interrupt|Warning|Empty|Full|Timeout|Iteration|NotMet|Failure|Group"
    r"|Errors|Expired|Refused|Aborted|Unavailable|Killed|Exceeded))(?::(?P<message>.*))?$"
)
_WEAK = lazy_compile(
    r"^(?P<type>(?:[a-z_]\w*\.)+[A-Za-z_]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[\d_a-zA-Z]*[^\W\d_a-zA-Z]\w*)"
    r"(?::(?P<message>.*))?$"
)
_BARE = lazy_compile(
    r"^(?P<type>(?:[A-Za-z_]\w{0,80}\.|<locals>\.){0,9}[A-Za-z_]\w{0,80})(?::(?P<message>\s.*)?)?$"
)
"""Any name: an exception's where the code above it raises one, or where it is of a function."""
_UNOPENED = lazy_compile(r"^\S*python[\w.]*: can't open file ")
_LOG_LINE = lazy_compile(
    r"^\[?(?:\d{4}[-/]\d\d|\d\d/\d\d |[IWEF]\d{4} \d\d:|LAUNCH |INFO|WARNING|ERROR|DEBUG)"
    r"|^Exception in thread|^-{10,}|^\*\*\* |^terminate called|^Epoch|^epoch|^step|\bloss\b"
    r"|^\S{1,300}\.py:\d+: \w*Warning: |^=+ Modified FLAGS|^usage: "
)


def exception_in(text: str, sure: bool, code: str = "") -> re.Match[str] | None:
    """`code` is what the last frame did, where it stands right above."""
    if text[:1].isspace() and text.strip() and len(text) - len(text.lstrip()) > 3:
        return None
    stripped = text.strip()
    found = EXCEPTION_LINE.match(stripped)
    if found or not sure:
        return found
    weak = _WEAK.match(stripped)
    if weak or not code or text[:1].isspace():
        return weak
    bare = _BARE.match(stripped)
    if bare is None:
        return None
    named = bare["type"][:1].isupper() or bare["type"] in code
    raised = code.lstrip().startswith("raise") and named and not looks_like_log(stripped)
    return bare if raised or "<locals>." in bare["type"] else None


def looks_like_log(text: str) -> bool:
    return bool(_LOG_LINE.search(text))


def says_it_cannot_begin(text: str) -> bool:
    """Whether Python says that it could not open its program, or not even compile it."""
    frame = FRAME_LINE.match(text)
    return not frame["function"] if frame else bool(_UNOPENED.match(text))
