"""Given a file that is one line without end, when it is scanned, then it costs what lines cost."""

from __future__ import annotations

from time import process_time

import pytest

from pdtriage.model import FileFacts

from .builders import facts_of, telling

SIZE = 30 << 20
CHUNK = 1 << 20
DEARER = 30
"""One line may cost so much more than the same bytes in lines; without a bound it is hundreds."""


@pytest.mark.parametrize("word", [b"a", b"\0", b"Error: "])
def test_a_line_without_end_costs_little_more_than_lines(word: bytes) -> None:
    line = word * (99 // len(word)) + b"\n"
    _, usual = _timed(line * (SIZE // len(line)))
    facts, taken = _timed(word * (SIZE // len(word)))
    assert taken < DEARER * max(usual, 0.1)
    assert facts.lines == 1


@pytest.mark.parametrize(
    "header",
    [
        b"SyntaxError: ",
        b"Traceback (most recent call last)",
        b"OSError: [Errno 5] Input/output error; NCCL WARN Connection refused; CUDA out of memory ",
    ],
)
def test_a_header_said_without_end_is_parsed_once_in_a_line(header: bytes) -> None:
    size = 2 << 20
    line = header * (99 // len(header)) + b"\n"
    _, usual = _timed(line * (size // len(line)))
    _, taken = _timed(header * (size // len(header)))
    assert taken < DEARER / 10 * max(usual, 0.1)


def test_lines_and_offsets_are_right_behind_a_long_line() -> None:
    error = b"OSError: [Errno 5] Input/output error: '/data/7.jpg'\n"
    before = b"epoch 1 step 2 loss 0.5\n" * 5 + b"x" * (3 << 20) + b"\nshort\n"
    facts = facts_of(before + error + b"y\n" * 40_000, piece=CHUNK)
    event = telling(facts)[0]
    assert (event.line, event.offset) == (8, len(before))
    assert facts.lines == 8 + 40_000


@pytest.mark.parametrize("piece", [4096, 100_000])
def test_inside_a_long_line_the_pieces_do_not_matter(piece: int) -> None:
    raw = b"x" * (3 << 20) + b" OSError: [Errno 5] Input/output error " + b"y" * (1 << 20)
    facts = facts_of(raw, piece=piece)
    assert [(event.line, event.category) for event in telling(facts)] == [(1, "data.io")]
    assert facts == facts_of(raw, piece=CHUNK)


def _timed(raw: bytes) -> tuple[FileFacts, float]:
    started = process_time()
    facts = facts_of(raw, piece=CHUNK)
    return facts, process_time() - started
