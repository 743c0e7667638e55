"""How a history says days, verdicts and numbers, in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import cast

from pdtriage.model import VerdictWord
from pdtriage.report.words import VERDICTS
from pdtriage.support.language import Text


def day_of(time: float | None) -> str:
    """The day of a time, in UTC; empty where the time is not known or is none."""
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return ""


def days_text(first: float | None, last: float | None) -> str:
    days = list(dict.fromkeys(filter(None, [day_of(first), day_of(last)])))
    return " … ".join(days) or "?"


def verdict_word(verdict: str) -> Text:
    return VERDICTS.get(cast(VerdictWord, verdict), Text(verdict, verdict))


def times_text(count: int) -> Text:
    return Text("once" if count == 1 else f"{count} times", f"{count} 次")


def counts_text(names: Sequence[tuple[str, int]], most: int = 4) -> str:
    """`10.0.0.2 (5), 10.0.0.3 (2), …`"""
    parts = [f"{name} ({count})" if count > 1 else name for name, count in names[:most]]
    return ", ".join([*parts, "…"] if len(names) > most else parts)


def steps_words(steps: Sequence[int]) -> Text:
    if not steps:
        return Text("", "")
    low, middle, high = steps[0], steps[len(steps) // 2], steps[-1]
    if low == high:
        return Text(f"after step {low}", f"在第 {low} 步之后")
    return Text(
        f"after steps {low} to {high}, mostly about {middle}",
        f"在第 {low} 到 {high} 步之后，多在 {middle} 步左右",
    )
