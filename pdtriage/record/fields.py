"""JSON that anybody may have written: what is of the wrong type is as good as not there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite

Json = Mapping[str, object]

MOST = 1 << 53
"""A larger number is none that anybody counted, and not every reader of JSON takes it."""


MAX_MESSAGE = 65 << 10
MAX_DEPTH = 8
MAX_TEXT = 4_000
MAX_ITEMS = 512


def decode_message(text: str) -> dict[str, object] | None:
    """The object another node has written, with everything that could do harm removed; None if
    there is none, or if it is too large."""
    if len(text) > MAX_MESSAGE:
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    clean = _clean(message, MAX_DEPTH)
    return clean if isinstance(clean, dict) else None


def whole(entry: Json, key: str) -> int | None:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < MOST else None


def count(entry: Json, key: str) -> int | None:
    return as_count(entry.get(key))


def as_count(value: object) -> int | None:
    """A number of which there are no fewer than none: ranks, steps, processes."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < MOST else None


def number(entry: Json, key: str) -> float | None:
    """Python reads `NaN` and `Infinity`, which are no JSON, and no time."""
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        real = float(value)
    except OverflowError:
        return None
    return real if isfinite(real) else None


def text(entry: Json, key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def texts(entry: Json, key: str) -> tuple[str, ...]:
    return tuple(item for item in items(entry, key) if isinstance(item, str))


def items(entry: Json, key: str) -> Sequence[object]:
    value = entry.get(key)
    return value if isinstance(value, (list, tuple)) else ()


def mappings(entry: Json, key: str, most: int) -> list[Json]:
    """Of the first so many items of a list those that are mappings."""
    return [item for item in items(entry, key)[:most] if isinstance(item, dict)]


def mapping(entry: Json, key: str) -> Json:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def text_map(entry: Json, key: str) -> dict[str, str]:
    return {name: item for name, item in mapping(entry, key).items() if isinstance(item, str)}


def _clean(value: object, depth: int) -> object:
    if isinstance(value, str):
        text = value[:MAX_TEXT]
        return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    if depth == 0:
        return None
    if isinstance(value, list):
        return [_clean(item, depth - 1) for item in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        some = list(value.items())[:MAX_ITEMS]
        return {str(_clean(key, 1))[:200]: _clean(item, depth - 1) for key, item in some}
    return None
