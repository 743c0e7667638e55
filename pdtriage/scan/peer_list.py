"""The list of pods that Paddle's launcher writes into a pod's file, as Python prints it.

Read by hand: Python's own reader of literals takes a hundred times the memory of a text, and the
text may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pdtriage.support.lazy_regex import lazy_compile

MOST_PEERS = 100_000
"""Pods of one file; no job has more nodes."""

MOST_PAIRS = 64
_PLAIN, _ESCAPED = "{0,65535}", "{0,4096}"
_STRING = (
    rf"'[^'\\]{_PLAIN}(?:\\.[^'\\]{_PLAIN}){_ESCAPED}'"
    rf"|\"[^\"\\]{_PLAIN}(?:\\.[^\"\\]{_PLAIN}){_ESCAPED}\""
)
_PAIR = lazy_compile(
    rf"\s*(?P<name>{_STRING})\s*:\s*(?:(?P<text>{_STRING})|(?P<bare>[-+\w.]+))\s*(?P<next>[,}}])"
)
_BETWEEN = lazy_compile(r"\s*(?:(?P<more>,)\s*\{|\])")
_EMPTY = lazy_compile(r"\s*\}")
_ESCAPE = lazy_compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})|(.))"
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}


def is_peer_list(line: str) -> bool:
    return line.startswith("[{") and line.rstrip().endswith("}]")


def peers_in(line: str) -> Iterator[dict[str, str]]:
    """One flat dictionary after the other, values as text; ValueError at anything else."""
    at = 2
    while True:
        peer, at = _peer(line, at)
        yield peer
        follows = _BETWEEN.match(line, at)
        if follows is None:
            raise ValueError("not a list of pods")
        if follows["more"] is None:
            return
        at = follows.end()


def _peer(line: str, at: int) -> tuple[dict[str, str], int]:
    values: dict[str, str] = {}
    if empty := _EMPTY.match(line, at):
        return values, empty.end()
    for _ in range(MOST_PAIRS):
        pair = _PAIR.match(line, at)
        if pair is None:
            break
        at = pair.end()
        values[_unquote(pair["name"])] = pair["bare"] or _unquote(pair["text"])
        if pair["next"] == "}":
            return values, at
    raise ValueError("not a dictionary of plain values")


def _unquote(literal: str) -> str:
    inner = literal[1:-1]
    return _ESCAPE.sub(_character, inner) if "\\" in inner else inner


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else _NAMED.get(found[4], found[4])
