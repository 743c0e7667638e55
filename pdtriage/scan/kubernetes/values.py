"""Careful steps into documents of strangers: the wrong type is the same as nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from pdtriage.scan.lines import clean

SHOWN = 500
"""Characters of a message that go into a report."""


def mapping(value: object, *path: str) -> Mapping[str, object]:
    """The object at `path` below `value`, empty where there is none."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def items(value: object, *path: str) -> Iterator[Mapping[str, object]]:
    """The objects of the list at `path` below `value`."""
    inner = mapping(value, *path[:-1]).get(path[-1]) if path else value
    for item in inner if isinstance(inner, list) else []:
        if isinstance(item, Mapping):
            yield item


def text(value: object, *path: str) -> str:
    """The text at `path` below `value`: one line, no control characters."""
    inner = mapping(value, *path[:-1]).get(path[-1]) if path else value
    if isinstance(inner, bool) or not isinstance(inner, str | int | float):
        return ""
    flat = " ".join(clean(str(inner).encode("utf-8", "replace")).split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1] + "…"


def number(value: object, *path: str) -> int | None:
    inner = mapping(value, *path[:-1]).get(path[-1]) if path else value
    if isinstance(inner, int) and not isinstance(inner, bool):
        return inner
    told = inner.strip() if isinstance(inner, str) else ""
    return int(told) if told.isdecimal() and len(told) < 10 else None


def moment(value: object, *path: str) -> float | None:
    """Seconds since 1970 of `2024-01-01T00:00:00Z` or of `Mon, 01 Jan 2024 08:00:00 +0800`."""
    told = text(value, *path)
    if not told:
        return None
    try:
        if told[:1].isdecimal():
            whole, _, rest = told.replace("Z", "+00:00").partition(".")
            zone = rest[-6:] if rest else ""
            read = datetime.fromisoformat(whole + zone)
            return (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).timestamp()
        from email.utils import parsedate_to_datetime  # slow to import, and only for `describe`

        return parsedate_to_datetime(told).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
