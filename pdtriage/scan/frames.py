"""The frames of Python's tracebacks, and lines that only quote code: what these say has not
happened."""

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


def frame_of(found: re.Match[str]) -> Frame:
    return Frame(found["file"], int(found["line"][:9]), (found["function"] or "").strip())


def depth_of(text: str) -> int:
    """Of a line's indentation; the margin of an exception group is part of it."""
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
