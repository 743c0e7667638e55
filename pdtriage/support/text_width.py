"""Lines of fixed width for text in which a Chinese character is two columns wide."""

from __future__ import annotations

import re
from unicodedata import combining, east_asian_width

_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3"
    "\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
)
_CLOSING = "，。、；：！？）」』】》”’…％"
_OPENING = "（「『【《“‘"
_UNITS = re.compile(
    rf"\s+|[{_OPENING}]*[{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}{_OPENING}]+[{_CLOSING}]*|[{_OPENING}]+"
)
_COMMAND = re.compile(r"(`[^`]+`[^\s\w`]{0,2})")
_PATH = re.compile(r"[\w.~-]*/[^\s]{1,400}$", re.ASCII)
_ELLIPSIS = "..."


def columns(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - columns(text))


def cut(text: str, width: int) -> str:
    """`text` if it fits, otherwise its beginning and three dots."""
    if columns(text) <= width:
        return text
    return _head(text, max(0, width - len(_ELLIPSIS))) + _ELLIPSIS


def cut_list(text: str, width: int) -> str:
    """`text` if it fits, otherwise the first of what it lists: no number of it is cut in two."""
    if columns(text) <= width:
        return text
    head = _head(text, max(0, width - len(f", {_ELLIPSIS}")))
    whole = head if text.startswith(", ", len(head)) else head.rpartition(", ")[0]
    return f"{whole}, {_ELLIPSIS}" if whole else cut(text, width)


def wrap(text: str, width: int, most: int | None = None, paths: bool = False) -> list[str]:
    """`text` in lines of at most `width` columns, and at most `most` of them.

    A command is never broken, nor with `paths` a path: what a terminal breaks by itself can still
    be pasted.
    """
    lines: list[str] = []
    line, width = "", max(1, width)  # what stands before it may leave no room
    for unit in _units(text):
        if columns(line) + columns(unit.rstrip()) <= width:
            line += unit
            continue
        if line.strip():
            lines.append(line.rstrip())
        line = unit.lstrip()
        is_whole = _COMMAND.match(line) or (paths and _PATH.match(line))
        while columns(line) > width and not is_whole:
            head = _head(line, width) or line[0]
            lines.append(head)
            line = line[len(head) :]
    if line.strip() or not lines:
        lines.append(line.rstrip())
    if most is not None and len(lines) > most:
        rest = " ".join(lines[most - 1 :])
        lines = [*lines[: most - 1], cut(rest + " " * width, width)]
    return lines


def _head(text: str, width: int) -> str:
    """The longest beginning that fits."""
    taken = 0
    for position, character in enumerate(text):
        taken += _columns_of(character)
        if taken > width:
            return text[:position]
    return text


def _columns_of(character: str) -> int:
    if character < "\u0300":
        return 1
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _units(text: str) -> list[str]:
    """What is not broken: words, and commands, which people paste."""
    units: list[str] = []
    for part in _COMMAND.split(text):
        units += [part] if part.startswith("`") else _UNITS.findall(part)
    return units
