"""Given what every rank said, when judged, then the one who failed first is blamed, no victim."""

from __future__ import annotations

import pytest

from pdtriage.model import Rank, RankRow, Victim
from pdtriage.verdict import Judgement, judge
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.rank_rows import rank_rows

from ..runs.builders import environment, runs_of
from ..scan.builders import engine
from .builders import (
    DISK,
    ERROR,
    HOST,
    STEPS,
    XID,
    death,
    judged,
    lost,
    recorded,
    stopped,
)


def test_the_accused_with_an_error_of_its_own_is_the_cause() -> None:
    found = judged(STEPS + lost(0, 1), STEPS + ERROR, STEPS + lost(2, 1))
    (cause,) = found.causes
    assert (cause.rank, cause.category, cause.confidence) == (1, "code.python", "proven")
    assert {(v.rank, v.reason, v.because_of) for v in found.victims} == {
        (0, "peer", 1),
        (2, "peer", 1),
    }


def test_what_is_made_of_tuples_has_every_field_in_its_place() -> None:
    found = judged(STEPS, STEPS + ERROR)
    (victim,) = found.victims
    quiet = found.readings[0]
    assert victim == Victim(0, "worker", HOST, "collateral", 1, 0)
    assert quiet == RankReading(quiet.rank)
    assert quiet.rank == Rank(*quiet.rank)
    row = rank_rows(found)[0]
    assert row == RankRow(
        *(0, "worker", HOST, 0, None, ("log/workerlog.0",), "victim"),
        last_step=1,
        losses=((None, 0, 1.5), (None, 1, 1.4)),
    )


def test_code_that_a_traceback_quotes_accuses_nobody() -> None:
    raised = (
        'Traceback (most recent call last):\n  File "t.py", line 9, in <module>\n'
        '    train(on_error="CUDA error(2), out of memory")\n  File "t.py", line 3, in train\n'
        "    rate = table['lr']  # No space left on device\nKeyError: 'lr'\n"
    )
    (cause,) = judged(STEPS + lost(0, 1), STEPS + raised, STEPS + lost(2, 1)).causes
    assert (cause.rank, cause.signature, cause.confidence) == (1, "python.exception", "proven")
    assert cause.evidence[0].text == "KeyError: 'lr'"
    assert not any("train(" in line.text or "table[" in line.text for line in cause.evidence)


def test_arrows_are_followed_to_their_end() -> None:
    found = judged(STEPS + lost(0, 1), STEPS + lost(1, 2), STEPS)
    (cause,) = found.causes
    assert (cause.rank, cause.signature) == (2, "verdict.silent")
    assert cause.confidence != "proven"


def watchdog(own: int) -> str:
    return (
        "W0301 09:10:11.000000 501 comm_task_manager.cc:144] Find timeout start but not finish "
        f"task:group_key:pg0,group_ranks:[0,1,2],global_rank:{own},local_rank:{own},op:ALLREDUCE\n"
    )


def test_whom_others_only_waited_for_need_not_be_dead() -> None:
    (cause,) = judged(STEPS + watchdog(0), STEPS + watchdog(1), STEPS).causes
    assert (cause.rank, cause.signature, cause.category) == (2, "verdict.hang", "comm.timeout")


def test_a_rank_that_is_named_is_blamed_though_nothing_of_it_is_here() -> None:
    (run,) = runs_of({"log/workerlog.0": STEPS + lost(0, 1)})
    (cause,) = judge(run, engine().knowledge).causes
    assert (cause.role, cause.rank, cause.confidence) == ("worker", 1, "guess")


@pytest.mark.parametrize(
    ("log", "blamed"),
    [
        (
            {"log/serverlog.0": "W x.cc:70] the latest update of worker 1 is 180 secs ago\n"},
            ("worker", 1),
        ),
        (
            {
                "log/workerlog.0": "E ps.cc:2] response ret bad, server_idx:1cmd_id:3 "
                "err_code:-1 err_msg:\n"
            },
            ("server", 1),
        ),
    ],
)
def test_servers_speak_of_trainers_and_trainers_of_servers(
    log: dict[str, str], blamed: tuple[str, int]
) -> None:
    (run,) = runs_of(log)
    (cause,) = judge(run, engine().knowledge).causes
    assert (cause.role, cause.rank) == blamed


