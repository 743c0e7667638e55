"""Given chunks that a second thread prepares, when they are used, then nothing is different."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.model import FileFacts, LogFile
from pdtriage.scan import scan
from pdtriage.scan import scan_file as scanning
from pdtriage.scan.detect import Stream
from pdtriage.scan.prefetch import DEPTH, ahead

from .builders import engine

LOG = Path(__file__).parents[1] / "fixtures/scenarios/data-errno5-worker/log/workerlog.1"


@pytest.mark.parametrize("size", [1, 50, 1000, 1 << 20])
def test_a_log_scanned_ahead_has_the_same_facts(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    monkeypatch.setattr(scanning, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(scanning, "PIECE", 0)

    def chunks() -> Iterator[bytes]:
        threads.add(threading.get_ident())
        yield from (raw[start : start + size] for start in range(0, len(raw), size))

    raw = LOG.read_bytes()
    file = LogFile("workerlog.1", "worker", "", 1, size=len(raw))
    told: list[int] = []
    expected: FileFacts = scan(file, [raw], engine())
    assert repr(scan(file, chunks(), engine(), told.append)) == repr(expected)
    assert sum(told) == len(raw)
    assert threads != {threading.get_ident()}


def test_what_goes_wrong_ahead_is_raised_where_it_is_used() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    given = ahead(items())
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
    given = ahead(items())
    assert next(given) == 0
    given.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    assert len(made) <= 2 * DEPTH + 3


def test_a_source_that_hangs_does_not_keep_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdtriage.scan.prefetch.PATIENCE", 0.05)
    release = threading.Event()

    def items() -> Iterator[int]:
        yield 0
        release.wait()

    given = ahead(items())
    assert next(given) == 0
    given.close()  # type: ignore[attr-defined]
    release.set()


@pytest.mark.parametrize("size", [1, 3, 17, 200])
def test_literals_across_the_border_of_chunks_are_found_once(size: int) -> None:
    text = b"x Traceback (most recent call last) Killed OSError: [Errno 5]\n"
    text = (text + b"Traceback (most recent\ncall last)\n" + b"quiet " * 20) * 3
    stream, hits = Stream(engine().detector, 100), []
    for start in range(0, len(text), size):
        hits += stream.take(text[start : start + size])
    expected = [(100 + at, literal) for at, literal in engine().detector.find(text)]
    assert sorted(hits) == expected
    assert len(set(hits)) == len(hits)
