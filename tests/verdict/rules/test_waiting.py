"""Given ranks that wait for each other or speak of their helpers, then no victim is blamed."""

from __future__ import annotations

import pytest

from pdtriage.model import Node
from pdtriage.model.stacks import ProcessStack
from pdtriage.verdict import judge

from ...hang.test_stack_groups import TRAIN, in_collective, in_own_code, taken
from ...runs.builders import runs_of
from ...scan.builders import engine
from ..builders import (
    ERROR,
    STACK,
    STEPS,
    death,
    glog,
    judged,
    last_run,
    lost,
    process,
    raised_at,
    recorded,
    summary,
    waited,
)

LAUNCHER = 50
UNREADABLE = ERROR.replace("KeyError: 1", "OSError: [Errno 5] Input/output error: '/data/7'")


def stamped(steps: int) -> str:
    """Two steps a second, stamped with whole seconds, from 2023-01-02 03:00:00 UTC on."""
    return "".join(
        f"[2023-01-02 03:00:{step // 2:02d}] epoch 0 step {step} loss 1.5\n"
        for step in range(steps)
    )


def stopped_after(seconds: int, pid: int) -> str:
    """What Paddle's handler prints, so many seconds after the first step."""
    line = f"  [TimeInfo: *** Aborted at {1672628400 + seconds} (unix time) try it ***]\n"
    first, second, rest = summary(pid, LAUNCHER).partition("  [SignalInfo")
    return first + line + second + rest


ALL_REDUCE = (
    "\n--------------------------------------\nC++ Traceback (most recent call last):\n"
    "--------------------------------------\n"
    "0   paddle::distributed::ProcessGroupGloo::AllReduce(phi::DenseTensor*)\n"
)


@pytest.mark.parametrize(
    ("seconds", "verdict", "rank"), [(400, "hung", 1), (70, "interrupted", None)]
)
def test_a_job_that_stood_still_for_long_was_stopped_because_of_that(
    seconds: int, verdict: str, rank: int | None
) -> None:
    """A launcher stops its ranks in turn, and the last one loses a connection before its own."""
    found = judged(
        glog(70) + stamped(40) + ALL_REDUCE + stopped_after(seconds, 70),
        glog(71) + stamped(40) + stopped_after(seconds, 71),
        glog(72) + stamped(40) + lost(2, 1) + stopped_after(seconds, 72),
    )
    assert found.verdict == verdict
    assert [cause.rank for cause in found.causes] == [rank]


def test_in_a_ring_the_one_who_does_not_wait_is_missing() -> None:
    found = judged(STEPS + waited("2"), STEPS + summary(71, LAUNCHER), STEPS + waited("-1"))
    (cause,) = found.causes
    assert (cause.rank, cause.category, cause.confidence) == (1, "comm.timeout", "guess")
    assert {victim.rank for victim in found.victims} == {0, 2}


@pytest.mark.parametrize("words", ["", UNREADABLE], ids=["silent", "with an error"])
def test_whom_its_launcher_stops_when_others_have_failed_was_not_killed_from_outside(
    words: str,
) -> None:
    """It may hang a moment at its exit, after its connections are closed."""
    deaths = (death(0, 0, 1, None), death(1, 1, None, 15)._replace(stopped=True))
    logs = (STEPS + raised_at(1, lost(0, 1)), STEPS + words + summary(71, 60))
    found = judged(*logs, records=[recorded(*deaths)])
    (cause,) = found.causes
    assert (cause.category, cause.ranks) == ("data.io" if words else "unknown", (1,))
    assert [victim.rank for victim in found.victims] == [0]


def test_who_was_stopped_while_it_waited_is_not_the_one_they_waited_for() -> None:
    stack = (
        "\n--------------------------------------\nC++ Traceback (most recent call last):\n"
        "--------------------------------------\n"
        "0   paddle::distributed::ProcessGroupGloo::AllReduce(phi::DenseTensor*)\n"
        "1   gloo::allreduce(gloo::AllreduceOptions const&)\n"
    )
    waiting = stack + summary(72, LAUNCHER)
    found = judged(STEPS + waited("2"), STEPS + summary(71, LAUNCHER), STEPS + waiting)
    (cause,) = found.causes
    assert (cause.rank, cause.category) == (1, "comm.timeout")


@pytest.mark.parametrize("other", [lost(1, 0), raised_at(9, waited("-1"))])
def test_two_who_wait_in_different_places_do_not_run_the_same_program(other: str) -> None:
    found = judged(raised_at(7, waited("-1")), other)
    (cause,) = found.causes
    assert (cause.signature, cause.ranks) == ("verdict.out-of-step", (0, 1))
    assert (cause.category, cause.confidence) == ("config.rank", "guess")