def test_what_a_cut_line_says_counts_more_than_the_shell() -> None:
    ranks = "".join(f"[1,3]<stdout>:batch {n}\n" for n in range(20))
    cut = (
        ":F0707 22:12:46.674666 27072 grpc_client.cc:418] SendRPC name:[w], ep:[10.0.0.9:62001], "
        "status:[-1] meets grpc error, error_code:14 error_message:OS Error error_details:\n"
    )
    shell = (
        "[1,3]<stdout>:run.sh: line 9:  9873 Aborted                 (core dumped) python t.py\n"
    )
    (run,) = runs_of({"log/console.log": ranks + cut + shell})
    (cause,) = judge(run, engine().knowledge).causes
    assert (cause.signature, cause.rank) == ("ps.grpc", None)


def test_the_stopped_are_victims_by_the_sender_they_share() -> None:
    found = judged(STEPS + stopped(70, 60), STEPS + ERROR, STEPS + stopped(72, 60))
    assert [cause.rank for cause in found.causes] == [1]
    assert {victim.reason for victim in found.victims} == {"stopped"}


def test_what_a_process_says_while_it_is_torn_down_is_no_cause() -> None:
    found = judged(STEPS + stopped(70, 60) + ERROR, STEPS + ERROR.replace("1\n", "2\n"))
    assert [cause.ranks for cause in found.causes] == [(1,)]


def test_the_same_error_everywhere_is_one_cause() -> None:
    found = judged(ERROR, ERROR, ERROR)
    (cause,) = found.causes
    assert cause.ranks == (0, 1, 2)
    assert not found.victims


def test_an_error_that_was_survived_is_no_cause() -> None:
    found = judged(ERROR + STEPS * 40, ERROR + STEPS * 40)
    assert not found.causes


def test_a_reader_that_died_leaves_a_few_prepared_steps() -> None:
    reader = (
        "Exception in thread Thread-1:\n" + ERROR.replace("KeyError: 1", "OSError: [Errno 5] x")
    ).replace("[Errno 5] x", "[Errno 5] Input/output error")
    timeout = "what():  [/gloo/unbound_buffer.cc:80] TIMEOUT self_rank = none pair_rank = none\n"
    found = judged(STEPS * 3 + timeout, reader + STEPS)
    assert (found.causes[0].rank, found.causes[0].category) == (1, "data.io")


def test_a_rank_missing_from_the_folder_can_be_accused() -> None:
    files = {
        "log/workerlog.0": STEPS + lost(0, 2),
        "log/envlog.0": environment(0, 3, "pod", f"{HOST}:1,{HOST}:2,{HOST}:3"),
    }
    found = judge(runs_of(files)[-1], engine().knowledge)
    assert (found.causes[0].rank, found.causes[0].host) == (2, HOST)
    assert found.causes[0].confidence != "proven"


def test_success_is_silent_about_scary_words() -> None:
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Exit code 0\n"
    found = judged("ERROR: retrying\n" + STEPS + ERROR, STEPS, console=console)
    assert (found.verdict, found.causes) == ("succeeded", ())


def test_an_interrupted_job_blames_nobody() -> None:
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 2\n"
    found = judged(STEPS + stopped(70, 60), STEPS + lost(1, 0), console=console)
    assert found.verdict == "interrupted"
    assert found.causes[0].ranks == ()


def test_completed_after_abort_is_no_success() -> None:
    console = (
        "ERROR 2022-01-28 08:12:55,119 launch_utils.py:604] ABORT!!! Out of all 2 trainers, the "
        "trainer process with rank=[1] was aborted. Please check its log.\n"
        "INFO 2022-01-28 08:12:55,125 launch.py:311] Local processes completed.\n"
    )
    found = judged(STEPS + stopped(70, 60), "", console=console)
    assert (found.verdict, found.causes[0].rank) == ("failed", 1)


