"""Exceptions that the last line of a log names, without the traceback they came with."""

from __future__ import annotations

from pdtriage.model import Rank
from pdtriage.support.lazy_regex import lazy_compile

_NAME = r"(?:[a-z_]\w{0,60}\.){0,6}[A-Za-z_]\w{0,60}(?:Error|Exception)"
_ALONE = lazy_compile(rf"^(?:{_NAME}|(?:\w{{1,60}}\.){{0,6}}Exception)(?::\s*\S|\s*$)")
_WITHIN = lazy_compile(rf"(?:^|[\s:=\"'(\[]){_NAME}(?:[:(]\s*\S|[\"')\]]?\s*$)")
"""As a program tells it that catches everything: `giving up: ValueError: no such key`."""


def is_bare_exception(rank: Rank) -> bool:
    """Its last line is one as Python prints it."""
    return _is_unread(rank) and bool(_ALONE.match(rank.tail[-1]))


def names_exception(rank: Rank) -> bool:
    """Its last line tells of one in whatever words."""
    return _is_unread(rank) and bool(_WITHIN.search(rank.tail[-1]))


def _is_unread(rank: Rank) -> bool:
    """It was not read with all that belongs to it."""
    read = any(max(event.line, event.last_line) >= rank.last_line for _, event in rank.events)
    return bool(rank.tail) and not read
