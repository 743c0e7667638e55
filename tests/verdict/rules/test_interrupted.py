"""Given a run that somebody stopped, then that is its end, whatever ranks say on the way out."""

from __future__ import annotations

import pytest

from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord, SignalRecord
from pdtriage.verdict import Judgement, judge

from ...runs.builders import runs_of
from ...scan.builders import engine
from ..builders import (
    DISK,
    ERROR,
    STEPS,
    death,
    judged,
    lost,
    process,
    recorded,
    stopped,
    summary,
)
from .stories import printed

CTRL_C = ERROR.replace("KeyError: 1", "KeyboardInterrupt")
SIGNAL = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 2\n"
DASHES = 22 * "-"
CRASH = (
    f"\n{DASHES}\nError Message Summary:\n{DASHES}\n"
    "FatalError: `Segmentation fault` is detected by the operating system.\n"
    "  [SignalInfo: *** SIGSEGV (@0x65) received by PID 70 (TID 0x7f) from PID 101 ***]\n"
)
LOADER = (
    'Traceback (most recent call last):\n  File "/usr/lib/python3.9/multiprocessing/connection.py",'
    " line 383, in _recv\n    raise EOFError\nEOFError\n"
)
NODES = ("10.0.0.1:1", "10.0.0.2:1")


def answer(found: Judgement) -> tuple[str, str]:
    return found.verdict, found.causes[0].category


INTERRUPTED = ("interrupted", "external.kill")


@pytest.mark.parametrize("other", [STEPS + CTRL_C, STEPS, STEPS + CRASH, STEPS + lost(1, 0)])
@pytest.mark.parametrize("after", ["", CRASH, LOADER, ERROR, lost(0, 1)])
def test_what_comes_after_ctrl_c_follows_from_it(after: str, other: str) -> None:
    assert answer(judged(STEPS + CTRL_C + after, other)) == INTERRUPTED


def test_a_failure_long_after_is_another_one() -> None:
    later = CTRL_C + "start-up\n" * 200 + DISK
    assert answer(judged(later, later)) == ("failed", "storage.disk")


def test_a_crash_behind_ctrl_c_is_proven_to_be_none() -> None:
    log = STEPS + CTRL_C.replace("in f", "in <module>") + CRASH
    (cause,) = judged(log, log).causes
    assert (cause.signature, cause.confidence) == ("python.keyboard-interrupt", "proven")


@pytest.mark.parametrize("one", [STEPS + DISK + CTRL_C, STEPS + DISK])
def test_who_had_failed_before_is_still_the_cause(one: str) -> None:
    found = judged(one, STEPS + CTRL_C)
    assert (found.verdict, found.causes[0].rank) == ("failed", 0)
    assert found.causes[0].category == "storage.disk"


@pytest.mark.parametrize("one", [STEPS + CRASH, STEPS + LOADER, STEPS + lost(0, 1), STEPS])
def test_the_launchers_word_comes_before_what_follows(one: str) -> None:
    found = judged(one, STEPS + stopped(71, 60), console=SIGNAL)
    assert answer(found) == INTERRUPTED
    assert found.causes[0].role == "launcher"


def test_a_launcher_that_saw_a_failure_before_its_signal_was_not_interrupted_first() -> None:
    failed = (
        "LAUNCH ERROR 2023-01-02 03:04:04,006 Container failed !!!\n"
        "Container rank 1 status failed cmd ['python'] code 3 log log/workerlog.1\n"
    )
    found = judged(STEPS + stopped(70, 60), STEPS, console=failed + SIGNAL)
    assert found.verdict == "failed"


def stop_of(rank: int) -> DeathRecord:
    return death(rank, rank, None, 15)._replace(stopped=True)


def interrupted(*deaths: DeathRecord) -> RunRecord:
    return recorded(*deaths)._replace(reason="interrupted", interrupted_by=15)


@pytest.mark.parametrize(
    "one",
    [
        STEPS + CRASH,
        STEPS + LOADER,
        STEPS + lost(0, 1),
        STEPS + "recovered from:\n" + ERROR + "sample skipped\n" * 40,
        "epoch 0 step 0 loss 1.5\n" + summary(70, 60),
        STEPS,
    ],
)
@pytest.mark.parametrize("unseen", [False, True], ids=["stopped", "died of Ctrl-C itself"])
def test_our_record_is_the_strongest_word(one: str, unseen: bool) -> None:
    first = death(0, 0, None, 2) if unseen else stop_of(0)
    found = judged(one, STEPS + summary(71, 60), records=[interrupted(first, stop_of(1))])
    (cause,) = found.causes
    assert answer(found) == INTERRUPTED
    assert (cause.role, cause.confidence) == ("launcher", "proven")
    assert "record" in cause.why[0].en


