"""Given a buffer, when its lines are asked for in any order, then numbers and ends are right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.scan import lines as reading
from pdtriage.scan.lines import (
    TAIL,
    Lines,
    count_newlines,
    last_start,
    near_end,
    near_start,
    tail_of,
)

from .builders import engine, facts_of, telling

TEXTS = st.lists(st.sampled_from([b"", b"a", b"\r", b"a b" * 9, b"\r\n"]), max_size=60)


@given(TEXTS, st.data())
def test_numbers_are_those_of_a_naive_count(rows: list[bytes], data: st.DataObject) -> None:
    buffer = b"\n".join(rows)
    places = st.integers(0, len(buffer))
    origin, asked = data.draw(places), data.draw(st.lists(places, max_size=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "NEAR", 4)
        lines = Lines(buffer, 100, numbered_at=origin)
        if data.draw(st.booleans()):
            lines.number_end()
        numbers = [lines.number_at(place) for place in asked]

    before = 100 - buffer.count(b"\n", 0, origin)
    assert numbers == [before + buffer.count(b"\n", 0, place) for place in asked]


@given(TEXTS, st.data())
def test_a_stretch_grows_to_whole_lines(rows: list[bytes], data: st.DataObject) -> None:
    buffer = b"\n".join(rows)
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(buffer))] * 2)))
    begin, end = near_start(buffer, begin), near_end(buffer, end)

    assert begin == 0 or buffer[begin - 1 : begin] == b"\n"
    assert end in (0, len(buffer)) or buffer[end - 1 : end] == b"\n"


@given(st.binary(max_size=200))
def test_newlines(part: bytes) -> None:
    assert count_newlines(part) == part.count(b"\n")


@pytest.mark.parametrize("blank", [b"", b"\n" * 9, b"\r\n" * 30, b" \n" * 60])
def test_the_last_words_before_blank_lines(blank: bytes) -> None:
    assert tail_of(b"first\nsecond\nthird\n" + blank) == ("second", "third")


def test_the_last_words_above_a_picture_of_the_cards() -> None:
    rule = "+-------------------------------+----------------------+----------------------+\n"
    card = "| N/A   41C    P0    57W / 250W |  21729MiB / 22912MiB |    100%      Default |\n"
    log = "step: 1, loss: 2\nstep: 2, loss: 1\n"
    picture = "Mon May 13 10:02:11 2019       \n" + rule + card + rule + "\n" + rule
    raw = (log + picture).encode()

    assert tail_of(raw) == tuple(log.split("\n")[:2])
    assert last_start(raw) == log.index("step: 2")
    assert tail_of(rule.encode() + b"| 3 | 0.5 |") == (rule.strip(), "| 3 | 0.5 |")
    assert tail_of(picture.encode()) == (rule.strip(), rule.strip())


def test_the_last_words_of_nothing() -> None:
    assert tail_of(b"") == tail_of(b" \r\n\n") == ()


@pytest.mark.parametrize("banner", [0, 1, 6, 12])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_ranks_behind_what_a_wrapper_says_itself(banner: int, ends: str) -> None:
    lines = [f"WARNING: no OpenFabrics device, line {n}" for n in range(banner)]
    lines += [f"\x1b[0m[1,{n % 4}]<stdout>:step {n} loss 0.5" for n in range(100)]
    lines += ["[1,2]<stderr>:RuntimeError: CUDA out of memory", ""]
    facts = facts_of(ends.join(lines).encode(), kind="console")

    assert [(event.writer, event.text) for event in telling(facts)] == [
        (2, "RuntimeError: CUDA out of memory")
    ]


def test_a_prefix_that_few_lines_have_is_none() -> None:
    raw = b"step 1 loss 0.5\n" * 30 + b"[1,2]<stderr>:RuntimeError: CUDA out of memory\n"
    (event,) = telling(facts_of(raw, kind="console"))
    assert event.writer is None


@pytest.mark.parametrize("blank", [b"\n", b" ", b"\r"])
def test_nothing_is_told_of_an_end_that_is_blank_for_too_long(blank: bytes) -> None:
    assert tail_of(b"said\n" + blank * (TAIL - 5)) == ("said",)
    assert tail_of(b"said\n" + blank * 2 * TAIL) == ()


def test_a_line_that_says_nothing_has_its_prefix_without_the_blank_behind_it() -> None:
    log = b"[pod/resnet-0/main] first\n[pod/resnet-0/main]\n[pod/resnet-0/main] last\n"
    prefixes = engine().prefixes
    assert prefixes.lines_of(log) == ["first", "", "last"]
    prefix = prefixes.of_log(log)
    assert tail_of(log, prefix) == ("first", "last")
    ended = log + b"[pod/resnet-0/main] \n[pod/resnet-0/main]\n"
    assert last_start(ended, prefix) == last_start(log, prefix) == log.rindex(b"[")