def test_who_only_came_late_to_the_same_place_runs_the_same_program() -> None:
    found = judged(raised_at(7, waited("-1")), raised_at(7, lost(1, 0)))
    assert "verdict.out-of-step" not in {cause.signature for cause in found.causes}


def test_helpers_that_a_process_stops_before_it_raises_do_not_make_it_a_victim() -> None:
    helpers = summary(90, 72) + summary(91, 72)
    found = judged(STEPS + lost(0, 1), glog(72) + STEPS + helpers + ERROR)
    (cause,) = found.causes
    assert (cause.rank, cause.category, cause.confidence) == (1, "code.python", "proven")


def test_who_is_stopped_by_somebody_else_stays_a_victim() -> None:
    found = judged(STEPS + ERROR, glog(72) + STEPS + summary(72, LAUNCHER) + ERROR)
    (cause,) = found.causes
    assert cause.rank == 0


def test_who_says_what_broke_it_did_not_end_without_a_word() -> None:
    loader = (
        'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\n'
        "SystemError: (Fatal) DataLoader process (pid 81) exited unexpectedly with code 1. "
        "Error detailed are lost due to multiprocessing. Rerunning with:\n"
    )
    found = judged(STEPS + lost(0, 1), STEPS + loader)
    (cause,) = found.causes
    assert (cause.signature, cause.rank, cause.category) == (
        "data.process-exited",
        1,
        "data.worker",
    )
    assert cause.confidence == "likely"


def test_what_a_worker_could_not_import_is_the_reason_though_prepared_steps_were_made() -> None:
    reader = (
        "Exception in thread Thread-1 (_thread_loop):\nTraceback (most recent call last):\n"
        '  File "/opt/paddle/io/dataloader/worker.py", line 195, in reraise\n'
        "    raise self.exc_type(msg)\n"
        "ModuleNotFoundError: DataLoader worker(0) caught ModuleNotFoundError with message:\n"
        'Traceback (most recent call last):\n  File "t.py", line 6, in read\n    import masks\n'
        "ModuleNotFoundError: No module named 'masks'\n\n"
    )
    queue = (
        'Traceback (most recent call last):\n  File "t.py", line 9, in f\n    next(loader)\n'
        "SystemError: (Fatal) Blocking queue is killed because the data reader raises an "
        "exception.\n"
    )
    (cause,) = judged(reader + STEPS + queue).causes
    assert (cause.signature, cause.category) == ("import.module-not-found", "code.import")


@pytest.mark.parametrize("words", ["Killed", "已杀死"])
def test_a_kill_is_proven_but_not_why(words: str) -> None:
    (run,) = runs_of({"log/workerlog.0": f"{STEPS}{words}\n"})
    (cause,) = judge(run, engine().knowledge).causes
    assert (cause.category, cause.confidence) == ("memory.host", "likely")


PARAMETER_SERVERS = """\
INFO 2026-11-16 21:33:25,455 launch.py:530] Run parameter-sever mode. pserver arguments:[]
    +=======================================================================================+
    |                        Distributed Envs                      Value                    |
    +---------------------------------------------------------------------------------------+
    |            PADDLE_PSERVERS_IP_PORT_LIST           10.0.0.1:7001,10.0.0.1:7002         |
    |                           TRAINING_ROLE                     PSERVER                   |
    |                                  POD_IP                     10.0.0.1                  |
    +=======================================================================================+
INFO 2026-11-16 21:33:45,455 launch_utils.py:341] all workers exit, going to finish parameter server
"""


@pytest.mark.parametrize("port", [7001, 7002])
def test_trainers_that_lost_a_server_are_no_success(port: int) -> None:
    broken = (
        'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\n'
        f"ConnectionError: server 10.0.0.1:{port} closed the connection\n"
    )
    files = {
        "console.log": PARAMETER_SERVERS,
        "log/serverlog.0": "ready\n",
        "log/serverlog.1": "ready\n",
        "log/workerlog.0": STEPS + broken,
    }
    found = judge(runs_of(files)[-1], engine().knowledge)
    (cause,) = found.causes
    assert (found.verdict, cause.category) == ("failed", "ps.server")
    assert (cause.role, cause.rank) == ("server", port - 7001)


@pytest.mark.parametrize(("other", "blamed"), [(3, True), (2, False)])
def test_launchers_that_wait_for_different_numbers_of_nodes_never_meet(
    other: int, blamed: bool
) -> None:
    def console(nodes: int) -> str:
        return (
            f"LAUNCH INFO 2026-11-16 21:52:02,851 Job: default, mode collective, "
            f"replicas {nodes}[{nodes}:{nodes}], elastic False\n"
            "LAUNCH INFO 2026-11-16 21:52:02,851 Waiting peer start...\n"
            "LAUNCH INFO 2026-11-16 21:52:32,891 Terminating with signal 15\n"
        )

    files = {"a/console.log": console(2), "b/console.log": console(other)}
    found = judge(runs_of(files)[-1], engine().knowledge)
    (cause,) = found.causes
    assert (cause.signature == "verdict.nodes-differ") is blamed
    assert found.verdict == ("hung" if blamed else "interrupted")


