"""Given a process that ended with a code of its own, then its last line is shown as what it is."""

from __future__ import annotations

import pytest

from pdtriage.model import Cause
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.verdict import judge

from ...runs.builders import environment, runs_of
from ...scan.builders import engine
from ..builders import (
    DISK,
    ERROR,
    STACK,
    STEPS,
    death,
    glog,
    judged,
    recorded,
    stopped,
    summary,
    waited,
)

CONTAINER = (
    "LAUNCH ERROR 2023-01-15 10:00:00,000 Container failed !!!\n"
    "Container rank 0 status failed cmd ['python', 't.py'] code 1 log log/workerlog.0\n"
)
LAST = "config file base.yaml has no key lr"


def cause_of(log: str) -> Cause:
    process = ProcessRecord("worker", 0, 0, None, None, 7, "workerlog.0", 0, 1000.0, 0.0, len(log))
    death = DeathRecord(0, "worker", 0, 0, 7, 1001.0, 9.0, 1, None, False, False)
    file = "log/pdtriage/run-0001.jsonl"
    record = RunRecord(
        file,
        1,
        started=1000.0,
        processes=(process,),
        deaths=(death,),
        ended=1001.0,
        reason="failed",
    )
    (run,) = runs_of({"log/workerlog.0": log}, [("log", record)])
    (cause,) = judge(run, engine().knowledge).causes
    return cause


@pytest.mark.parametrize(("log", "silent"), [(f"{LAST}\n", False), ("", True)])
def test_no_message_is_said_only_where_there_is_none(log: str, silent: bool) -> None:
    cause = cause_of(log)
    assert cause.signature == "verdict.exit-code"
    assert ("no message" in cause.title.en) is silent
    assert ("没有任何信息" in cause.title.zh) is silent
    assert [evidence.text for evidence in cause.evidence] == ([] if silent else [LAST])


def causes_of(files: dict[str, str]) -> tuple[Cause, ...]:
    (run,) = runs_of(files)
    return tuple(judge(run, engine().knowledge).causes)


def counted(*steps: int, total: int = 1000) -> str:
    return "".join(f"[TRAIN] epoch: 1, iter: {n}/{total}, loss: 0.5, lr: 0.1\n" for n in steps)


@pytest.mark.parametrize("steps", [(10, 20, 30), (980, 990), (990, 1000), (30,)])
def test_a_log_that_merely_stops_is_no_hang(steps: tuple[int, ...]) -> None:
    assert not causes_of({"log/workerlog.0": counted(*steps)})


def test_a_stack_below_the_log_shows_that_it_stood_still() -> None:
    (cause,) = causes_of({"log/workerlog.0": counted(980, 990) + STACK})
    assert (cause.signature, cause.evidence[0].line) == ("verdict.stuck", 3)
    assert "looked where it stands" in cause.why[0].en


def losses(*values: str) -> str:
    return "".join(f"step: {n}, loss: {value}, lr: 0.1\n" for n, value in enumerate(values, 1))


def test_a_log_that_stops_at_its_first_nan_has_no_later_step_to_ask() -> None:
    one_process = {"log/envlog.0": environment(0, 1, "pod", "10.0.0.1:6070")}
    (cause,) = causes_of({"log/workerlog.0": losses("0.7", "0.9", "nan"), **one_process})
    assert (cause.signature, cause.confidence) == ("numeric.loss-nan", "likely")
    assert [evidence.line for evidence in cause.evidence] == [3]
    (cause,) = causes_of({"log/workerlog.0": losses("0.7", "nan", "nan"), **one_process})
    assert (cause.signature, cause.confidence) == ("numeric.loss-nan", "likely")  # it may go on


def test_a_nan_that_passes_or_comes_before_another_failure_is_not_the_cause() -> None:
    assert not causes_of({"log/workerlog.0": losses("0.7", "nan", "0.6")})
    failed = "OSError: [Errno 28] No space left on device: '/out/model.pdparams'\n"
    (cause,) = causes_of({"log/workerlog.0": losses("0.7", "nan") + failed})
    assert cause.category == "storage.disk"


@pytest.mark.parametrize(
    "last",
    [
        "ValueError: no anchor fits",
        "AssertionError",
        "Exception: no anchor fits",
        "lxml.etree.XMLSyntaxError: Document is empty",
    ],
)
def test_an_exception_without_its_traceback_is_told_as_such(last: str) -> None:
    (cause,) = causes_of({"log/workerlog.0": f"loading\n{last}\n"})
    assert (cause.signature, cause.confidence) == ("verdict.bare-exception", "guess")
    assert [evidence.text for evidence in cause.evidence] == [last]


@pytest.mark.parametrize(
    "last",
    ["skipped: ValueError: no anchor fits", "Error rate: 0.1", "Error: 3", "TimeoutErrors: 0"],
)
def test_a_line_that_only_speaks_of_an_exception_is_none(last: str) -> None:
    assert not causes_of({"log/workerlog.0": f"loading\n{last}\n"})


