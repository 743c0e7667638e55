"""Given a log, when scanned whole or piece by piece, then the facts are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.model import FileFacts
from pdtriage.scan import scanner as scanning

from .builders import engine, facts_of, telling

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
LOGS = sorted(
    log
    for name in ("data-errno5-worker", "crash-segfault", "chained-exceptions", "op-shape")
    for log in (SCENARIOS / name / "log").glob("workerlog.*")
)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parts[-3]}-{log.name}")
@pytest.mark.parametrize("piece", [1, 7, 100, 4096])
def test_the_size_of_the_pieces_does_not_matter(log: Path, piece: int) -> None:
    raw = log.read_bytes()
    assert facts_of(raw, piece=piece) == facts_of(raw)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parts[-3]}-{log.name}")
def test_a_border_inside_a_passage_does_not_matter(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = log.read_bytes()
    whole = facts_of(raw)
    monkeypatch.setattr(scanning, "PIECE", 512)
    monkeypatch.setattr(scanning, "AHEAD", 8192)
    small = facts_of(raw)
    assert _told(small) == _told(whole)
    assert (small.lines, small.bytes, small.tail) == (whole.lines, whole.bytes, whole.tail)


def test_asking_in_between_changes_nothing() -> None:
    raw = LOGS[0].read_bytes()
    scanner = scanning.FileScanner(facts_of(raw).file, engine())
    for start in range(0, len(raw), 64):
        scanner.feed(raw[start : start + 64])
        scanner.facts()
    assert scanner.facts() == facts_of(raw)


def test_a_log_that_screams_is_folded_and_counted() -> None:
    line = b"OSError: [Errno 5] Input/output error: '/data/%d.jpg'\n"
    facts = facts_of(b"".join(line % number for number in range(3000)))
    causes = telling(facts)
    assert len(causes) < 5
    assert sum(event.count for event in causes) == 3000


def test_events_that_differ_are_capped_and_what_was_left_out_is_said() -> None:
    quiet = b"nothing to see here\n" * 70
    line = b"OSError: [Errno 5] Input/output error: '/data/%d.jpg'\n"
    facts = facts_of(b"".join(line % number + quiet for number in range(500)))
    assert len(telling(facts)) == 400
    assert "100 more lines" in facts.notes[0].en


def test_one_line_of_a_megabyte() -> None:
    error = b" OSError: [Errno 5] Input/output error "
    facts = facts_of(b"x" * 500_000 + error + b"y" * 500_000 + b"\n")
    assert telling(facts)[0].category == "data.io"
    assert all(len(event.text) <= 2000 for event in facts.events)
    assert facts.lines == 1


def test_control_sequences_do_not_reach_the_text() -> None:
    facts = facts_of(b"\x1b[31mOSError: [Errno 5] Input/output error\x1b[0m\x1b]0;title\x07\n")
    assert telling(facts)[0].text == "OSError: [Errno 5] Input/output error"


def test_mpirun_prefixes_tell_the_writers_apart() -> None:
    line = "Wed Mar 14 12:40:31 2018[1,{}]<stderr>:OSError: [Errno 5] Input/output error\n"
    facts = facts_of("".join(line.format(rank) for rank in (3, 5, 3)), kind="console")
    assert {event.writer for event in facts.events} == {3, 5}


def test_what_mpirun_says_at_the_end_hides_no_writer_of_a_short_console() -> None:
    line = "[1,{}]<stderr>:OSError: [Errno 5] Input/output error\n"
    own = (
        "-" * 74 + "\nmpirun has exited due to process rank 7 with PID 9120 on\n" + "-" * 74 + "\n"
    )
    facts = facts_of(line.format(7) * 3 + own, kind="console")
    assert {event.writer for event in facts.events if event.category == "data.io"} == {7}


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=3000))
def test_arbitrary_bytes_never_raise(raw: bytes) -> None:
    for kind in ("worker", "console", "kernel"):
        facts_of(raw, kind=kind)


WORDS = st.sampled_from(
    [
        b"Traceback (most recent call last):\n",
        b'  File "a.py", line 1, in f\n',
        b"    g()\n",
        b"KeyError: 1\n",
        b"During handling of the above exception, another exception occurred:\n",
        b"Exception in thread Thread-1:\n",
        b"Error Message Summary:\n----------------------\n",
        b"C++ Traceback (most recent call last):\n",
        b"0   paddle::x()\n",
        b"  [SignalInfo: *** SIGTERM (@0x1) received by PID 5 (TID 0x7) from PID 9 ***]\n",
        b"  | ",
        b"  + Exception Group Traceback (most recent call last):\n",
        b"SyntaxError: x\n",
        b"epoch 0 step 3 loss nan\n",
        b"\r",
        b"\n",
        b"\x00\xff",
        b"Container rank 0 status failed cmd ['p'] code -6 log log/workerlog.0\n",
        b"ABORT!!! Out of all 2 trainers, the trainer process with rank=[1] was aborted.\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=40), st.integers(1, 200))
def test_broken_passages_never_raise_and_pieces_do_not_matter(
    words: list[bytes], piece: int
) -> None:
    raw = b"".join(words)  # repr, because a loss of nan is not equal to itself
    assert repr(facts_of(raw, "console", piece)) == repr(facts_of(raw, "console"))


def _told(facts: FileFacts) -> list[tuple[object, ...]]:
    """Block numbers may differ: they count passages, not meaning."""
    return [(e.signature, e.line, e.offset, e.text, e.frame, e.count) for e in facts.events]


def test_what_a_passage_holds_behind_the_border_of_a_piece_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanning, "PIECE", 512)
    monkeypatch.setattr(scanning, "AHEAD", 8192)
    frames = b'  File "a.py", line 1, in f\n    f()\n' * 40
    raw = b"Traceback (most recent call last):\n" + frames
    raw += b"ModuleNotFoundError: No module named 'paddleocr'\n" + b"quiet\n" * 3000
    assert [event.category for event in telling(facts_of(raw))] == ["code.import"]


def test_a_prefix_is_seen_however_little_is_fed_first() -> None:
    said = b"terminate called after throwing an instance of 'std::bad_alloc'\n"
    raw = b"".join(b"[1,%d]<stderr>:" % rank + said for rank in (3, 5) * 10)
    for piece in (1, 10, 100):
        assert facts_of(raw, piece=piece) == facts_of(raw)
        assert {event.writer for event in facts_of(raw, piece=piece).events} == {3, 5}


def test_one_line_like_a_prefix_is_none_where_other_lines_follow() -> None:
    raw = b"10.96.202.19: hello\n" + b"nothing of interest\n" * 20 + b"10.96.202.19: Killed\n"
    assert facts_of(raw, piece=20) == facts_of(raw)


def test_what_was_read_before_does_not_tell_how_the_next_step_is_read() -> None:
    """The long line fits two counters, the short one only the second of them."""
    both = b"global step %d, epoch: 1, batch: 99, loss: 0.5\n"
    other = b"epoch: 0 step: %d loss: 0.52\n"
    many = [both % step for step in range(30_000)]
    raw = b"".join([*many[:26_000], *[other % step for step in range(100)], *many[26_000:]])
    scanner = scanning.FileScanner(facts_of(b"").file, engine())
    cut = raw.index(many[26_000])
    for part in (raw[:cut], raw[cut:]):
        scanner.feed(part)
        told = scanner.facts()
    assert told == facts_of(raw)


def test_how_far_a_passage_is_followed_does_not_depend_on_what_is_fed_at_once() -> None:
    raw = b'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f("'
    raw += b"x" * (scanning.PIECE + 2 * scanning.AHEAD) + b'")\nRuntimeError: full\n'
    assert facts_of(raw, piece=1 << 12) == facts_of(raw) == facts_of(raw, piece=1 << 18)


@pytest.mark.parametrize("noise", [0.5, 1.2, 3.0])
@pytest.mark.parametrize("piece", [None, 1 << 17])
def test_the_last_step_is_found_however_much_is_said_below_it(
    noise: float, piece: int | None
) -> None:
    steps = b"".join(b"epoch: 3, step: %d, loss: 1e-5\n" % step for step in range(80_000))
    raw = steps + b"a quiet dump of a tensor\n" * int(noise * (1 << 20) / 25)
    scanner = scanning.FileScanner(facts_of(b"").file, engine(), piece=piece)
    for start in range(0, len(raw), 1 << 18):
        scanner.feed(raw[start : start + (1 << 18)])
        scanner.facts()
    assert scanner.facts().progress[-1].step == 79_999
