"""Names as people see them: relative, with `/`, and safe to print whoever made them up."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

MOST_DIGITS = 18
_NUMBERS = re.compile(rf"([0-9]{{1,{MOST_DIGITS}}})")


def display_roots(paths: Sequence[str]) -> list[str]:
    """What each path is called in the report; "" for the current folder.

    Relative paths stay as they were asked for. As soon as one is absolute, all are told from the
    deepest folder that holds them all, so that the same name in two places stays two names.
    """
    if not any(os.path.isabs(path) for path in paths):
        kept = [os.path.normpath(path) for path in paths]
        return ["" if path == os.curdir else printable(_with_slashes(path)) for path in kept]
    try:
        whole = [os.path.abspath(path) for path in paths]
    except OSError:  # relative to a working folder that was removed
        whole = [os.path.normpath(path) for path in paths]
    try:
        common = os.path.commonpath([os.path.dirname(path) for path in whole])
        whole = [os.path.relpath(path, common) for path in whole]
    except ValueError:  # two drives of one Windows machine
        whole = [os.path.splitdrive(path)[1].lstrip("\\/") for path in whole]
    return ["" if path == os.curdir else printable(_with_slashes(path)) for path in whole]


def join_display(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder not in ("", ".") else name


def member_parts(name: str) -> tuple[str, ...]:
    """The parts of an archive member's name; nothing in it leads upwards or to a root."""
    parts = re.split(r"[\\/]+", name)
    if parts and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts = parts[1:]
    return tuple(printable(part) for part in parts if part not in ("", ".", ".."))


def printable(name: str) -> str:
    """The name with undecodable bytes and control characters written out as escapes."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(_escape(char) for char in name)


def natural_key(path: str) -> tuple[tuple[int | str, ...], str]:
    """A key that sorts `workerlog.2` before `workerlog.10`."""
    before = path.rstrip("0123456789")
    digits = path[len(before) :]
    if 0 < len(digits) <= MOST_DIGITS:
        return (*_parts(before), int(digits), ""), path
    return _parts(path), path


@lru_cache(maxsize=64)
def _parts(path: str) -> tuple[int | str, ...]:
    """Text and numbers take turns; the logs of a folder differ in the last number only."""
    parts: list[int | str] = list(_NUMBERS.split(path))
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return tuple(parts)


def _with_slashes(path: str) -> str:
    return path.replace(os.sep, "/")


def _escape(char: str) -> str:
    import unicodedata

    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    return char
