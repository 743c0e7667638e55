"""Given what one file says, when it is split, then at the same places however it is looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from pdtriage.model import Echo, Event, FileFacts, LogFile, Progress, SignatureRole, Stamp
from pdtriage.record.schema import ProcessRecord
from pdtriage.runs.folders import Log
from pdtriage.runs.recorded_parts import recorded_parts
from pdtriage.runs.run_boundaries import SAME_START, Span, StartTimes, split

FILE = LogFile("log/workerlog.0", "worker", "log", 0)
LINE = 80
START = 1_700_000_000.0
places = st.lists(st.integers(1, 400), min_size=2, max_size=4, unique=True).map(sorted)


@st.composite
def files(draw: st.DrawFn, anew: str) -> FileFacts:
    """Files in which something may begin anew, or go back."""
    role: SignatureRole = "start" if anew == "start" else "cause"
    steps = st.integers(0, 1 if anew == "step" else 0)
    clock = st.sampled_from([0.0, -600.0] if anew == "clock" else [0.0])
    pids = st.sampled_from([None, 7, 8] if anew == "pid" else [None, 7])
    return FileFacts(
        FILE,
        events=tuple(Event("x", role, None, n, n * LINE, "") for n in draw(places)),
        progress=tuple(Progress(n, n * LINE, draw(steps)) for n in draw(places)),
        stamps=tuple(Stamp(n, n * LINE, START + n + draw(clock), draw(pids)) for n in draw(places)),
        echoes=tuple(Echo(n, n * LINE, 2) for n in draw(places) if anew == "echo"),
        lines=400,
        bytes=400 * LINE,
    )


@pytest.mark.parametrize("anew", ["start", "step", "clock", "pid", "echo", "nothing"])
@given(st.data())
def test_a_log_of_one_piece_is_split_where_one_of_two_pieces_is(
    anew: str, data: DataObject
) -> None:
    """That a file goes on is seen at a glance where it is alone; of two, each is looked into."""
    facts, expected = data.draw(files(anew)), data.draw(st.integers(1, 3))
    empty = FileFacts(FILE._replace(path="log/workerlog.0.1", rotation=1))
    alone = split(Log("worker", 0, [facts]), expected)
    behind = split(Log("worker", 0, [empty, facts]), expected)
    assert [[(s.begin, s.end) for s in segment] for segment in alone] == [
        [(s.begin, s.end) for s in segment if s.facts is facts] for segment in behind
    ]


def test_what_stands_where_the_first_recorded_run_begins_belongs_to_that_run() -> None:
    at = (10, 10 * LINE)
    facts = FileFacts(
        FILE,
        events=(Event("x", "cause", None, 9, 9 * LINE, ""), Event("x", "cause", None, *at, "")),
        progress=(Progress(9, 9 * LINE, 1), Progress(*at, 2)),
        stamps=(Stamp(9, 9 * LINE, START), Stamp(*at, START)),
        echoes=(Echo(9, 9 * LINE, 2), Echo(*at, 2)),
    )
    process = ProcessRecord("worker", 0, 0, None, None, 1, "workerlog.0", 10 * LINE, 0.0, 0.0)
    earlier = recorded_parts(Log("worker", 0, [facts._replace(bytes=11 * LINE)]), [process]).before
    assert earlier is not None
    [piece] = earlier.pieces
    found = (*piece.events, *piece.progress, *piece.stamps, *piece.echoes)
    assert [it.line for it in found] == [9, 9, 9, 9]


@given(st.lists(st.lists(st.integers(0, 300)), min_size=1), st.integers(0, 300))
def test_when_others_began_is_what_a_log_does_not_tell_of_itself(
    logs: list[list[int]], moment: int
) -> None:
    times = sorted(float(time) for own in logs for time in own)
    own, others = logs[0], [time for other in logs[1:] for time in other]
    starts = StartTimes(times, [float(time) for time in own])
    assert starts.latest == max(others, default=None)
    assert starts.has_near(moment) == any(abs(moment - it) <= SAME_START for it in others)


def test_what_begins_the_next_run_is_not_of_the_one_before() -> None:
    """The byte at which a span ends is the first of the next, also for a console's blocks."""
    facts = FileFacts(FILE, bytes=20 * LINE)
    first, second = Span(facts, 0, 10 * LINE), Span(facts, 10 * LINE)
    places_held = [(s.holds(10 * LINE - 1), s.holds(10 * LINE)) for s in (first, second)]
    assert places_held == [(True, False), (False, True)]
