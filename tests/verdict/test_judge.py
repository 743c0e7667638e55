"""Given what every rank said, when judged, then the one who failed first is blamed, no victim."""

from __future__ import annotations

import pytest

from pdtriage.launch.record import DeathRecord, ProcessRecord, RunRecord
from pdtriage.model import Rank, RankRow, Victim
from pdtriage.verdict import Judgement, judge
from pdtriage.verdict.reading import Reading
from pdtriage.verdict.rows import rank_rows

from ..events.builders import engine
from ..jobs.builders import environment, runs_of

HOST = "10.0.0.1"
ENDPOINTS = ",".join(f"{HOST}:{port}" for port in (1, 2, 3))
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"
ERROR = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'


def lost(own: int, peer: int) -> str:
    return (
        f"  what():  [/paddle/gloo/pair.cc:584] TIMEOUT self_rank = {own} pair_rank = {peer} "
        f"peer_str = [{HOST}]:40001\n"
    )


def stopped(pid: int, sender: int) -> str:
    return (
        f"  [SignalInfo: *** SIGTERM (@0x3fe) received by PID {pid} (TID 0x7f6c) "
        f"from PID {sender} ***]\n"
    )


def judged(*logs: str, console: str = "", records: list[RunRecord] | None = None) -> Judgement:
    """The newest run of one node whose rank N wrote `logs[N]`."""
    files = {f"log/workerlog.{rank}": text for rank, text in enumerate(logs)}
    if not records:
        for rank in range(len(logs)):
            files[f"log/envlog.{rank}"] = environment(rank, len(logs), "pod", ENDPOINTS)
    if console:
        files["console.log"] = console
    runs = runs_of(files, [("log", record) for record in records or []])
    return judge(runs[-1], engine().knowledge)


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
    assert quiet == Reading(quiet.rank)
    assert quiet.rank == Rank(*quiet.rank)
    row = rank_rows(found)[0]
    assert row == RankRow(
        *(0, "worker", HOST, 0, None, ("log/workerlog.0",), "victim"), last_step=1
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
        "log/envlog.0": environment(0, 3, "pod", ENDPOINTS),
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
    processes = tuple(_process(rank, STEPS) for rank in (0, 1))
    deaths = (_death(0, 1, code, signal), _death(1, 0, 1, None))
    record = RunRecord(
        "run-1.jsonl", 1, "L", pid=60, world_size=2, processes=processes, deaths=deaths,
        ended=9.0, reason="failed",
    )  # fmt: skip
    found = judged(STEPS + lost(0, 1), STEPS, records=[record])
    assert (found.causes[0].rank, found.causes[0].category) == (1, category)


DISK = ERROR.replace("KeyError: 1", "OSError: [Errno 28] No space left on device")


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
def test_who_shows_an_error_and_lives_on_is_not_blamed_for_a_silent_death(
    code: int | None, signal: int | None, shown: str, ranks: list[int]
) -> None:
    deaths = (_death(0, 0, code, signal), _death(1, 1, None, 15)._replace(stopped=True))
    found = judged(STEPS, STEPS + shown, records=[_recorded(deaths)])
    assert [cause.rank for cause in found.causes] == ranks
    assert "proven" not in {cause.confidence for cause in found.causes}


def test_who_dies_of_its_error_is_blamed_although_another_one_died_in_silence_before() -> None:
    deaths = (_death(0, 0, 7, None), _death(1, 1, 1, None))
    found = judged(STEPS, STEPS + ERROR, records=[_recorded(deaths)])
    assert found.causes[0].rank == 1


def test_the_first_to_fail_is_not_the_first_to_die_where_others_had_finished() -> None:
    deaths = (_death(0, 0, 0, None), _death(1, 1, 4, None))
    (cause,) = judged(STEPS, STEPS, records=[_recorded(deaths)]).causes
    assert (cause.rank, cause.confidence) == (1, "likely")
    said = " ".join(why.en for why in cause.why)
    assert "nobody fail before it" in said
    assert "die first" not in said


def test_an_end_whose_status_nobody_saw_says_less_than_an_error_code() -> None:
    deaths = (_death(0, 0, None, None), _death(1, 1, 3, None))
    assert [c.rank for c in judged(STEPS, STEPS, records=[_recorded(deaths)]).causes] == [1]
    complains = judged(STEPS, STEPS + lost(1, 0), records=[_recorded(deaths)])
    assert [cause.rank for cause in complains.causes] == [0]


def test_one_log_of_several_is_not_the_only_process() -> None:
    alone = judge(runs_of({"log/workerlog.0": STEPS + ERROR})[-1], engine().knowledge)
    one_of_two = judge(runs_of({"log/workerlog.1": STEPS + ERROR})[-1], engine().knowledge)
    assert alone.causes[0].confidence == "proven"
    assert one_of_two.causes[0].confidence == "likely"


def _recorded(deaths: tuple[DeathRecord, ...]) -> RunRecord:
    processes = tuple(_process(rank, STEPS) for rank in (0, 1))
    return RunRecord(
        "run-1.jsonl", 1, "L", pid=60, world_size=2, processes=processes, deaths=deaths,
        ended=9.0, reason="failed",
    )  # fmt: skip


def _process(rank: int, _text: str) -> ProcessRecord:
    return ProcessRecord(
        role="worker", rank=rank, local_rank=rank, device=None, endpoint=f"{HOST}:{rank + 1}",
        pid=70 + rank, log=f"workerlog.{rank}", offset=0, started=1.0, monotonic=1.0,
    )  # fmt: skip


def _death(order: int, rank: int, code: int | None, signal: int | None) -> DeathRecord:
    return DeathRecord(
        order=order, role="worker", rank=rank, local_rank=rank, pid=70 + rank, time=2.0,
        monotonic=2.0, code=code, signal=signal, core=False, stopped=False,
    )  # fmt: skip


def without_environment(files: dict[str, str]) -> Judgement:
    return judge(runs_of(files)[-1], engine().knowledge)


def test_who_was_not_stopped_with_the_others_may_have_ended_before() -> None:
    logs = {"log/workerlog.0": STEPS, "log/workerlog.1": STEPS + stopped(71, 60)}
    (cause,) = without_environment(logs).causes
    assert (cause.signature, cause.rank, cause.confidence) == ("verdict.silent", 0, "guess")
    assert cause.evidence[0].text == stopped(71, 60).strip()


def test_a_lone_victim_does_not_tell_why() -> None:
    found = without_environment({"log/workerlog.1": STEPS + stopped(71, 60)})
    (cause,) = found.causes
    assert (cause.signature, cause.category, cause.ranks) == ("verdict.victims-only", "unknown", ())
    assert found.verdict == "failed"


def test_when_all_were_stopped_somebody_stopped_the_job() -> None:
    logs = {f"log/workerlog.{rank}": STEPS + stopped(70 + rank, 60) for rank in range(2)}
    found = without_environment(logs)
    assert (found.verdict, found.causes[0].category) == ("interrupted", "external.kill")


def test_nodes_have_met_when_a_process_runs() -> None:
    retry = (
        "I0224 13:50:30.278173 15129 tcp_utils.cc:107] Retry to connect to 127.0.1.1:63917 while "
        "the server is not yet listening.\n"
    )
    waiting = "LAUNCH INFO 2023-02-24 13:49:12,118 Waiting peer start...\n"
    files = {"a/console.log": waiting, "a/log/workerlog.0": STEPS, "b/log/workerlog.0": 9 * retry}
    (cause,) = without_environment(files).causes
    assert cause.evidence[0].text == retry.strip()


def test_a_culprit_of_unknown_rank_is_no_victim() -> None:
    found = without_environment({"console.log": ERROR})
    assert (found.causes[0].rank, found.victims) == (None, ())


def test_a_symptom_proves_no_reason() -> None:
    told = (
        "ERROR 2025-08-01 13:47:52,704 3233 engine.py[line:206] Failed to launch worker processes, "
        "check log/workerlog.* for more details.\n"
    )
    (cause,) = without_environment({"console.log": told + ERROR}).causes
    assert (cause.signature, cause.confidence) == ("engine.workers-failed", "guess")


def test_two_nodes_that_give_themselves_one_rank_clash() -> None:
    told = (
        "I0307 08:54:18.100000 101 nccl_context.cc:83] init nccl context nranks: 2 local rank: 0 "
        "gpu id: 0 ring id: 0\n"
    )
    files = {"a/log/workerlog.0": told, "b/log/workerlog.0": told}
    (cause,) = without_environment(files).causes
    assert (cause.signature, cause.category) == ("verdict.rank-clash", "config.launch")


def test_a_traceback_of_the_launcher_is_no_failure_of_a_rank() -> None:
    raised = (
        'Traceback (most recent call last):\n  File "/x/paddle/distributed/launch/main.py", '
        "line 2, in launch\n    c.run()\nAttributeError: 'NoneType' object has no attribute 'x'\n"
    )
    found = without_environment({"console.log": raised})
    (cause,) = found.causes
    assert (cause.role, cause.rank, cause.category) == ("launcher", None, "config.launch")
    assert (cause.confidence, found.victims) == ("proven", ())


def test_who_presses_ctrl_c_interrupts() -> None:
    pressed = (
        'Traceback (most recent call last):\n  File "train.py", line 2, in main\n    step()\n'
        "KeyboardInterrupt\n"
    )
    assert without_environment({"console.log": STEPS + pressed}).verdict == "interrupted"


@pytest.mark.parametrize(
    ("told", "ranks"),
    [
        (
            "ERROR 2021-05-24 17:17:14,611 launch_utils.py:545] ABORT!!! Out of all 4 trainers, "
            "the trainer process with rank=[1, 3] was aborted. Please check its log.\n",
            (1, 3),
        ),
        ("srun: error: gpu07: task 3: Exited with exit code 1\n", (3,)),
        (
            "mpirun noticed that process rank 2 with PID 4412 on node n5 exited on signal 11 "
            "(Segmentation fault).\n",
            (2,),
        ),
    ],
)
def test_an_error_in_a_shared_console_is_of_whom_the_launcher_names(
    told: str, ranks: tuple[int, ...]
) -> None:
    (cause, *_) = without_environment({"console.log": ERROR + told}).causes
    assert (cause.category, cause.rank, cause.ranks) == ("code.python", ranks[0], ranks)
    assert cause.confidence == "likely"


def test_a_container_is_numbered_on_its_own_node() -> None:
    killed = (
        "LAUNCH INFO 2023-04-02 10:00:03,340 Run Pod: second, replicas 2, status ready\n"
        "Container rank 1 status failed cmd ['python', '-u', 't.py'] code -9 log log/workerlog.1\n"
    )
    told = "topology.py:370 - HybridParallelInfo: rank_id: {}, mp_degree: 1\n"
    files = {
        f"node{node}/log/workerlog.{local}": told.format(2 * node + local) + STEPS
        for node in range(2)
        for local in range(2)
    }
    (cause,) = without_environment({**files, "node1/console.log": killed}).causes
    assert (cause.signature, cause.ranks) == ("launch.container-killed", (3,))


def test_two_of_four_victims_do_not_tell_why_either() -> None:
    told = (
        "I0124 17:40:10.740386 61 nccl_context.cc:74] init nccl context nranks: 4 local rank: 0 "
        "gpu id: 0 ring id: 0\n"
    )
    logs = {"log/workerlog.0": told + stopped(70, 60), "log/workerlog.1": stopped(71, 60)}
    (cause,) = without_environment(logs).causes
    assert cause.signature == "verdict.victims-only"


def test_a_process_that_tidied_up_and_left_failed_perhaps() -> None:
    closed = (
        "I0306 10:18:22.777120 3377 tcp_store.cc:273] receive shutdown event and so quit from "
        "MasterDaemon run loop\n"
    )
    found = without_environment({"log/workerlog.0": STEPS + closed})
    (cause,) = found.causes
    assert (found.verdict, cause.category, cause.confidence) == ("unknown", "unknown", "guess")
    assert cause.evidence[0].text == closed.strip()


def test_who_stops_its_own_readers_is_not_stopped() -> None:
    own = "W0306 10:18:20.777120 60 gpu_resources.cc:61] Please NOTE: device: 0\n"
    found = without_environment({"log/workerlog.0": own + STEPS + stopped(71, 60)})
    assert (found.verdict, found.causes) == ("unknown", ())


def test_where_many_were_started_a_lone_log_proves_nothing() -> None:
    started = "LAUNCH INFO 2023-04-02 10:00:03,340 Run Pod: a, replicas 2, status ready\n"
    (cause,) = without_environment({"console.log": started + ERROR}).causes
    assert cause.confidence == "likely"