def test_the_rank_a_launcher_names_is_asked_for_its_last_word() -> None:
    aborted = (
        "ERROR 2021-08-24 17:31:12,119 launch_utils.py:582] ABORT!!! Out of all 2 trainers, "
        "the trainer process with rank=[1] was aborted. Please check its log.\n"
    )
    files = {
        "console.log": aborted,
        "log/workerlog.0": "start\n",
        "log/workerlog.1": "start\nValueError: no anchor fits\n",
    }
    (cause,) = causes_of(files)
    assert (cause.signature, cause.rank) == ("verdict.bare-exception", 1)


def test_who_was_stopped_alive_is_not_named_beside_who_failed() -> None:
    """What it had caught and printed last did not end it, by the word of its parent."""
    deaths = (death(0, 0, 1, None), death(1, 1, None, 15)._replace(stopped=True))
    uncaught = DISK.replace("in f", "in <module>")
    found = judged(STEPS + uncaught, STEPS + ERROR, records=[recorded(*deaths)])
    assert [(cause.category, cause.ranks) for cause in found.causes] == [("storage.disk", (0,))]


def test_a_reader_whose_blocks_are_taken_away_while_it_is_stopped_is_no_second_cause() -> None:
    """It says so twice: in a line of its own, and as the exception of its thread."""
    gone = "(Unavailable) File descriptor /paddle_2411_0_1988587207 open failed, unable in read"
    reader = (
        f"[ERROR] dataloader_iter.py:745 - DataLoader reader thread failed({gone}-write mode\n"
        "Exception in thread Thread-1 (_thread_loop):\n"
        + ERROR.replace("KeyError: 1", f"RuntimeError: {gone}-write mode")
        + stopped(61, 77)
    )
    found = judged(STEPS + ERROR.replace("in f", "in <module>"), STEPS + reader)
    assert [(cause.category, cause.ranks) for cause in found.causes] == [("code.python", (0,))]


def test_who_ended_with_0_did_not_die_of_what_it_printed() -> None:
    deaths = (death(0, 0, 0, None), death(1, 1, 2, None))
    found = judged(STEPS + ERROR, STEPS, records=[recorded(*deaths)])
    assert [(cause.signature, cause.ranks) for cause in found.causes] == [
        ("verdict.exit-code", (1,))
    ]


@pytest.mark.parametrize("name", ["RuntimeError", "subprocess.TimeoutExpired", "StopIteration"])
def test_a_program_that_catches_everything_tells_its_exception_in_its_last_line(name: str) -> None:
    given_up = STEPS + f"rank 0 gives up: {name}: no successor\n"
    (cause,) = judged(given_up, STEPS, console=CONTAINER).causes
    assert (cause.category, cause.ranks, cause.confidence) == ("code.python", (0,), "guess")
    assert judged(given_up, STEPS).causes == ()


def test_what_all_have_caught_is_no_cause_where_a_stranger_stopped_one() -> None:
    caught = glog(1) + ERROR + "loss 1.5\n"
    first = caught + summary(11, 99)
    others = [caught + summary(pid, 7) for pid in (12, 13)]
    (cause,) = judged(first, *others).causes
    assert (cause.category, cause.ranks) == ("external.kill", (0,))


def test_what_was_caught_before_sigterm_came_proves_nothing() -> None:
    caught = glog(1) + ERROR + "loss 1.5\n"
    texts = [caught + summary(pid, 7) for pid in (11, 12)]
    assert [cause.confidence for cause in judged(*texts).causes] in ([], ["likely"])


def test_who_waits_for_somebody_in_turn_is_no_end_of_the_chain() -> None:
    """Rank 0 waited for 1, which waited; the reader of rank 2 had died, a step before."""
    reader = "Exception in thread Thread-1 (_thread_loop):\n" + DISK
    texts = (STEPS + waited("1"), STEPS + waited("-1"), STEPS + reader + STEPS + summary(13, 7))
    (cause,) = judged(*texts).causes
    assert (cause.category, cause.ranks) == ("storage.disk", (2,))


FATAL = "[2026-11-18 04:28:48,718] [CRITICAL] train.py:54 - depth must be even\n"
BARE = "error: vocabulary file has 3 columns, expected 2\n"
BEHIND = "eval epoch 0 acc 0.25\n"
DONE = "2023-01-15 10:00:09 INFO Training finished\n"


@pytest.mark.parametrize(
    ("last", "others"), [(FATAL, BEHIND), (BARE, DONE), (FATAL, DONE)], ids=str.split
)
def test_a_log_that_ends_with_an_error_while_the_others_got_further(last: str, others: str) -> None:
    found = judged(STEPS + others, STEPS + last)
    assert (found.verdict, [(c.rank, c.confidence) for c in found.causes]) == (
        "failed",
        [(1, "guess")],
    )


