"""Given ranks that lost one whom their launcher stopped, then who had just ended is to blame."""

from __future__ import annotations

import pytest

from ..builders import ERROR, STEPS, judged, judged_files, lost, summary
from .stories import ENDED_WELL

LAUNCHER = 50
GIVES_UP = "rank 1 gives up: ZeroDivisionError: division by zero\n"


def test_one_that_the_launcher_stopped_was_not_the_first() -> None:
    found = judged(
        STEPS + summary(70, LAUNCHER),
        STEPS + GIVES_UP,
        STEPS + lost(2, 0),
        STEPS + summary(73, LAUNCHER),
    )
    (cause,) = found.causes
    assert (cause.rank, cause.category) == (1, "code.python")


def test_where_only_one_was_stopped_the_last_word_of_another_has_to_be_an_exception() -> None:
    texts = STEPS + summary(70, LAUNCHER), STEPS + GIVES_UP, STEPS + lost(2, 0)
    assert [cause.rank for cause in judged(*texts).causes] == [1]
    texts = texts[0], STEPS, texts[2]
    assert [cause.rank for cause in judged(*texts).causes] == [0]


@pytest.mark.parametrize("ended", ["", "Training completed. \n"])
def test_one_that_a_stranger_stopped_is_the_first(ended: str) -> None:
    found = judged(
        STEPS + summary(70, 999),
        STEPS + ended,
        STEPS + lost(2, 0),
        STEPS + summary(73, LAUNCHER),
        STEPS + summary(74, LAUNCHER),
    )
    assert [(cause.rank, cause.category) for cause in found.causes] == [(0, "external.kill")]


WORKERS_EXIT = (
    "[2026-11-18 20:35:43,024] [ WARNING] dataloader_iter.py:733 - DataLoader 2 workers exit "
    "unexpectedly, pids: 10304, 10322\n"
)
KILLED = (
    "LAUNCH ERROR 2026-11-18 20:35:43,000 Container failed !!!\n"
    "Container rank 1 status failed cmd ['python', 't.py'] code -9 log log/workerlog.1\n"
)


def test_loader_workers_end_with_the_job_that_a_killed_rank_has_ended() -> None:
    found = judged(STEPS + WORKERS_EXIT, STEPS, console=KILLED)
    assert [(cause.rank, cause.category) for cause in found.causes] == [(1, "external.kill")]


def test_who_alone_says_nothing_of_its_workers_had_ended_before() -> None:
    texts = STEPS + WORKERS_EXIT, STEPS, STEPS + WORKERS_EXIT
    assert [(c.rank, c.category, c.confidence) for c in judged(*texts).causes] == [
        (1, "unknown", "guess")
    ]
    # of two either may be the one
    assert [cause.rank for cause in judged(*texts[:2]).causes] == [0]


def test_a_server_that_a_trainer_lost_is_missed_although_the_launcher_ended_with_0() -> None:
    """Paddle's launcher counts that trainers ended, not how."""
    closed = "ConnectionError: server 10.0.0.1:7001 closed the connection"
    texts = {
        "console.log": ENDED_WELL,
        "log/serverlog.0": "ready\n",
        "log/serverlog.1": "ready\n",
        "log/workerlog.0": STEPS + ERROR.replace("KeyError: 1", closed),
    }
    found = judged_files(texts)
    assert [(cause.role, cause.rank) for cause in found.causes] == [("server", 0)]
    assert found.verdict == "failed"
    assert judged_files(texts | {"log/workerlog.0": STEPS}).verdict == "succeeded"
