"""Given lines that differ in their digits only, what is remembered of one holds for the others just
where no signature looks at the digits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pdtriage.knowledge import load_knowledge
from pdtriage.model import Event, LogFile
from pdtriage.scan import Engine, patterns, scan

NEXT_DIGIT = str.maketrans("0123456789", "1234567890")


def samples() -> Iterator[str]:
    """What signatures claim, and the same with other numbers."""
    for signature in load_knowledge().signatures.values():
        for sample in signature.samples:
            yield sample
            yield sample.translate(NEXT_DIGIT)


def events_of_each(texts: list[str]) -> list[tuple[Event, ...]]:
    """By one engine, which remembers."""
    engine, file = Engine(load_knowledge()), LogFile("-", "worker", "", modified=1.7e9)
    return [scan(file, [text.encode()], engine).events for text in texts]


def test_a_line_means_what_it_says_whatever_its_likes_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = list(samples())
    remembered = events_of_each(texts)
    again = events_of_each(texts[::-1])[::-1]
    monkeypatch.setattr(patterns, "_takes_any_digit", lambda _pattern: False)
    each_by_itself = events_of_each(texts)

    wrong = [
        text
        for text, *of in zip(texts, remembered, again, each_by_itself, strict=True)
        if not of[0] == of[1] == of[2]
    ]
    assert wrong == []
    assert len(texts) > 1000
