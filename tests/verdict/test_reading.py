"""Which of its errors a rank is said to have failed of, and how that is written."""

from __future__ import annotations

from pathlib import Path

import pdtriage
from pdtriage.verdict.words import accused_by

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"


def test_a_member_of_an_exception_group_says_more_than_its_head() -> None:
    cause = pdtriage.analyze(SCENARIOS / "exception-group").root_causes[0]
    assert cause.title.en.endswith("exception: ValueError: shard 2 has no manifest")
    assert cause.frame is not None
    assert cause.frame.function == "fetch"


def test_two_ranks_are_listed_as_everywhere_in_the_report() -> None:
    assert accused_by([0, 1]).en.startswith("ranks 0, 1 name")
    assert accused_by([0, 1, 2, 5]).en.startswith("ranks 0-2, 5 name")