@pytest.mark.parametrize("words", ["Training finished", "训练完成", "train is done, best acc 0.9"])
def test_whose_last_words_are_that_it_has_finished_does_not_hang(words: str) -> None:
    console = "launch proc_id:71 idx:0\n"
    files = {"console.log": console, "log/workerlog.0": STEPS}
    assert judge(runs_of(files)[-1], engine().knowledge).verdict == "unknown"
    files = {"console.log": console, "log/workerlog.0": f"{STEPS}{words}\n"}
    found = judge(runs_of(files)[-1], engine().knowledge)
    assert (found.verdict, found.causes) == ("succeeded", ())


def test_one_of_several_who_has_finished_does_not_speak_for_the_others() -> None:
    found = judge(
        runs_of({"log/workerlog.1": f"{STEPS}training finished\n"})[-1], engine().knowledge
    )
    assert (found.verdict, found.causes) == ("unknown", ())


def test_data_that_is_loaded_is_no_training_that_is_done() -> None:
    files = {"console.log": "launch proc_id:71 idx:0\n", "log/workerlog.0": "train data: done\n"}
    assert judge(runs_of(files)[-1], engine().knowledge).verdict == "unknown"


def test_who_ends_a_job_by_hand_may_have_waited_for_the_one_that_is_behind() -> None:
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 15\n"
    ahead = STEPS + "epoch 0 step 2 loss 1.3\n" + waited("-1")
    found = judged(ahead, STEPS, console=console)
    (cause,) = found.causes
    assert (found.verdict, cause.rank, cause.category) == ("hung", 1, "hang")
    assert cause.why[0].en == "its last step is 1, the others reached 2"


def test_a_launcher_that_saw_all_run_is_no_proof_that_they_hang() -> None:
    found = judged(STEPS, STEPS, console="launch proc_id:71 idx:0\n")
    assert (found.verdict, found.causes) == ("unknown", ())
    found = judged(STEPS + STACK, STEPS, console="launch proc_id:71 idx:0\n")
    assert (found.verdict, found.causes[0].signature) == ("hung", "verdict.stuck")


@pytest.mark.parametrize("moved_on", [False, True])
def test_ranks_that_give_up_waiting_in_the_end_do_not_hide_who_stood_still(moved_on: bool) -> None:
    still = taken(
        in_collective(0),
        in_own_code(1, TRAIN, 20),
        in_collective(2),
        still=29.0,
        limit=8.0,
        moved_on=moved_on,
    )
    deaths = (
        death(0, 0, 1, None),
        death(1, 2, 1, None),
        death(2, 1, None, 15)._replace(stopped=True),
    )
    record = recorded(*deaths)._replace(
        world_size=3, processes=tuple(map(process, range(3))), standstill=still
    )
    gave_up = STEPS + raised_at(14, waited("-1"))
    found = judged(gave_up, STEPS + summary(71, 60), gave_up, records=[record])
    (cause,) = found.causes
    assert (found.verdict, cause.rank) == ("failed" if moved_on else "hung", 1)
    assert cause.confidence == ("guess" if moved_on else "likely")
    assert (cause.frame is None) is moved_on
    if cause.frame is not None:
        assert (cause.frame.file, cause.frame.line) == (TRAIN, 20)
    assert {victim.rank for victim in found.victims} == {0, 2}


def test_an_error_of_its_own_says_more_than_stacks_of_before() -> None:
    still = taken(in_collective(0), in_own_code(1), still=29.0, limit=8.0)
    record = recorded(death(0, 1, 1, None))._replace(standstill=still)
    (cause,) = judged(STEPS, STEPS + UNREADABLE, records=[record]).causes
    assert (cause.rank, cause.category) == (1, "data.io")


@pytest.mark.parametrize("waiting", [True, False], ids=["all wait", "one does not"])
def test_ranks_that_all_wait_wait_for_the_node_that_answers_no_more(waiting: bool) -> None:
    second = in_collective(1) if waiting else in_own_code(1)
    still = taken(in_collective(0), second, still=29.0, limit=8.0)
    deaths = [death(rank, rank, None, 15)._replace(stopped=True) for rank in (0, 1)]
    record = recorded(*deaths)._replace(
        world_size=3,
        nnodes=2,
        processes=tuple(map(process, range(2))),
        standstill=still,
        reason="interrupted",
        interrupted_by=2,
    )
    files = {f"log/workerlog.{rank}": STEPS + summary(71 + rank, 60) for rank in (0, 1)}
    nodes = (Node(0, "10.0.0.1"), Node(1, "10.0.0.2"))
    run = last_run(files, record)._replace(unanswered=(1,), nodes=nodes)
    found = judge(run, engine().knowledge)
    (cause,) = found.causes
    assert found.verdict == "hung"
    assert (cause.rank, cause.host) == ((None, "10.0.0.2") if waiting else (1, cause.host))