@pytest.mark.parametrize(
    ("last", "others"),
    [
        (BARE, BEHIND),
        (FATAL, ""),
        (FATAL + "retried\n", DONE),
        ("all said: error: none\n", DONE),
        ("metrics (CRITICAL) are fine\n", DONE),
    ],
)
def test_an_error_at_the_end_is_no_end_where_nothing_else_says_so(last: str, others: str) -> None:
    assert judged(STEPS + others, STEPS + last).causes == ()


def test_an_exception_in_its_last_word_is_told_as_such_where_the_others_got_further() -> None:
    last = "error: OverflowError: math range error\n"
    files = {"log/workerlog.0": counted(1, 2) + DONE, "log/workerlog.1": counted(1, 2) + last}
    (cause,) = causes_of(files)
    assert (cause.signature, cause.rank) == ("verdict.bare-exception", 1)


def test_one_of_the_others_may_have_been_stopped() -> None:
    found = judged(STEPS + FATAL, STEPS + stopped(60, 77), STEPS + DONE)
    assert [cause.rank for cause in found.causes] == [0]


def raised(where: str, words: str, last: str = "") -> str:
    frame = f'  File "{last}", line 7, in call\n    return ask()\n' if last else ""
    top = 'Traceback (most recent call last):\n  File "/srv/t.py", line 1, in <module>\n'
    return f"{top}    {where}\n{frame}{words}\n"


RESET = "ConnectionResetError: [Errno 104] Connection reset by peer"
CLIENT = "/usr/lib/python3.11/http/client.py"
MEETING = "/env/site-packages/paddle/distributed/launch/utils/kv_client.py"


@pytest.mark.parametrize(
    ("text", "rank", "category"),
    [
        # the program says so itself, or a client of a service that it asked
        (raised("raise ConnectionResetError(104, 'reset by peer')", RESET), 1, "code.python"),
        (raised("tell(loss)", RESET, CLIENT), 1, "code.python"),
        # the kernel says so of a socket, which may be that of another rank
        (raised("data = link.recv(4)", RESET), 0, "unknown"),
        (raised("meet()", RESET, MEETING), 0, "unknown"),
    ],
    ids=["raised", "client", "socket", "paddle"],
)
def test_what_the_program_raises_by_itself_is_no_lost_peer(
    text: str, rank: int, category: str
) -> None:
    found = judged(STEPS, STEPS + text)
    assert [(cause.rank, cause.category) for cause in found.causes] == [(rank, category)]


def test_a_thread_that_died_everywhere_is_no_cause_beside_an_exception_that_nobody_caught() -> None:
    thread = (
        "Exception in thread metrics:\nTraceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/threading.py", line 975, in run\n    self._target()\n'
        '  File "/srv/t.py", line 9, in push\n    raise ValueError("no gateway")\n'
        "ValueError: no gateway\n"
    )
    end = raised("write()", "OSError: [Errno 27] File too large")
    found = judged(thread + end, thread + summary(71, 50), thread + summary(72, 50))
    assert [(c.rank, c.ranks, c.category) for c in found.causes] == [(0, (0,), "storage.disk")]


def test_a_reader_that_died_is_named_though_another_is_missed_who_only_waited() -> None:
    reader = (
        "Exception in thread Thread-1 (_thread_loop):\nTraceback (most recent call last):\n"
        '  File "/env/site-packages/paddle/io/dataloader/fetcher.py", line 77, in fetch\n    x()\n'
        '  File "/srv/t.py", line 9, in __getitem__\n    y()\nKeyError: 7\n'
    )
    abort = (
        "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
        "  what():  [enforce fail at /paddle/gloo/transport/tcp/pair.cc:1195] ex_ == nullptr. \n"
    )
    found = judged(STEPS + abort, STEPS + waited("0"), reader + STEPS, STEPS + waited("-1"))
    assert [cause.rank for cause in found.causes] == [2]


def test_what_others_went_on_after_did_not_end_a_rank_that_caught_the_very_same() -> None:
    caught = (
        'Traceback (most recent call last):\n  File "/srv/t.py", line 9, in load\n    x()\n'
        "KeyError: 'thumbnail'\n"
    )
    end = raised("import_it()", "ModuleNotFoundError: No module named 'vision'")
    found = judged(caught + end, caught + STEPS, caught)
    assert [(c.rank, c.ranks) for c in found.causes] == [(0, (0,))]


def test_what_breaks_while_a_hint_is_handled_is_no_cause() -> None:
    handled = (
        'Traceback (most recent call last):\n  File "/srv/t.py", line 1, in <module>\n    train()\n'
        '  File "/env/site-packages/paddle/io/dataloader/dataloader_iter.py", line 852, in next\n'
        "    read()\nSystemError: (Fatal) Blocking queue is killed because the data reader raises "
        "an exception.\n\nDuring handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/srv/t.py", line 3, in <module>\n    tidy()\n'
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/no/such/rank0.lock'\n"
    )
    (cause,) = judged(STEPS + handled, STEPS).causes
    assert (cause.rank, cause.category) == (0, "data.worker")
    assert cause.confidence != "proven"