def test_a_thread_that_died_and_left_its_process_standing_is_still_the_cause() -> None:
    thread = "Exception in thread Thread-1:\n" + DISK
    found = judged(STEPS + thread, STEPS, records=[interrupted(stop_of(0), stop_of(1))])
    assert answer(found) == ("failed", "storage.disk")


LOGGED = STEPS + "ERROR: training failed\n" + ERROR.replace("KeyError: 1", "SystemExit: 1")
"""What a handler of SIGTERM raised, caught and logged before the process exits with 1."""


@pytest.mark.parametrize("other", [STEPS + summary(71, 60), STEPS + lost(1, 0), LOGGED])
def test_what_a_rank_logs_when_it_is_told_to_stop_is_no_failure(other: str) -> None:
    gone = [death(n, n, 1, None)._replace(stopped=True) for n in (0, 1)]
    found = judged(LOGGED, other, records=[interrupted(*gone)])
    assert answer(found) == INTERRUPTED
    assert found.causes[0].rank is None


def test_who_had_failed_and_stands_until_it_is_killed_is_still_the_cause() -> None:
    killed = death(0, 0, None, 9)._replace(stopped=True)
    found = judged(STEPS + DISK, STEPS, records=[interrupted(killed, stop_of(1))])
    assert answer(found) == ("failed", "storage.disk")


@pytest.mark.parametrize(("frame", "verdict"), [("in f", "interrupted"), ("in <module>", "failed")])
def test_an_exception_right_before_the_stop_counts_where_nobody_caught_it(
    frame: str, verdict: str
) -> None:
    log = STEPS + DISK.replace("in f", frame) + summary(70, 60)
    record = interrupted(stop_of(0), stop_of(1))
    assert judged(log, STEPS + summary(71, 60), records=[record]).verdict == verdict


@pytest.mark.parametrize("symbol", ["verdict.interrupted", "launch.signal"])
@pytest.mark.parametrize("texts", [(LOGGED, LOGGED), (LOGGED, STEPS + lost(1, 0)), (LOGGED,), ()])
def test_the_report_that_run_printed_is_as_strong(texts: tuple[str, ...], symbol: str) -> None:
    found = judged(*texts, console=printed("INTERRUPTED: the launcher", symbol))
    assert answer(found) == INTERRUPTED
    assert found.causes[0].rank is None


@pytest.mark.parametrize("other", [LOGGED, STEPS + lost(1, 0), STEPS])
def test_an_exit_that_was_logged_follows_from_the_launchers_signal(other: str) -> None:
    found = judged(LOGGED, other, console=SIGNAL)
    assert answer(found) == INTERRUPTED
    assert found.causes[0].rank is None


def test_a_printed_failure_is_no_stop() -> None:
    console = printed("FAILED: rank 0 of 2", "python.exception")
    assert judged(LOGGED, STEPS + CTRL_C, console=console).verdict == "failed"


def test_paddles_launcher_below_ours_is_no_outsider() -> None:
    launcher = ProcessRecord("launcher", None, None, None, None, 65, None, 0, 1.0, 1.0)
    record = recorded(stop_of(0), stop_of(1))
    record = record._replace(processes=(launcher, process(0), process(1)), reason=None, ended=None)
    facts = runs_of(
        {
            "log/workerlog.0": STEPS + summary(70, 65),
            "log/workerlog.1": STEPS + summary(71, 65),
        },
        [("log", record)],
    )[-1]
    assert {60, 65} <= facts.launcher_pids
    found = judge(facts, engine().knowledge)
    assert "verdict.outsider" not in {cause.signature for cause in found.causes}