@pytest.mark.parametrize(
    ("code", "signal", "category"),
    [(3, None, "unknown"), (None, 9, "external.kill"), (None, 11, "code.crash")],
)
def test_the_parents_word_names_a_silent_one(
    code: int | None, signal: int | None, category: str
) -> None:
    record = recorded(death(0, 1, code, signal), death(1, 0, 1, None))
    found = judged(STEPS + lost(0, 1), STEPS, records=[record])
    assert (found.causes[0].rank, found.causes[0].category) == (1, category)


@pytest.mark.parametrize(
    ("code", "signal", "shown", "ranks"),
    [
        pytest.param(None, 9, ERROR, [0], id="killed, a traceback elsewhere"),
        pytest.param(None, 9, ERROR + STEPS, [0], id="killed, a survived one elsewhere"),
        pytest.param(None, 9, DISK, [0, 1], id="killed, a clear cause elsewhere"),
        pytest.param(7, None, ERROR, [0], id="an exit code, a traceback elsewhere"),
        pytest.param(7, None, ERROR + STEPS, [0], id="an exit code, a survived one elsewhere"),
        pytest.param(7, None, DISK, [1], id="an exit code, a clear cause elsewhere"),
    ],
)
def test_who_shows_an_error_and_lives_on_is_not_blamed_for_a_silentdeath(
    code: int | None, signal: int | None, shown: str, ranks: list[int]
) -> None:
    deaths = (death(0, 0, code, signal), death(1, 1, None, 15)._replace(stopped=True))
    found = judged(STEPS, STEPS + shown, records=[recorded(*deaths)])
    assert [cause.rank for cause in found.causes] == ranks
    assert "proven" not in {cause.confidence for cause in found.causes}


def test_who_dies_of_its_error_is_blamed_although_another_one_died_in_silence_before() -> None:
    deaths = (death(0, 0, 7, None), death(1, 1, 1, None))
    found = judged(STEPS, STEPS + ERROR, records=[recorded(*deaths)])
    assert found.causes[0].rank == 1


def test_the_first_to_fail_is_not_the_first_to_die_where_others_had_finished() -> None:
    deaths = (death(0, 0, 0, None), death(1, 1, 4, None))
    (cause,) = judged(STEPS, STEPS, records=[recorded(*deaths)]).causes
    assert (cause.rank, cause.confidence) == (1, "likely")
    said = " ".join(why.en for why in cause.why)
    assert "nobody fail before it" in said
    assert "die first" not in said


def test_an_end_whose_status_nobody_saw_says_less_than_an_error_code() -> None:
    deaths = (death(0, 0, None, None), death(1, 1, 3, None))
    assert [c.rank for c in judged(STEPS, STEPS, records=[recorded(*deaths)]).causes] == [1]
    complains = judged(STEPS, STEPS + lost(1, 0), records=[recorded(*deaths)])
    assert [cause.rank for cause in complains.causes] == [0]


def test_who_ended_first_of_several_whose_status_nobody_saw_is_a_guess() -> None:
    deaths = (death(0, 0, None, None), death(1, 1, None, None))
    (cause,) = judged(STEPS, STEPS, records=[recorded(*deaths)]).causes
    assert (cause.rank, cause.confidence) == (0, "guess")
    assert "nobody saw its exit status" in cause.why[-1].en
    stopped = (deaths[0], deaths[1]._replace(stopped=True))
    (cause,) = judged(STEPS, STEPS, records=[recorded(*stopped)]).causes
    assert (cause.rank, cause.confidence) == (0, "likely")


@pytest.mark.parametrize("log", ["log/workerlog.0", "log/workerlog.1", "console.log"])
def test_the_only_log_here_need_not_be_of_the_only_process(log: str) -> None:
    (cause,) = judge(runs_of({log: STEPS + ERROR})[-1], engine().knowledge).causes
    assert cause.confidence == "likely"
    assert [why.en for why in cause.why] == ["its log is the only one here"]


def test_the_only_process_of_a_job_is_the_cause_beyond_doubt() -> None:
    (cause,) = judged(STEPS + ERROR.replace("in f", "in <module>")).causes
    assert cause.confidence == "proven"
    assert [why.en for why in cause.why] == ["it is the only process of the job"]


