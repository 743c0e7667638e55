"""Given what a program says of its own life, then a run that was done, and only it, is done."""

from __future__ import annotations

import pytest

from .builders import ERROR, STEPS, death, judged, judged_files, recorded, summary

DONE = "Training completed. \n"
AFTER = (
    "[2023-04-13 22:25:04,257] [    INFO] - Loading best model from ./best (score: 0.9).\n"
    "[2023-04-13 22:25:12,780] [    INFO] - Inference model exported.\n"
    "I0413 22:25:22.212386  1600 tcp_store.cc:257] receive shutdown event and so quit from "
    "MasterDaemon run loop\n"
)


def test_who_says_that_training_is_done_may_tidy_up_afterwards() -> None:
    found = judged(STEPS + DONE + AFTER, STEPS + DONE)
    assert (found.verdict, found.causes) == ("succeeded", ())


@pytest.mark.parametrize(
    "later", [STEPS, ERROR, summary(71, 50)], ids=["steps", "error", "stopped"]
)
def test_what_comes_after_it_may_take_it_back(later: str) -> None:
    assert judged(STEPS + DONE + later, STEPS + DONE).verdict != "succeeded"


def test_one_who_is_done_does_not_speak_for_the_other() -> None:
    assert judged(STEPS + DONE, STEPS).verdict != "succeeded"


@pytest.mark.parametrize(
    "warning",
    [
        "node1:77:99 [0] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_open_device failed\n",
        "W0824 17:31:09.202214  3310 gen_comm_id_helper.cc:120] connect addr=10.0.0.1:38811 "
        "failed 1 times with reason: Connection refused retry after 0.5 seconds\n" * 7,
        "WARNING: Can not import avx core. You may not build with AVX, but AVX is supported on "
        "local machine, you could build paddle WITH_AVX=ON to get better performance.\n",
    ],
    ids=["infiniband", "first tries", "other core"],
)
def test_a_warning_of_the_first_minutes_is_no_cause(warning: str) -> None:
    (reading,) = judged_files({"log/workerlog.0": warning}).readings
    assert reading.quiet


XID = "Nov 15 03:12:44 gpu07 kernel: NVRM: Xid (PCI:0000:41:00): "
KILLED = (
    "Nov 15 03:12:44 gpu07 kernel: Out of memory: Killed process 4242 (python) total-vm:1kB, "
    "anon-rss:2kB\n"
)


@pytest.mark.parametrize(
    ("line", "category"),
    [
        (f"{XID}79, pid=4242, GPU has fallen off the bus.\n", "device.hardware"),
        (f"{XID}45, pid=4242, name=python, Ch 10 caused by previous Xid 149\n", "device.hardware"),
        (KILLED, "memory.host"),
    ],
)
def test_the_log_of_a_kernel_alone_is_something_to_judge(line: str, category: str) -> None:
    found = judged_files({"dmesg.txt": line})
    (cause,) = found.causes
    assert (found.verdict, cause.category, cause.rank) == ("failed", category, None)
    assert cause.role != "launcher"


def test_of_a_kernel_log_alone_what_hit_a_training_job_comes_first() -> None:
    other = "Nov 15 03:12:40 gpu07 kernel: sdb: Medium Error\n"
    (cause,) = judged_files({"dmesg.txt": other + KILLED}).causes
    assert cause.category == "memory.host"


TABLE = """\
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2024-01-02_03:04:08
  host      : node01
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 4242)
  error_file: <N/A>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-01-02_03:04:07
  host      : node01
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 4243)
  error_file: <N/A>
============================================================
"""


@pytest.mark.parametrize(
    ("code", "category"), [(1, "unknown"), (-9, "external.kill"), (-11, "code.crash")]
)
def test_the_table_of_torchrun_names_who_failed_first(code: int, category: str) -> None:
    found = judged_files({"console.log": STEPS + TABLE.format(code=code)})
    assert (found.verdict, found.causes[0].ranks) == ("failed", (1,))
    assert found.causes[0].category == category


def test_a_process_that_its_watchdog_aborted_waited_for_another() -> None:
    watchdog = (
        "[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=42, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 ms\n"
    )
    found = judged_files({"console.log": STEPS + watchdog + TABLE.format(code=-6)})
    assert (found.verdict, found.causes[0].category) == ("failed", "comm.timeout")
    assert 1 not in found.causes[0].ranks


CAUGHT = (
    'Traceback (most recent call last):\n  File "t.py", line 9, in train\n    read()\n'
    "ValueError: bad entry in the cache: 'width'\n"
)


@pytest.mark.parametrize("signal", [9, 14, 15])
def test_who_ended_by_a_signal_did_not_end_by_what_it_had_caught(signal: int) -> None:
    (cause,) = judged("ready\n", CAUGHT, records=[recorded(death(0, 1, None, signal))]).causes
    assert (cause.rank, cause.category) == (1, "external.kill")


@pytest.mark.parametrize(
    ("text", "code", "signal", "category", "confidence"),
    [
        (CAUGHT, 1, None, "code.python", "proven"),
        # more was to be said, or it ended in a way of its own
        (CAUGHT + "entry dropped\n", 1, None, "code.python", "likely"),
        (CAUGHT, 3, None, "code.python", "likely"),
        # that may be its own, on the way out
        (CAUGHT, None, 6, "code.python", "likely"),
        # nobody caught it: whoever ended the process then only ended what was left of it
        (CAUGHT.replace("in train", "in <module>"), None, 9, "code.python", "proven"),
    ],
)
def test_what_was_caught_proves_an_end_that_looks_like_it_only(
    text: str, code: int | None, signal: int | None, category: str, confidence: str
) -> None:
    found = judged("ready\n", text, records=[recorded(death(0, 1, code, signal))])
    (cause,) = found.causes
    assert (cause.rank, cause.category, cause.confidence) == (1, category, confidence)
