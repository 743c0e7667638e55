"""Given logs of some ranks of a run, when assembled, then the others are named by host."""

from __future__ import annotations

import pytest

from .builders import environment, runs_of

ENDPOINTS = "10.0.0.1:6070,10.0.0.1:6071,10.0.0.2:6070,10.0.0.2:6071"
ERROR = (
    'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    g()\nKeyError: 1\n'
)
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"


def absent(files: dict[str, str]) -> list[list[str]]:
    """What every run says of them."""
    return [
        [note.en for note in run.notes if "no log of this run" in note.en] for run in runs_of(files)
    ]


def starts(rank: int, size: int, day: int = 1) -> str:
    at = f"I01{day:02} 03:04:05.000006 {day}7"
    return (
        f"{at} nccl_context.cc:74] init nccl context nranks: {size} local rank: {rank} gpu id: 0\n"
    )


def test_ranks_of_other_hosts_are_named() -> None:
    files = {"log/workerlog.0": STEPS, "log/envlog.0": environment(0, 4, "aaaaaa", ENDPOINTS)}
    assert absent(files) == [
        ["no log of this run is here of rank 1 on 10.0.0.1; ranks 2-3 on 10.0.0.2"]
    ]


def test_the_size_is_taken_from_what_a_rank_says_itself() -> None:
    assert absent({"log/workerlog.0": starts(0, 4) + STEPS}) == [
        ["no log of this run is here of ranks 1-3"]
    ]


def test_a_log_that_only_older_runs_wrote_to_is_not_of_this_one() -> None:
    older = [starts(rank, 2) + STEPS + ERROR for rank in (0, 1)]
    files = {"log/workerlog.0": older[0] + starts(0, 2, day=9) + STEPS, "log/workerlog.1": older[1]}
    assert absent(files) == [[], ["no log of this run is here of rank 1"]]


@pytest.mark.parametrize("text", [STEPS, starts(0, 1) + STEPS])
def test_nobody_is_named_where_nobody_is_known_to_be_missing(text: str) -> None:
    assert absent({"log/workerlog.0": text}) == [[]]
