"""Single lines of Python's tracebacks: frames, the code they quote, and what names the exception.

What a line of quoted code says has not happened.
"""

from __future__ import annotations

import re

from pdtriage.model import Frame
from pdtriage.scan.lines import Line, Lines
from pdtriage.support.lazy_regex import lazy_compile

FRAME = '", line '
STEP = 2
"""Code stands so much deeper than the frame it belongs to."""
FRAME_LINE = lazy_compile(
    r'^(\s*)(?:> )?File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?\s*$'
)
QUOTED_LINES, QUOTED_BYTES = 40, 1 << 13
"""How far above quoted code its frame is looked for."""
FOREIGN_BELOW_FRAME = 3
_FRAME_BYTES = FRAME.encode()
_DRAWN_CODE = lazy_compile(r"^│ +(?:❱ +)?\d+ ")
_NO_FOREIGN = lazy_compile(r"\s*$|[\w.$]+\s*(?::|$)|.*Traceback \(most recent call last\)")
"""What may be an exception's own line: below it stands its message."""
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


def frame_of(found: re.Match[str]) -> Frame:
    return Frame(found["file"], int(found["line"][:9]), (found["function"] or "").strip())


def depth_of(text: str) -> int:
    """How deep a line is indented; the margin of an exception group is part of it."""
    return len(text) - len(text.lstrip(" \t|+"))


def is_quoted_source(lines: Lines, line: Line) -> bool:
    """Whether a line quotes code: it stands below `File "x.py", line 3, in f`, deeper than that.

    Where several write into one file and no prefix tells them apart, lines of others may come
    between a frame and its code, which then stands exactly one step deeper.
    """
    if _DRAWN_CODE.match(line.text):
        return True
    depth = least = depth_of(line.text)
    near = max(0, line.start - QUOTED_BYTES)
    if depth < STEP or lines.buffer.find(_FRAME_BYTES, near, line.start) < 0:
        return False
    foreign = 0
    for earlier in lines.back(line.start, QUOTED_LINES):
        if earlier.writer != line.writer:
            continue
        own = depth_of(earlier.text)
        if FRAME_LINE.match(earlier.text[own:]):
            return own + STEP == depth if foreign else own < least
        if own and not foreign:
            least = min(least, own)
            continue
        foreign += 1
        if own or least < depth or foreign > FOREIGN_BELOW_FRAME or _NO_FOREIGN.match(earlier.text):
            return False
    return False


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
