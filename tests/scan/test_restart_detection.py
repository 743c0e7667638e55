"""Given how a file begins, when it begins that way again, then the place is found."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.scan.restart_detection import Opening
from pdtriage.scan.scanner import PIECE

from .builders import facts_of

FIRST = "Zebra crossing of the training at port\n"


@given(
    st.lists(st.sampled_from([FIRST, "Z", "Zebra crossing", "\n", "step 1\n" * 9, "Z" * 50, "x"])),
    st.booleans(),
)
def test_every_new_beginning_is_found(parts: list[str], ends_there: bool) -> None:
    text = FIRST + "reading\n" * 9 + "".join(parts)
    buffer = text.encode() + (b"" if ends_there else b"\nstep 2\n")
    opening = Opening()
    opening.learn(buffer, len(FIRST))

    lines = buffer.split(b"\n")
    starts = [len(b"\n".join(lines[:n])) + (n > 0) for n in range(len(lines))]
    fixed = FIRST.strip().encode()
    expected = [at for at in starts if at > 0 and buffer.startswith(fixed, at)]
    assert [echo.offset for echo in opening.echoes_with(buffer, 0, 0, 1)] == expected


def test_a_byte_that_is_not_rare_here_does_not_hide_it() -> None:
    buffer = FIRST.encode() + b"Z\n" * 1000 + FIRST.encode()
    opening = Opening()
    opening.learn(buffer, len(FIRST))

    [echo] = opening.echoes_with(buffer, 0, 0, 1)
    assert (echo.offset, echo.line) == (len(buffer) - len(FIRST), 1002)


@pytest.mark.parametrize("first", ["reading C:\\runs\\{} again", "0x7f{} [{}] (a-{}) begins *"])
def test_numbers_are_left_open_whatever_stands_around_them(first: str) -> None:
    buffer = "\n".join([first.format(3, 4, 5), *["reading"] * 9, first.format(16, 7, 28)])
    opening = Opening()
    opening.learn(buffer.encode(), buffer.index("\n") + 1)

    [echo] = opening.echoes_with(buffer.encode(), 0, 0, 1)
    assert echo.line == 11


@pytest.mark.parametrize("divider", ["```", "==========", "-- * --"])
def test_what_only_divides_begins_nothing(divider: str) -> None:
    buffer = f"{divider}\nTraceback (most recent call last):\nx\ny\nz\nKeyError: 1\n{divider}\n"
    opening = Opening()
    opening.learn(buffer.encode(), len(buffer))
    assert opening.echoes_with(buffer.encode(), 0, 0, 1) == []


@pytest.mark.parametrize("piece", [200, 1 << 20])
def test_a_run_with_the_pid_of_the_one_before_tells_when_it_began(piece: int) -> None:
    """In a container every first process is number 7."""

    def run(hour: int) -> str:
        began = f"I0102 {hour}:00:01.000001     7 tcp_store.cc:336] create a server: 57860\n"
        steps = "".join(f"epoch 0 step {step} loss 0.5\n" for step in range(30))
        return f"Modified flags of the training\n{began}{steps}W{began[1:].replace(':01.', ':59.')}"

    facts = facts_of((run(10) + run(12)).encode(), piece=piece)

    told = [time.strftime("%H:%M:%S", time.gmtime(stamp.time)) for stamp in facts.stamps]
    assert "12:00:01" in told
    assert told == sorted(told)


@pytest.mark.parametrize("dull", [b"0" * 4000, b" " * 4000, b"ab" * 2000], ids=repr)
def test_rows_of_digits_or_blanks_cost_no_time(dull: bytes) -> None:
    """In how many ways they fit must not multiply from line to line."""
    first = b"7\n" if dull.isdigit() else b"\n" if dull.isspace() else b"7ab\n"
    opening = Opening()
    opening.learn(b"begins\n" + 2 * first + b"Zebra crossing\n", 1 << 20)
    buffer = b"begins\n" + 2 * first + b"Zebra crossing\n"
    buffer += b"begins\n" + 2 * (dull + b"\n") + b"no Zebra crossing\n"
    began = time.process_time()
    assert not opening.echoes_with(buffer, 0, 0, 1)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("first", ["Zebra crossing of the training\n", "1 2\n"])
def test_a_new_beginning_across_the_border_of_two_pieces_is_found(first: str) -> None:
    head = f"{first}{first}reading the data set\nall is well\n".encode()
    noise = b"nothing of interest\n"
    for before in range(PIECE - 90, PIECE + 10, 7):
        missing = before - len(head) - 1
        filler = (noise * (missing // len(noise) + 1))[:missing] + b"\n"
        raw = head + filler + head + noise * 9000
        assert [echo.offset for echo in facts_of(raw).echoes] == [before]


@pytest.mark.parametrize("piece", [1 << 13, 1 << 20])
def test_a_beginning_is_learnt_behind_the_end_of_a_process(piece: int) -> None:
    """The first one could not even begin; the next ones are of another script."""
    missing = "python: can't open file 'trian.py': [Errno 2] No such file or directory\n"
    opening = "loading the vocabulary of the corpus\nbuilding a model of 12 layers\nready\n"
    parts = "".join(f"part {number} of the corpus is done\n" for number in range(300))
    raw = (missing + 3 * (opening + parts)).encode()
    run = len(opening + parts)
    found = [echo.offset for echo in facts_of(raw, piece=piece).echoes]
    assert found == [len(missing) + number * run for number in range(3)]


DUMP = """\
----------------------
Error Message Summary:
----------------------
FatalError: `Aborted` is detected by the operating system.
"""
RAISED = """\
    return read(name)
  File "reader.py", line 7, in read
    raise FileNotFoundError(name)
FileNotFoundError: 7.jpg

cannot read a sample, and goes on
"""


@pytest.mark.parametrize(
    "cut", [DUMP, *(RAISED[RAISED.index(at) :] for at in ("  ", "  F", "FileNotFoundError:"))]
)
def test_the_rest_of_a_passage_in_which_a_log_was_cut_is_no_beginning(cut: str) -> None:
    text = cut + "reading\n" * 50
    assert facts_of((text + text).encode()).echoes == ()


def test_what_stands_once_behind_an_end_is_no_beginning() -> None:
    missing = "python: can't open file 'trian.py': [Errno 2] No such file or directory\n"
    raw = missing + "loading the corpus\nready\n" + "epoch 0 step 1 loss 0.5\n" * 30
    assert facts_of(raw.encode()).echoes == ()
