"""Given ranks that lost one whom their launcher stopped, then who had just ended is to blame."""

from __future__ import annotations

import pytest

from ...runs.builders import environment
from ..builders import ERROR, HOST, STEPS, judged, judged_files, lost, summary, waited
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


def test_who_was_waited_for_may_have_waited_for_another_one_whose_log_is_not_here() -> None:
    """In a ring each rank names its neighbour."""
    endpoints = ",".join(f"{HOST}:{port}" for port in range(4))
    files = {
        f"log/{kind}.{local}": text
        for local, rank in enumerate((2, 3))
        for kind, text in (
            ("workerlog", STEPS + waited("0" if rank == 3 else "none")),
            ("envlog", environment(rank, 4, "pod", endpoints)),
        )
    }
    (cause,) = judged_files(files).causes
    assert (cause.rank, cause.category) == (None, "comm.timeout")
    one_missing = {**files, "log/workerlog.2": STEPS + waited("none")}
    one_missing["log/envlog.2"] = environment(1, 4, "pod", endpoints)
    (cause,) = judged_files(one_missing).causes
    assert cause.rank == 0


def test_a_trainer_that_took_its_leave_is_not_the_one_that_a_server_lost() -> None:
    left = (
        "I1119 20:03:26.618189  8839 brpc_ps_client.cc:734] BrpcPsClient::FinalizeWorker done\n"
        "trainer done\n"
    )
    reset = (
        "W1119 20:03:28.054284  9112 input_messenger.cpp:362] Fail to read from Socket{id=339 fd=8 "
        f"addr={HOST}:55336:45678}} (0x7fa874024170): Connection reset by peer [104]\n"
    )
    crash = (
        "0   paddle::distributed::BrpcPsClient::PushDenseTaskConsume()\n\n"
        "FatalError: `Segmentation fault` is detected by the operating system.\n"
        "  [SignalInfo: *** SIGSEGV (@0x28) received by PID 8843 (TID 0x7f25) from PID 40 ***]\n"
    )
    texts = {
        "log/serverlog.0": "ready\n" + reset,
        "log/workerlog.0": STEPS + left,
        "log/workerlog.1": STEPS
        + "I1119 20:03:27.691635  8843 brpc_ps_client.cc:684] flush\n"
        + crash,
    }
    assert [cause.rank for cause in judged_files(texts).causes] == [1]