@pytest.mark.parametrize(("seconds", "verdict"), [(0.5, "interrupted"), (-30.0, "failed")])
def test_a_node_that_fails_when_another_one_was_stopped_only_lost_it(
    seconds: float, verdict: str
) -> None:
    def node(number: int, reason: str) -> RunRecord:
        own = process(number)._replace(local_rank=0, log="workerlog.0")
        return RunRecord(
            "run-1.jsonl", 1, str(number), pid=5 + number, node_rank=number, nnodes=2,
            world_size=2, address=NODES[number].partition(":")[0], endpoints=NODES,
            processes=(own,), ended=50.0, reason=reason,
        )  # fmt: skip

    stop = SignalRecord(70, 0, 15, "interrupt", 40.0, 40.0)
    one = node(0, "interrupted")._replace(signals=(stop,), deaths=(stop_of(0),))
    gone = death(0, 1, 1, None)._replace(local_rank=0, time=40.0 + seconds)
    other = node(1, "failed")._replace(deaths=(gone,))
    files = {"n0/workerlog.0": STEPS, "n1/workerlog.0": STEPS + lost(1, 0)}
    (run,) = runs_of(files, [("n0", one), ("n1", other)])
    assert judge(run, engine().knowledge).verdict == verdict


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((stopped(70, 60), lost(1, 0)), INTERRUPTED),
        ((stopped(70, 60), stopped(71, 60), lost(2, 1)), INTERRUPTED),
        ((stopped(70, 60), lost(1, 0), lost(2, 1)), INTERRUPTED),  # it broke with 1, that with 0
        ((stopped(70, 60), lost(1, 2), lost(2, 0)), INTERRUPTED),
        (
            (stopped(70, 60), lost(1, 2), lost(2, 1)),
            ("failed", "external.kill"),
        ),  # who ended these?
        ((stopped(70, 99), lost(1, 0)), ("failed", "external.kill")),  # younger than the rank
        ((lost(0, 1), stopped(71, 60)), ("failed", "external.kill")),  # launchers begin with 0
        ((stopped(70, 60), lost(1, 0), ""), ("failed", "external.kill")),  # the third just ends
    ],
)
def test_who_breaks_when_a_launcher_stops_the_ranks_before_it_is_no_failure(
    texts: tuple[str, ...], expected: tuple[str, str]
) -> None:
    assert answer(judged(*(STEPS + text for text in texts))) == expected


def timed(*steps: int, seconds: int) -> str:
    """Lines of steps, one every `seconds` from 03:00:00 on."""
    moments = ((n * seconds) for n in steps)
    return "".join(
        f"[2023-01-02 03:{m // 60:02}:{m % 60:02},000] epoch 0 step {n} loss 1.4\n"
        for n, m in zip(steps, moments, strict=True)
    )


WAITS = (
    "\n--------------------------------------\nC++ Traceback (most recent call last):\n"
    "--------------------------------------\n"
    "0   paddle::distributed::ProcessGroupGloo::AllReduce(phi::DenseTensor*)\n"
)


@pytest.mark.parametrize(
    ("seconds", "at", "verdict"),
    [
        (1, "03:00:12", "interrupted"),  # six steps' time is nothing below ten seconds
        (1, "03:02:00", "hung"),
        (20, "03:02:10", "interrupted"),
        (20, "03:09:00", "hung"),
    ],
)
def test_nobody_is_late_within_the_rhythm_of_the_job(seconds: int, at: str, verdict: str) -> None:
    ahead = timed(*range(7), seconds=seconds) + WAITS + summary(70, 60)
    behind = timed(*range(6), seconds=seconds) + summary(71, 60)
    console = SIGNAL.replace("03:04:05", at)
    assert judged(ahead, behind, console=console).verdict == verdict


def test_nobody_is_late_in_the_first_seconds() -> None:
    begun = "I0102 03:00:00.000000 {} tcp_utils.cc:132] Successfully connected to 10.0.0.1:1\n"
    waiting = begun.format(70) + WAITS.replace("ProcessGroupGloo::AllReduce", "TCPStore::wait")
    for at, verdict in (("03:00:04", "interrupted"), ("03:01:04", "hung")):
        console = SIGNAL.replace("03:04:05", at)
        found = judged(waiting + summary(70, 60), "importing\n", console=console)
        assert found.verdict == verdict


@pytest.mark.parametrize(("at", "verdict"), [("03:00:09", "interrupted"), ("03:01:06", "hung")])
def test_who_was_not_waiting_in_a_job_that_stood_still_kept_it_waiting(
    at: str, verdict: str
) -> None:
    """All show the same last step: only the silence before the stop tells."""
    waiting = timed(*range(7), seconds=1) + WAITS + summary(70, 60)
    elsewhere = timed(*range(7), seconds=1) + summary(71, 60)
    found = judged(waiting, elsewhere, console=SIGNAL.replace("03:04:05", at))
    assert found.verdict == verdict
    if verdict == "hung":
        assert (found.causes[0].ranks, found.causes[0].confidence) == ((1,), "guess")


def test_who_waits_among_all_has_met_them() -> None:
    """No step is told in words that are known, but nobody waits for a first meeting there."""
    begun = "I0102 03:00:00.000000 {} tcp_utils.cc:132] Successfully connected to 10.0.0.1:1\n"
    console = SIGNAL.replace("03:04:05", "03:01:04")
    found = judged(
        begun.format(70) + WAITS + summary(70, 60),
        begun.format(71) + summary(71, 60),
        console=console,
    )
    assert found.verdict == "interrupted"


def test_a_program_that_says_it_was_told_to_stop_was_stopped() -> None:
    left = timed(*range(7), seconds=1) + "rank 0: received signal 15, leaving\n"
    found = judged(left, timed(*range(7), seconds=1) + lost(1, 0))
    assert (found.verdict, found.causes[0].ranks) == ("interrupted", ())
