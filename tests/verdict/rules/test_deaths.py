"""Given what a parent saw, then it comes before what its processes say."""

from __future__ import annotations

import pytest

from pdtriage.record.schema import DeathRecord
from pdtriage.verdict import Judgement, judge

from ...scan.builders import engine
from ..builders import ERROR, STEPS, death, last_run, lost, recorded

REFUSED = ERROR.replace("KeyError: 1", "ConnectionRefusedError: [Errno 111] Connection refused")
FIRST = death(0, 0, 1, None)


def ended(*deaths: DeathRecord, words: tuple[str, str]) -> Judgement:
    files = {f"log/workerlog.{rank}": text for rank, text in enumerate(words)}
    return judge(last_run(files, recorded(*deaths)), engine().knowledge)


@pytest.mark.parametrize(
    ("other", "words"),
    [(death(1, 1, None, 6), lost(1, 0)), (death(1, 1, None, 15)._replace(stopped=True), "")],
    ids=["the other loses it", "the other is stopped"],
)
def test_who_ends_first_and_alone_is_the_culprit_though_it_was_refused(
    other: DeathRecord, words: str
) -> None:
    found = ended(FIRST, other, words=(STEPS + REFUSED, STEPS + words))
    (cause,) = found.causes
    assert (cause.ranks, cause.category, cause.confidence) == ((0,), "unknown", "likely")
    assert any("Connection refused" in line.text for line in cause.evidence)
    assert [victim.rank for victim in found.victims] == [1]


@pytest.mark.parametrize(
    ("deaths", "words"),
    [
        ((FIRST, death(1, 1, 0, None)), (STEPS + REFUSED, STEPS)),
        ((FIRST, death(1, 1, 1, None)), (STEPS + REFUSED, STEPS + REFUSED)),
        ((FIRST,), (STEPS + REFUSED, STEPS)),
        ((FIRST, death(1, 1, None, 6)), (REFUSED, "")),
        ((FIRST, death(1, 1, None, 6)), (STEPS + lost(0, 1), STEPS)),
    ],
    ids=[
        "the other left with 0",
        "both were refused",
        "the other's end is unknown",
        "they never met",
        "it names one",
    ],
)
def test_but_not_where_somebody_else_may_have_been_gone(
    deaths: tuple[DeathRecord, ...], words: tuple[str, str]
) -> None:
    assert all(cause.ranks != (0,) for cause in ended(*deaths, words=words).causes)
