"""Clocks of hosts are compared by what both ends of a job saw at the same moment."""

from __future__ import annotations

import pytest

from pdtriage.knowledge.load import load_knowledge
from pdtriage.model import Event, Exit, Rank
from pdtriage.verdict.host_clocks import clock_offsets
from pdtriage.verdict.rank_reading import Observation, RankReading

LOST = load_knowledge().signatures["comm.gloo-pair-lost"]


def culprit(died: float) -> RankReading:
    end = Exit(code=1, time=died)
    return RankReading(Rank("worker", 0, host="a", first_time=1000.0, exit=end))


def mourner(began: float, noticed: float) -> RankReading:
    line = Event(LOST.id, "symptom", LOST.category, 1, 0, "lost", time=noticed)
    rank = Rank("worker", 1, host="b", first_time=began)
    return RankReading(rank, symptoms=(Observation("workerlog.1", line, LOST),))


@pytest.mark.parametrize(
    ("began", "noticed", "offset"),
    [
        (1000.5, 1100.5, {}),  # clocks agree
        (1000.5, 2900.0, {}),  # it waited for half an hour
        (1060.0, 1100.5, {}),  # started a minute later
        (4600.0, 4701.0, {"b": 3600.0}),  # an hour ahead at both ends
        (940.0, 1040.5, {"b": -60.0}),  # a minute behind at both ends
        (1000.5, 1080.0, {"b": -20.0}),  # mourned before the other died
    ],
)
def test_what_both_ends_saw(began: float, noticed: float, offset: dict[str, float]) -> None:
    assert clock_offsets([culprit(1100.0), mourner(began, noticed)], [0]) == offset


def test_without_a_death_nothing_is_compared() -> None:
    nobody = RankReading(Rank("worker", 0, host="a", first_time=1000.0))
    assert clock_offsets([nobody, mourner(900.0, 950.0)], [0]) == {}
