"""Given lines that differ in their digits, when asked about, then one answer serves them all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.knowledge import load_knowledge
from pdtriage.scan import shapes as shaping
from pdtriage.scan.shapes import Shapes


def asked(*patterns: str) -> tuple[Shapes[list[bool]], list[bytes]]:
    looked_at: list[bytes] = []

    def look(line: bytes) -> list[bool]:
        looked_at.append(line)
        return [bool(re.search(pattern.encode(), line)) for pattern in patterns]

    return Shapes(patterns, look), looked_at


def test_lines_of_one_shape_are_looked_at_once() -> None:
    shapes, looked_at = asked(r"step (\d+)")

    assert [shapes[line.translate(shapes.table)] for line in (b"step 1", b"step 7")] == [[True]] * 2
    assert looked_at == [b"step 0"]


@pytest.mark.parametrize(
    "pattern",
    [r"exit [1-9]", r"(\d)/\1", r"(?P<a>\d) (?P=a)", r"\w4", r"w\x34", r"w\064", r"[\x31-\x34]$"],
)
def test_patterns_that_tell_digits_apart_see_each_line(pattern: str) -> None:
    shapes, looked_at = asked(r"\d", pattern)

    for line in (b"exit 0 3/3 w5", b"exit 2 4/4 w4"):
        expected = [bool(re.search(each.encode(), line)) for each in (r"\d", pattern)]
        assert shapes[line.translate(shapes.table)] == expected
    assert len(looked_at) == 2


def test_formats_that_ship_take_any_digit() -> None:
    knowledge = load_knowledge()

    for formats in (knowledge.counters, knowledge.clocks, knowledge.prefixes):
        shapes, _ = asked(*(form.pattern for form in formats))
        assert b"Epoch: [41] [ 20/902]".translate(shapes.table) == b"Epoch: [00] [ 00/000]"


def test_long_lines_are_not_remembered() -> None:
    shapes, _ = asked(r"a\d")
    for length in (shaping.LONGEST_SHAPE, shaping.LONGEST_SHAPE + 1):
        assert shapes[(b"a7".rjust(length)).translate(shapes.table)] == [True]
    assert [*map(len, shapes)] == [shaping.LONGEST_SHAPE]


@given(st.lists(st.binary(max_size=4), max_size=40))
def test_what_is_remembered_is_bounded_and_right(lines: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shaping, "MOST_SHAPES", 3)
        shapes, _ = asked(r"a\d")
        for line in lines:
            assert shapes[line.translate(shapes.table)] == [bool(re.search(rb"a\d", line))]
            assert len(shapes) <= 3


@pytest.mark.parametrize(
    ("pattern", "takes_any"),
    [
        (r"(?P<a>\d):\g<a>", False),
        (r"v\N{DIGIT FIVE}", False),
        (r"[3-50-9]", False),
        (r"0-9", False),
        (r"\[0-9", False),
        (r"step [0-9]+ of [^0-9] [a-f0-9]{4,8}", True),
    ],
)
def test_what_asks_for_certain_digits_is_seen(pattern: str, takes_any: bool) -> None:
    table = Shapes([pattern], len).table
    assert b"5".translate(table) == (b"0" if takes_any else b"5")