@pytest.mark.parametrize(
    ("signal", "category"), [(7, "memory.shm"), (11, "code.crash"), (9, "external.kill")]
)
def test_who_dies_without_a_word_is_told_by_its_signal(signal: int, category: str) -> None:
    deaths = (death(0, 1, None, signal), death(1, 0, None, 6))
    (cause,) = judged(STEPS, STEPS, records=[recorded(*deaths)]).causes
    assert (cause.rank, cause.category) == (1, category)


@pytest.mark.parametrize(
    "console",
    [
        "slurmstepd: error: *** JOB 99 ON n1 CANCELLED AT 2024-01-02T03:04:05 ***\n",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n",
        "timeout: sending signal TERM to command 'python'\n",
    ],
)
def test_what_a_scheduler_ends_was_interrupted(console: str) -> None:
    found = judged(STEPS + stopped(71, 60), STEPS + stopped(72, 60), console=console)
    assert (found.verdict, found.causes[0].category) == ("interrupted", "external.kill")
    failed = judged(STEPS + ERROR, STEPS + stopped(72, 60), console=console)
    assert (failed.verdict, failed.causes[0].rank) == ("failed", 0)


def test_an_error_code_is_told_in_the_title() -> None:
    deaths = (death(0, 1, 3, None), death(1, 0, None, 6))
    (cause,) = judged(STEPS, STEPS, records=[recorded(*deaths)]).causes
    assert cause.title.en == "Ended by itself with an error code (3)"
    (cause,) = judged(STEPS, "", records=[recorded(*deaths)]).causes
    assert cause.title.zh == "自行以错误码退出（3），没有任何信息"


def test_a_bus_error_that_srun_tells_of_is_the_named_tasks() -> None:
    console = "srun: error: node07: task 1: Bus error (core dumped)\n"
    (cause,) = judged(STEPS, STEPS, console=console).causes
    assert (cause.rank, cause.host, cause.category) == (1, "node07", "memory.shm")


def judged_with_kernel(error: str, kernel: str = XID) -> Judgement:
    files = {"log/workerlog.0": STEPS, "log/workerlog.1": STEPS + error, "dmesg.txt": kernel}
    return judge(runs_of(files, [])[-1], engine().knowledge)


def test_a_card_that_broke_by_the_kernels_word_is_the_cause_of_its_ranks_error() -> None:
    (cause,) = judged_with_kernel("OSError: (External) CUDA error(999), unknown error. \n").causes
    assert (cause.rank, cause.category) == (1, "device.hardware")
    assert [evidence.file for evidence in cause.evidence] == ["dmesg.txt", "log/workerlog.1"]


@pytest.mark.parametrize(("day", "category"), [(1, "device.hardware"), (2, "device.cuda")])
def test_a_card_that_broke_another_day_broke_nothing_now(day: int, category: str) -> None:
    stamp = "[2024-09-02 10:00:08,101] [   ERROR] - failed\n"
    failed = f"{stamp}OSError: (External) CUDA error(999), unknown error. \n"
    kernel = XID.replace("[71.1]", f"[Mon Sep  {3 - day} 09:58:00 2024]")
    (cause,) = judged_with_kernel(failed, kernel).causes
    assert (cause.rank, cause.category) == (1, category)


def test_what_a_program_does_wrong_is_no_broken_card() -> None:
    wrong = "OSError: (External) CUDA error(710), device-side assert triggered. \n"
    (cause,) = judged_with_kernel(wrong).causes
    assert (cause.rank, cause.category) == (1, "device.cuda")


@pytest.mark.parametrize(
    "words",
    [
        "LAUNCH INFO 2024-09-01 10:00:08,101 Exit code 1\n",
        "ERROR 2022-05-10 10:10:12,163 launch_utils.py:604] ABORT!!! Out of all 1 trainers, the "
        "trainer process with rank=[0] was aborted. Please check its log.\n"
        "INFO 2022-05-10 10:10:15,125 launch.py:311] Local processes completed.\n",
    ],
)
def test_a_launcher_that_says_failed_in_a_ranks_own_log_is_no_good_end(words: str) -> None:
    found = judged(STEPS + ERROR + words)
    assert found.verdict == "failed"
    (cause,) = found.causes
    assert (cause.rank, cause.category) == (0, "code.python")


