"""Given only some of the logs of a job, when judged, then no more is said than they tell."""

from __future__ import annotations

import pytest

from pdtriage.verdict import Judgement, judge

from ..runs.builders import runs_of
from ..scan.builders import engine
from .builders import ERROR, STEPS, stopped


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
    assert (cause.confidence, found.victims) == ("likely", ())  # who is sure; what is not said


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


def test_a_process_that_tidied_up_behind_its_steps_has_been_done() -> None:
    closed = (
        "I0306 10:18:22.777120 3377 tcp_store.cc:273] receive shutdown event and so quit from "
        "MasterDaemon run loop\n"
    )
    found = without_environment({"log/workerlog.0": STEPS + closed})
    assert (found.verdict, found.causes) == ("succeeded", ())
    found = without_environment({"log/workerlog.0": closed})
    assert (found.verdict, found.causes) == ("unknown", ())


def test_who_stops_its_own_readers_is_not_stopped() -> None:
    own = "W0306 10:18:20.777120 60 gpu_resources.cc:61] Please NOTE: device: 0\n"
    found = without_environment({"log/workerlog.0": own + STEPS + stopped(71, 60)})
    assert (found.verdict, found.causes) == ("unknown", ())


def test_where_many_were_started_a_lone_log_proves_nothing() -> None:
    started = "LAUNCH INFO 2023-04-02 10:00:03,340 Run Pod: a, replicas 2, status ready\n"
    (cause,) = without_environment({"console.log": started + ERROR}).causes
    assert cause.confidence == "likely"


def test_who_goes_on_was_not_stopped() -> None:
    found = without_environment({"log/workerlog.0": stopped(71, 60) + STEPS})
    assert (found.verdict, found.causes) == ("unknown", ())


RETRY = (
    "I1128 16:46:32.015228 39356 tcp_utils.cc:107] Retry to connect to 10.0.0.1:39201 while the "
    "server is not yet listening.\n"
)


def test_the_last_words_in_a_console_count_below_what_the_launcher_says() -> None:
    launcher = (
        "LAUNCH INFO 2022-11-28 16:44:01,121 Run Pod: abcdef, replicas 2, status ready\n"
        "LAUNCH INFO 2022-11-28 16:44:01,150 Watching Pod: abcdef, replicas 2, status running\n"
    )
    (cause,) = without_environment({"console.log": launcher + 2 * RETRY}).causes
    assert (cause.signature, cause.category) == ("comm.tcpstore-retry", "comm.init")
    assert not without_environment({"console.log": 2 * RETRY + launcher}).causes


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("", "epoch 1 of 100"),
        ("eval model::  89% 178/200 [27:24<00:15,  1.42it/s]\n", "178 of 200"),
    ],
)
def test_where_a_log_stops_its_last_line_may_tell_how_much_is_missing(last: str, told: str) -> None:
    steps = "".join(
        f"[2021/07/12 07:5{n}:21] root INFO: epoch: [1/100], iter: {n}0, lr: 0.001, loss: 1.5\n"
        for n in range(1, 4)
    )
    found = without_environment({"log/workerlog.0": steps + last})
    assert not found.causes
    assert told in found.notes[0].en


@pytest.mark.parametrize(
    "last",
    [
        "[2021/07/12 07:59:21] root INFO: epoch: [100/100], iter: 90, lr: 0.001, loss: 1.5\n",
        "eval model:: 100% 200/200 [27:24<00:00,  1.42it/s]\n",
    ],
)
def test_nothing_is_missing_in_the_last_epoch_or_behind_a_full_bar(last: str) -> None:
    steps = "[2021/07/12 07:51:21] root INFO: epoch: [99/100], iter: 80, lr: 0.001, loss: 1.5\n"
    assert not without_environment({"log/workerlog.0": 2 * steps + last}).causes


def test_a_wordless_abort_below_the_complaint_of_another_rank_only_follows() -> None:
    console = (
        "[1,1]<stdout>:PaddleCheckError: internal error in RPCClient at [/paddle/x.cc:129]\n"
        "[1,9]<stdout>:*** SIGABRT (@0x5578) received by PID 21880 (TID 0x7f0c31ffb700) from PID "
        "21880; stack trace: ***\n"
    )
    (cause,) = without_environment({"console.log": console}).causes
    assert (cause.signature, cause.rank) == ("ps.rpc-internal", None)
    above = "".join(reversed(console.splitlines(keepends=True)))
    (cause,) = without_environment({"console.log": above}).causes
    assert (cause.signature, cause.rank) == ("crash.sigabrt", 9)


def test_a_hint_at_something_earlier_yields_to_the_lost_peer_above_it() -> None:
    lost = (
        "F0821 08:28:45.851277  2464 grpc_client.cc:414] GetRPC name:[w], ep:[10.0.0.9:30010], "
        "status:[-1] meets grpc error, error_code:4 error_message:Deadline Exceeded\n"
    )
    pipe = (
        "Traceback (most recent call last):\n"
        '  File "/opt/py/site-packages/paddle/fluid/incubate/data_generator/__init__.py", '
        "line 135, in run_from_stdin\n    sys.stdout.write(self._gen_str(sample))\n"
        "IOError: [Errno 32] Broken pipe\n"
    )
    (cause,) = without_environment({"log/workerlog.0": lost + pipe}).causes
    assert cause.signature == "ps.grpc"
    (cause,) = without_environment({"log/workerlog.0": pipe}).causes
    assert (cause.signature, cause.confidence) == ("data.generator-pipe", "guess")


def test_the_loopback_is_that_of_the_only_other_rank_here() -> None:
    """No file says on which host the ranks ran."""
    reset = (
        "  what():  [/paddle/gloo/transport/tcp/pair.cc:576] Read error [127.0.0.1]:58000: "
        "Connection reset by peer\n"
    )
    found = without_environment({"log/workerlog.0": STEPS, "log/workerlog.1": STEPS + reset})
    (cause,) = found.causes
    assert (cause.rank, cause.category) == (0, "unknown")
