"""Given a log that screams, when it is scanned, then little is read and all is accounted for."""

from __future__ import annotations

import pytest

from pdtriage.scan import budget as budgeting
from pdtriage.scan import scanner as scanning
from pdtriage.scan.clock import Clock

from .builders import facts_of, telling

SCREAM = b"W0101 10:00:00.000001 7 x.cc:1] OSError: [Errno 5] Input/output error: '/data/%d.jpg'\n"


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgeting, "FREE_LINES", 100)
    monkeypatch.setattr(scanning, "PIECE", 4096)
    monkeypatch.setattr(scanning, "AHEAD", 4096)


def test_what_was_not_read_is_counted() -> None:
    facts = facts_of(b"".join(SCREAM % number for number in range(2000)))
    read = sum(event.count for event in facts.events if "Errno 5" in event.text)
    note = facts.notes[-1].en
    assert read < 300
    assert "more places" in note
    assert "[Errno 5] Input/output error" in note


def test_a_new_word_is_read_in_the_middle_of_the_noise() -> None:
    screams = [SCREAM % number for number in range(2000)]
    screams[1000] = b"ModuleNotFoundError: No module named 'paddleocr'\n"
    facts = facts_of(b"".join(screams))
    assert [event.line for event in facts.events if event.category == "code.import"] == [1001]


def test_only_what_was_not_read_is_named() -> None:
    screams = [SCREAM % number for number in range(2000)]
    screams[1000] = b"ModuleNotFoundError: No module named 'paddleocr'\n"
    assert "NotFoundError" not in facts_of(b"".join(screams)).notes[-1].en


def test_a_new_word_under_a_header_that_came_often_keeps_its_traceback() -> None:
    common = b'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
    pages = [common + SCREAM[32:] % number for number in range(500)]
    pages[250] = common + b"ModuleNotFoundError: No module named 'paddleocr'\n"
    facts = facts_of(b"".join(pages))
    event = next(event for event in facts.events if event.category == "code.import")
    assert event.frame is not None
    assert event.frame.file == "a.py"


def test_the_end_is_read_whatever_came_before() -> None:
    raw = b"".join(SCREAM % number for number in range(2000))
    facts = facts_of(raw)
    assert max(event.last_seen for event in telling(facts)) == 2000


def test_a_silent_log_has_no_such_note() -> None:
    assert facts_of(b"epoch 1 step 2 loss 0.5\n" * 3000).notes == ()


@pytest.mark.parametrize("piece", [977, 100_000])
def test_how_it_is_fed_does_not_matter(piece: int) -> None:
    raw = b"".join(SCREAM % number for number in range(2000))
    assert facts_of(raw, piece=piece) == facts_of(raw, piece=3000)


def test_errors_without_a_time_do_not_read_the_same_lines_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budgeting, "FREE_LINES", 1000)
    texts: list[str] = []
    read = Clock.read

    def counted(clock: Clock, text: str) -> tuple[float, int | None] | None:
        texts.append(text)
        return read(clock, text)

    monkeypatch.setattr(Clock, "read", counted)
    line = b"[Errno 5] Input/output error gloo TIMEOUT Out of memory error on GPU 0 NCCL error\n"
    facts = facts_of(line * 1000)
    events = sum(event.count for event in facts.events)
    assert events >= 1000
    assert len(texts) < 2 * (events + 1000)


def test_the_nearest_time_above_is_taken_up_to_thirty_lines() -> None:
    error = b"OSError: [Errno 5] Input/output error: '/data/x.jpg'\n"
    first, second = b"2023-05-06 07:08:09 begin\n", b"2023-05-06 07:09:10 go on\n"
    quiet = b"nothing to see here\n"
    far = quiet * 70
    facts = facts_of(first + error + far + error + far + second + quiet * 29 + error)
    times = [event.time for event in telling(facts)]
    assert times == [1683356889.0, None, 1683356950.0]
