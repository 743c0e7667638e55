"""Given what a pattern found in one line, when another line differs in its digits only, then the
same is cut out of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.knowledge import load_knowledge
from pdtriage.knowledge.signature import Format
from pdtriage.scan.clock import STAMP_GROUPS, Clock
from pdtriage.scan.patterns import Groups, Patterns
from pdtriage.scan.progress import STEP_GROUPS
from pdtriage.scan.shapes import Kind

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
    clock, kind = Clock(CLOCKS, 1_700_000_000.0), Kind([])
    for text in (line, second):
        assert clock.read_kind(text, kind) == clock.read(text)


def test_there_is_no_thirteenth_month_in_any_line_of_a_kind() -> None:
    """One format fits both, but only one of them is a day; no other format fits."""
    clock, kind = Clock(CLOCKS, 1_700_000_000.0), Kind([])
    assert clock.read_kind("[11/14 22:13:20] a", kind) is not None
    assert clock.read_kind("[13/14 22:13:20] a", kind) is None


def test_where_one_format_says_a_thirteenth_month_another_is_asked() -> None:
    rest = r" (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    formats = [
        Format("month first", r"^(?P<month>\d\d)/(?P<day>\d\d)" + rest, shipped=True),
        Format("day first", r"^(?P<day>\d\d)/(?P<month>\d\d)" + rest, shipped=True),
    ]
    clock, kind = Clock(Patterns(formats, STAMP_GROUPS), 1_700_000_000.0), Kind([])
    first, second = clock.read_kind("11/14 22:13:20", kind), clock.read_kind("14/11 22:13:20", kind)
    assert first == second == (1_700_000_000.0, None)