def test_a_culprit_without_a_number_is_not_its_own_victim() -> None:
    found = judge(runs_of({"console.log": STEPS + ERROR})[-1], engine().knowledge)
    assert [cause.rank for cause in found.causes] == [None]
    assert found.victims == ()


def test_a_crash_in_the_kernels_log_is_the_ranks_whose_process_it_names() -> None:
    crash = "[71.1] python[24411]: segfault at 10 ip 00007f2a sp 00007ffd error 4 in libpaddle.so\n"
    glog = "W0714 13:44:01.101112 24411 gpu_context.cc:278] Please NOTE: device: 1\n"
    files = {"log/workerlog.0": STEPS, "log/workerlog.1": glog + STEPS, "dmesg.txt": crash}
    (cause,) = judge(runs_of(files)[-1], engine().knowledge).causes
    assert (cause.rank, cause.category) == (1, "code.crash")


def test_the_end_of_a_log_that_a_launcher_shows_again_is_no_second_cause() -> None:
    error = (
        "RuntimeError: (PreconditionNotMet) The meta data must be valid. (at /paddle/x.cc:105)\n"
    )
    console = (
        'Traceback (most recent call last):\n  File "/w/t.py", line 3, in train\n    f()\n'
        + error
        + "\nLAUNCH INFO 2022-10-13 07:07:51,933 Pod failed\n"
        "LAUNCH ERROR 2022-10-13 07:07:51,933 Container failed !!!\n"
        "Container rank 0 status failed cmd ['python', 't.py'] code 1 log log/workerlog.0\n"
        "LAUNCH INFO 2022-10-13 07:07:51,933 ------------------------- ERROR LOG DETAIL "
        "-------------------------\n    f()\n"
        + error
        + "\nLAUNCH INFO 2022-10-13 07:07:54,933 Exit code 1\n"
    )
    (cause,) = judge(runs_of({"console.log": console})[-1], engine().knowledge).causes
    assert cause.frame
    assert cause.frame.file == "/w/t.py"


@pytest.mark.parametrize("words", ["Killed", "已杀死"])
def test_who_was_killed_for_sure_may_have_been_killed_for_another_reason(words: str) -> None:
    (cause,) = judged(f"{STEPS}{words}\n").causes
    assert (cause.rank, cause.category, cause.confidence) == (0, "memory.host", "likely")
    assert [why.en for why in cause.why] == ["it is the only process of the job"]


def test_one_step_after_an_error_is_enough_to_have_survived_it() -> None:
    """A thread may have died that the others need; what the main thread caught is over."""
    log = STEPS + "Exception in thread Thread-1:\n" + ERROR + "epoch 0 step 2 loss 1.3\n"
    assert judged(log, STEPS).causes == (), "it makes no failure of a log that merely stops"
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Pod failed\n"
    (cause,) = judged(STEPS + ERROR + "epoch 0 step 2 loss 1.3\n", STEPS, console=console).causes
    assert (cause.rank, cause.category) == (None, "unknown")
    (cause,) = judged(log, STEPS, console=console).causes
    assert (cause.rank, cause.category) == (0, "code.python")
    assert cause.why[0].en == "it made 1 more step after the error and then stopped"


def test_who_told_its_last_step_is_no_victim_of_one_that_failed_before() -> None:
    """Ranks that do not meet: two went on to their end when the third had failed."""
    steps = "".join(f"epoch: 0, step: {step}/20, loss: 0.5\n" for step in range(20))
    half = "".join(f"epoch: 0, step: {step}/20, loss: 0.5\n" for step in range(12))
    found = judged(steps, half, half + ERROR)
    assert [cause.ranks for cause in found.causes] == [(2,)]
    assert [victim.rank for victim in found.victims] == [1]