@pytest.mark.parametrize(
    ("code", "place"),
    [(0, in_own_code(1)), (1, in_own_code(1)), (0, in_collective(1))],
    ids=["all others are done", "another had failed", "it waits for others"],
)
def test_the_only_one_left_is_who_stands_where_all_others_are_done(
    code: int, place: ProcessStack
) -> None:
    still = taken(place, still=29.0, limit=8.0)
    deaths = (death(0, 0, code, None), death(1, 1, None, 15)._replace(stopped=True))
    record = recorded(*deaths)._replace(
        processes=tuple(map(process, range(2))),
        standstill=still,
        reason="interrupted",
        interrupted_by=2,
    )
    found = judged(STEPS, STEPS + summary(71, 60), records=[record])
    alone = code == 0 and place == in_own_code(1)
    named = [cause.rank for cause in found.causes if cause.category == "hang"]
    assert (1 in named) is alone
    if alone:
        assert found.verdict == "hung"
        assert found.causes[0].frame is not None


def overdue(rank: int, number: int, group: str = "0,1,2,3", operation: str = "ALLREDUCE") -> str:
    return (
        f"W0301 09:10:11.000000 50{rank} comm_task_manager.cc:144] "
        f"Find timeout start but not finish task:group_key:default_pg0,group_ranks:[{group}],"
        f"global_rank:{rank},local_rank:{rank},"
        f"comm_count:{number},op:{operation},started:1,completed:0,numel:4096,nranks:4\n"
    )


def test_who_stands_at_an_earlier_collective_did_not_arrive() -> None:
    """Every rank's watchdog complains, also that of the one they wait for."""
    numbers = (881, 881, 880, 881)
    found = judged(*(STEPS + overdue(rank, number) for rank, number in enumerate(numbers)))
    assert [cause.ranks for cause in found.causes] == [(2,)]
    assert found.causes[0].category == "comm.timeout"
    assert "880" in found.causes[0].why[0].en


def test_whose_watchdog_is_silent_did_not_arrive() -> None:
    texts = [STEPS if rank == 1 else STEPS + overdue(rank, 881) for rank in range(4)]
    found = judged(*texts)
    assert [cause.ranks for cause in found.causes] == [(1,)]
    assert "ALLREDUCE (number 881)" in found.causes[0].why[0].en


def test_groups_are_not_mixed_up() -> None:
    """Two ranks wait for each other in a group of their own: neither is behind the others."""
    texts = [
        *(STEPS + overdue(rank, 40, "0,1", "SEND") for rank in (0, 1)),
        *(STEPS + overdue(rank, 881, "2,3") for rank in (2, 3)),
    ]
    assert not any(len(cause.ranks) == 1 for cause in judged(*texts).causes)


def timed(last: str, *more: str) -> str:
    steps = [f"2023-01-15 10:00:{n:02},000 INFO epoch 0 step {n} loss 1.5\n" for n in range(9)]
    return "".join([*steps, *(f"2023-01-15 10:00:{last},000 INFO {line}\n" for line in more)])


def stopped_at(seconds: int) -> str:
    """1673776800 is 10:00:00 of that day."""
    at = f'  [TimeInfo: *** Aborted at {1673776800 + seconds} (unix time) try "date" ***]\n'
    text = summary(70, LAUNCHER)
    return text.replace("  [SignalInfo", at + "  [SignalInfo")


def test_who_stood_still_while_the_others_ended_is_named_and_not_they() -> None:
    texts = timed("09") + stopped_at(200), timed("09", "eval acc 0.25")
    found = judged(*texts)
    (cause,) = found.causes
    assert (found.verdict, cause.rank, cause.category) == ("hung", 0, "hang")
    assert cause.confidence == "guess"


@pytest.mark.parametrize(
    ("stop", "more"),
    [
        # it was stopped in the midst of its work
        (10, ("eval acc 0.25",)),
        # the other one got no further
        (200, ()),
    ],
)
def test_who_just_ended_is_named_where_nobody_stood_still_or_got_further(
    stop: int, more: tuple[str, ...]
) -> None:
    found = judged(timed("09") + stopped_at(stop), timed("09", *more))
    assert [(cause.rank, cause.category) for cause in found.causes] == [(1, "unknown")]
