"""What a report says, in both languages at once."""

from __future__ import annotations

from collections.abc import Callable

from pdtriage.model import Cause, Report, Role, Text, Victim
from pdtriage.report.words import (
    culprit,
    headline,
    numbers,
    process_name,
    role_word,
    victims_line,
)


def headline_of(report: Report) -> Text:
    return _both(report, headline)


def culprit_of(cause: Cause, report: Report) -> Text:
    return _both(report, lambda spoken: culprit(cause, spoken))


def victims_of(victims: tuple[Victim, ...]) -> Text:
    return Text(victims_line(victims, "en"), victims_line(victims, "zh"))


def process_of(role: Role, rank: int | None, local: int | None, host: str | None) -> Text:
    return Text(
        process_name(role, rank, local, host, "en"),
        process_name(role, rank, local, host, "zh"),
    )


def group_of(role: Role, ranks: tuple[int, ...], count: int) -> Text:
    """`ranks 0, 2-7`, or how many where none has a number."""
    many = count > 1
    known = numbers(ranks)
    said = known or f"({count})"
    return Text(
        f"{role_word(role, 'en', many)} {said}",
        f"{role_word(role, 'zh', many)} {said}",
    )


def _both(report: Report, say: Callable[[Report], str]) -> Text:
    return Text(say(report._replace(language="en")), say(report._replace(language="zh")))
