"""Given an iterator that works ahead in a thread, when it is used, then nothing is different."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pdtriage.sources.read_ahead import DEPTH, work_ahead


def test_what_goes_wrong_ahead_is_raised_where_it_is_used() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    given = work_ahead(items())
    assert next(given) == 1
    with pytest.raises(OSError, match="gone"):
        next(given)


def test_who_stops_asking_stops_the_work() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            made.append(number)
            yield number

    before = threading.active_count()
    given = work_ahead(items())
    assert next(given) == 0
    given.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    assert len(made) <= 2 * DEPTH + 3


def test_a_source_that_hangs_does_not_keep_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdtriage.sources.read_ahead.PATIENCE", 0.05)
    release = threading.Event()

    def items() -> Iterator[int]:
        yield 0
        release.wait()

    given = work_ahead(items())
    assert next(given) == 0
    given.close()  # type: ignore[attr-defined]
    release.set()
