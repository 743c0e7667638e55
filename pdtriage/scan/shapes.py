"""Shapes of lines: the lines of a log repeat themselves but for their digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

from pdtriage.scan.patterns import Cut

MOST_SHAPES = 4096
"""Remembered at a time; a log of which no two lines are alike must not fill the memory."""
LONGEST_SHAPE = 1 << 10
"""Bytes; longer lines are seldom alike, and would fill the memory of every process that reads."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_AS_THEY_ARE = bytes.maketrans(b"", b"")
_CERTAIN = re.compile(r"\\[1-9]|\\g<|\(\?P=|\\N\{")
"""What asks for the same text again, or for a character by its name."""
_NOT_OF_LINES = re.compile(
    r"\\(?:x(?!3\d)[0-9a-fA-F]{2}|u(?!003\d)[0-9a-fA-F]{4}|.)|\{[\d,]+\}|\[\^?[^]\\\d]*0-9"
)
"""Digits in a pattern that stand for none in a line (`\\x31` does), or for any."""

Answer = TypeVar("Answer")


class Shapes(dict[bytes, Answer]):
    """What patterns say of lines: each shape is looked at once, and asking is a look-up.

    `shapes[raw.translate(shapes.table)]` is the answer for a line.
    """

    def __init__(self, patterns: Iterable[str], look: Callable[[bytes], Answer]) -> None:
        """`look` asks these patterns about a shape, which is a line with zeros for its digits."""
        super().__init__()
        self._look = look
        self.table = _ZEROS if all(map(_takes_any_digit, patterns)) else _AS_THEY_ARE

    def __missing__(self, shape: bytes) -> Answer:
        answer = self._look(shape)
        if len(shape) <= LONGEST_SHAPE:
            if len(self) >= MOST_SHAPES:
                self.clear()
            self[shape] = answer
        return answer


class Kind:
    """What is known of the lines of one shape: the same stands at the same places of all of them.

    The places are found in the first one that is read.
    """

    __slots__ = ("dated", "fits", "is_glog", "steps")

    def __init__(self, fits: Sequence[int], is_glog: bool = False) -> None:
        self.fits = fits  # places of the counters that may fit
        self.is_glog = is_glog
        self.steps: dict[int, Cut | None] = {}  # of a counter's groups, None where it does not fit
        self.dated: Cut | Literal[False] | None = None  # of a stamp; False where there is none


def _takes_any_digit(pattern: str) -> bool:
    """Whether it asks for digits only as such, so that lines of one shape are alike to it."""
    own = _NOT_OF_LINES.sub("", pattern)
    return not _CERTAIN.search(pattern) and not any(map(str.isdigit, own))
