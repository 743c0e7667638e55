"""Given what patterns said of one line, when another line differs in its digits only, then the same
answer serves, and the same is cut out of it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.knowledge import load_knowledge
from pdtriage.knowledge.signature import Format
from pdtriage.scan import patterns as patterns_module
from pdtriage.scan.clock import STAMP_GROUPS, Clock
from pdtriage.scan.patterns import Groups, LineKind, Patterns, Shapes
from pdtriage.scan.step_lines import STEP_GROUPS

KNOWLEDGE = load_knowledge()
CLOCKS = Patterns(KNOWLEDGE.clocks, STAMP_GROUPS)
COUNTERS = Patterns(KNOWLEDGE.counters, STEP_GROUPS)
SAMPLES = [
    *((CLOCKS, place, s) for place, form in enumerate(KNOWLEDGE.clocks) for s in form.samples),
    *((COUNTERS, place, s) for place, form in enumerate(KNOWLEDGE.counters) for s in form.samples),
]


def with_digits(text: str, digit: Callable[[], str]) -> str:
    return "".join(digit() if char in "0123456789" else char for char in text)


def filled(groups: Groups | None) -> list[str] | None:
    return None if groups is None else [group or "" for group in groups]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_a_cut_takes_out_what_the_pattern_would_find(
    sample: tuple[Patterns, int, str], data: st.DataObject
) -> None:
    patterns, place, text = sample
    other = with_digits(text, lambda: data.draw(st.sampled_from("0123456789")))
    cut = patterns.cut(place, text)
    assert (None if cut is None else filled(cut(other))) == filled(patterns.groups(place, other))
    first, cut = patterns.first(other), patterns.first_cut(text)
    assert (None if cut is None else filled(cut(other))) == filled(first[1] if first else None)


def test_patterns_of_others_need_not_have_every_group() -> None:
    own = [Format("own", r"(?x) at \ (?<step>\d+) (?:\ of \ (?P<total>\d+))? # not shipped")]
    patterns = Patterns(own, STEP_GROUPS)
    assert patterns.groups(0, "at 7 of 9") == ("7", None, "9", None)
    cut = patterns.cut(0, "at 7 of 9")
    assert cut is not None
    assert cut("at 3 of 4") == ("3", "", "4", "")
    assert patterns.first("at 7") == (0, ("7", None, None, None))
    assert patterns.cut(0, "nothing") is None


@pytest.mark.parametrize(
    ("line", "second"),
    [("[2023-11-14 22:13:20,5] a", "[2023-11-14 22:13:21,5] a"), ("a", "b")],
)
def test_a_clock_reads_a_kind_as_it_reads_each_line(line: str, second: str) -> None:
    clock, kind = Clock(CLOCKS, 1_700_000_000.0), LineKind([])
    for text in (line, second):
        assert clock.read_kind(text, kind) == clock.read(text)


def test_there_is_no_thirteenth_month_in_any_line_of_a_kind() -> None:
    """One format fits both, but only one of them is a day; no other format fits."""
    clock, kind = Clock(CLOCKS, 1_700_000_000.0), LineKind([])
    assert clock.read_kind("[11/14 22:13:20] a", kind) is not None
    assert clock.read_kind("[13/14 22:13:20] a", kind) is None


def test_where_one_format_says_a_thirteenth_month_another_is_asked() -> None:
    rest = r" (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    formats = [
        Format("month first", r"^(?P<month>\d\d)/(?P<day>\d\d)" + rest, shipped=True),
        Format("day first", r"^(?P<day>\d\d)/(?P<month>\d\d)" + rest, shipped=True),
    ]
    clock, kind = Clock(Patterns(formats, STAMP_GROUPS), 1_700_000_000.0), LineKind([])
    first, second = clock.read_kind("11/14 22:13:20", kind), clock.read_kind("14/11 22:13:20", kind)
    assert first == second == (1_700_000_000.0, None)


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
    for formats in (KNOWLEDGE.counters, KNOWLEDGE.clocks, KNOWLEDGE.prefixes):
        shapes, _ = asked(*(form.pattern for form in formats))
        assert b"Epoch: [41] [ 20/902]".translate(shapes.table) == b"Epoch: [00] [ 00/000]"


def test_long_lines_are_not_remembered() -> None:
    shapes, _ = asked(r"a\d")
    for length in (patterns_module.LONGEST_SHAPE, patterns_module.LONGEST_SHAPE + 1):
        assert shapes[(b"a7".rjust(length)).translate(shapes.table)] == [True]
    assert [*map(len, shapes)] == [patterns_module.LONGEST_SHAPE]


@given(st.lists(st.binary(max_size=4), max_size=40))
def test_what_is_remembered_is_bounded_and_right(lines: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns_module, "MOST_SHAPES", 3)
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
