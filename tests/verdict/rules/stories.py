"""Jobs in which two rules of the verdict name different suspects, and one of them has to yield."""

from __future__ import annotations

from collections.abc import Callable

from pdtriage.model import LiveCause, LiveReport, RunFacts
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord

from ...hang.test_stack_groups import in_collective, in_own_code, taken
from ...runs.builders import runs_of
from ..builders import (
    DISK,
    ERROR,
    STACK,
    STEPS,
    XID,
    death,
    glog,
    last_run,
    logs,
    lost,
    process,
    raised_at,
    recorded,
    stopped,
    summary,
    waited,
)

PID = 24411
OUT_OF_MEMORY = f"[71.1] Out of memory: Killed process {PID} (python) total-vm:9kB, anon-rss:8kB\n"
TELLS_PID = f"W0714 13:44:01.101112 {PID} gpu_context.cc:278] Please NOTE: device: 1\n"
READER = "Exception in thread Thread-1:\n" + ERROR.replace(
    "KeyError: 1", "OSError: [Errno 5] Input/output error"
)
NCCL = "OSError: (External) NCCL error(2), unhandled system error. \n"
LOADER = (
    'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\n'
    "SystemError: (Fatal) DataLoader process (pid 81) exited unexpectedly with code 1. "
    "Error detailed are lost due to multiprocessing. Rerunning with:\n"
)
IN_ALLREDUCE = (
    "\n--------------------------------------\nC++ Traceback (most recent call last):\n"
    "--------------------------------------\n"
    "0   paddle::distributed::ProcessGroupGloo::AllReduce(phi::DenseTensor*)\n"
)
SIGNAL = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 15\n"
WAITING = "LAUNCH INFO 2023-01-02 03:04:05,006 Waiting peer start...\n"
RUNNING = "LAUNCH INFO 2023-01-02 03:04:05,006 Watching Pod: abcdef, replicas 2, status running\n"
POD_FAILED = "LAUNCH INFO 2023-01-02 03:04:05,006 Pod failed\n"
ABORT = (
    "ERROR 2021-08-24 17:31:12,119 launch_utils.py:582] ABORT!!! Out of all 2 trainers, "
    "the trainer process with rank=[1] was aborted. Please check its log.\n"
)
ENDED_WELL = """\
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
NODES = ("10.0.0.1:1", "10.0.0.2:1")

Story = Callable[[], RunFacts]
STORIES: dict[tuple[str, str], Story] = {}
"""By the rule that yields and the one it yields to."""


def yields(rule: str, to: str) -> Callable[[Story], Story]:
    def tell(story: Story) -> Story:
        STORIES[rule, to] = story
        return story

    return tell


def pods(*texts: str, states: tuple[str, ...]) -> dict[str, str]:
    """One rank to a pod, and what `kubectl get pods` says of them."""
    rows = [f"train-worker-{n}   0/1   {state}   0   62m" for n, state in enumerate(states)]
    table = "\n".join(["NAME   READY   STATUS   RESTARTS   AGE", *rows, ""])
    return {"pods.txt": table} | {
        f"train-worker-{n}/workerlog.0": text for n, text in enumerate(texts)
    }


def launched_with(ips: str) -> str:
    return f"python -m paddle.distributed.launch --ips={ips} --gpus=0 train.py\n"


def job_of(nodes: int) -> str:
    return (
        f"LAUNCH INFO 2026-11-16 21:52:02,851 Job: default, mode collective, "
        f"replicas {nodes}[{nodes}:{nodes}], elastic False\n"
    )


def printed(headline: str, symbol: str) -> str:
    """The first and the last line of a report of `pdtriage run`."""
    return f"{headline}\nMore: pdtriage explain {symbol}\n"


def node(number: int, pid: int, death: DeathRecord | None, reason: str) -> RunRecord:
    """What the launcher of one of two nodes recorded, each with one process."""
    process = ProcessRecord(
        "worker", number, 0, None, None, 70 + number, "workerlog.0", 0, 1.0, 1.0
    )
    return RunRecord(
        "run-1.jsonl", 1, str(number), pid=pid, node_rank=number, nnodes=2, world_size=2,
        address=NODES[number].partition(":")[0], endpoints=NODES, processes=(process,),
        deaths=(death,) if death else (), ended=2.0, reason=reason,
    )  # fmt: skip


@yields("interrupted-first", to="hosts-order")
def somebody_stops_nodes_that_were_given_their_hosts_in_different_order() -> RunFacts:
    return last_run(
        {
            "a/console.log": launched_with("10.0.0.1,10.0.0.2") + SIGNAL,
            "b/console.log": launched_with("10.0.0.2,10.0.0.1"),
            "a/log/workerlog.0": STEPS,
        }
    )


@yields("own-cause", to="interrupted-first")
def a_rank_cannot_save_any_more_in_the_seconds_after_a_stop() -> RunFacts:
    late = DISK.replace("Traceback", "[2023-01-02 03:04:06,006] saving\nTraceback", 1)
    return last_run({**logs(STEPS + late, STEPS), "console.log": SIGNAL})


@yields("own-cause", to="watched")
def of_two_that_complained_the_log_of_the_first_is_lost() -> RunFacts:
    told = LiveCause("data.file-missing", "data.io", "proven", "worker", (1,))
    live = LiveReport(1.0, (told,), frozenset({("worker", 0), ("worker", 1)}))
    record = recorded(death(0, 1, 1, None), death(1, 0, 1, None))
    return last_run({"log/workerlog.0": STEPS + DISK}, record._replace(live=live))


@yields("kernel-kill", to="own-cause")
def one_is_killed_for_memory_and_the_disk_of_another_is_full() -> RunFacts:
    return last_run({**logs(STEPS + DISK, TELLS_PID + STEPS), "dmesg.txt": OUT_OF_MEMORY})


@yields("pod-end", to="kernel-kill")
def the_kernels_log_of_a_machine_lies_beside_the_states_of_its_pods() -> RunFacts:
    files = pods(STEPS, TELLS_PID + STEPS, states=("Error", "OOMKilled"))
    return last_run({**files, "dmesg.txt": OUT_OF_MEMORY})


@yields("survived-error", to="pod-end")
def a_pod_is_killed_while_another_ones_reader_has_died() -> RunFacts:
    return last_run(pods(READER + STEPS, STEPS, states=("Error", "OOMKilled")))


@yields("launcher-cause", to="survived-error")
def srun_sees_the_exit_code_of_a_task_whose_reader_has_died() -> RunFacts:
    console = "srun: error: gpu12: task 1: Exited with exit code 1\n"
    return last_run({**logs(STEPS, READER + STEPS), "console.log": console})


@yields("first-death", to="launcher-cause")
def our_record_sees_a_kill_and_slurm_knows_that_it_was_for_memory() -> RunFacts:
    files = {f"log/workerlog.{rank}": STEPS for rank in range(2)}
    files["console.log"] = "srun: error: gpu12: task 1: Out Of Memory\n"
    return last_run(files, recorded(death(0, 1, None, 9)))


@yields("own-report", to="first-death")
def one_nodes_record_and_what_the_other_one_printed() -> RunFacts:
    gone = DeathRecord(0, "worker", 0, 0, 70, 2.0, 2.0, 3, None, False, False)
    files = {
        "n0/workerlog.0": STEPS,
        "n1/console.log": printed("FAILED: rank 1 of 2, host 10.0.0.2", "python.exception"),
    }
    return last_run(files, node(0, 5, gone, "failed"), folder="n0")


@yields("outsider", to="own-report")
def a_printed_report_names_the_rank_whose_log_is_not_here() -> RunFacts:
    console = printed("FAILED: rank 3 of 4, host 10.0.0.2", "python.exception")
    by_hand = STEPS + stopped(72, 99)
    files = logs(STEPS + stopped(70, 60), STEPS + stopped(71, 60), by_hand)
    return last_run({**files, "console.log": console})


@yields("never-met", to="outsider")
def a_console_of_an_earlier_try_with_more_nodes_lies_beside_the_logs() -> RunFacts:
    texts = (stopped(70, 60), stopped(71, 60), stopped(72, 99))
    files = {f"a/log/workerlog.{rank}": STEPS + text for rank, text in enumerate(texts)}
    return last_run({**files, "a/console.log": job_of(2), "b/console.log": job_of(3)})


@yields("interruption", to="never-met")
def mpirun_ends_one_of_two_launchers_that_wait_for_different_numbers_of_nodes() -> RunFacts:
    killed = "noticed that process rank 0 with PID 7 on node n1 exited on signal 15 (Terminated).\n"
    return last_run({"a/console.log": job_of(2) + "mpirun " + killed, "b/console.log": job_of(3)})


@yields("launcher-gone", to="interruption")
def slurm_kills_the_launcher_and_says_so() -> RunFacts:
    console = "slurmstepd: error: *** JOB 99 ON n1 CANCELLED AT 2024-01-02T03:04:05 ***\n"
    files = {"log/workerlog.0": STEPS, "console.log": console}
    killed = recorded()._replace(ended=1.5, reason="launcher-killed", guardian_pid=61)
    return last_run(files, killed)


@yields("stopped-with-peers", to="launcher-gone")
def the_guardian_of_a_killed_launcher_stops_a_rank_that_the_other_node_misses() -> RunFacts:
    left = DeathRecord(0, "worker", 1, 0, 71, 2.0, 2.0, None, 15, False, True)
    records = [
        ("n0", node(0, 6, None, "launcher-killed")._replace(guardian_pid=7)),
        ("n1", node(1, 5, left, "interrupted")),
    ]
    files = {"n0/workerlog.0": STEPS + stopped(70, 7), "n1/workerlog.0": STEPS + lost(1, 0)}
    return runs_of(files, records)[-1]


@yields("lost-peer", to="stopped-with-peers")
def a_launcher_stops_one_rank_and_the_next_one_breaks_before_its_turn() -> RunFacts:
    return last_run(logs(STEPS + stopped(70, 60), STEPS + lost(1, 0)))


@yields("stood-still", to="launcher-gone")
def a_node_vanishes_from_a_job_that_its_other_node_sees_stand_still() -> RunFacts:
    still = taken(in_collective(0), in_own_code(1), still=70.0, limit=60.0)
    left = DeathRecord(0, "worker", 0, 0, 70, 2.0, 2.0, None, 15, False, True)
    records = [
        ("n0", node(0, 5, left, "failed")._replace(standstill=still)),
        ("n1", node(1, 6, None, "launcher-killed")._replace(guardian_pid=7)),
    ]
    return runs_of({"n0/workerlog.0": STEPS, "n1/workerlog.0": STEPS}, records)[-1]


@yields("lost-peer", to="stood-still")
def one_gives_up_waiting_without_a_word_and_another_one_misses_it() -> RunFacts:
    still = taken(in_collective(0), in_collective(1), in_own_code(2), still=70.0, limit=60.0)
    record = recorded()._replace(
        world_size=3, processes=tuple(map(process, range(3))), standstill=still
    )
    files = {f"log/workerlog.{rank}": STEPS for rank in range(3)}
    files["log/workerlog.0"] += raised_at(7, lost(0, 1))
    return last_run(files, record)


@yields("pod-exit", to="lost-peer")
def a_pod_ends_badly_that_nobody_misses() -> RunFacts:
    return last_run(pods(STEPS + lost(0, 1), STEPS, STEPS, states=("Error", "Running", "Error")))


@yields("consequence", to="pod-exit")
def a_pod_ends_without_a_word_and_another_ones_network_fails() -> RunFacts:
    return last_run(pods(STEPS + NCCL, STEPS, states=("Error", "Error")))


@yields("hint", to="consequence")
def one_ranks_network_fails_and_another_ones_helper_is_gone() -> RunFacts:
    return last_run(logs(STEPS + NCCL, STEPS + LOADER))


@yields("bare-exception", to="hint")
def a_helper_is_gone_and_another_log_was_cut_down_to_its_last_line() -> RunFacts:
    return last_run(logs(STEPS + LOADER, STEPS + "ValueError: no anchor fits\n"))


@yields("named-by-console", to="bare-exception")
def the_rank_the_launcher_names_left_its_last_line() -> RunFacts:
    return last_run({**logs(STEPS, STEPS + "ValueError: no anchor fits\n"), "console.log": ABORT})


@yields("elsewhere", to="named-by-console")
def the_rank_the_launcher_names_was_behind_the_others() -> RunFacts:
    ahead = STEPS + "epoch 0 step 2 loss 1.3\n" + IN_ALLREDUCE + summary(70, 60)
    return last_run({**logs(ahead, STEPS), "console.log": ABORT})


@yields("kernel-fault", to="elsewhere")
def two_wait_in_different_places_and_some_card_has_failed() -> RunFacts:
    files = logs(raised_at(7, waited("-1")), raised_at(9, waited("-1")))
    return last_run({**files, "dmesg.txt": XID})


@yields("unnamed-peer", to="kernel-fault")
def a_peer_is_lost_and_a_card_has_failed() -> RunFacts:
    return last_run({"log/workerlog.0": STEPS + waited("-1"), "dmesg.txt": XID})


@yields("stuck", to="kernel-fault")
def nothing_moves_on_a_machine_whose_card_has_failed() -> RunFacts:
    return last_run({"log/workerlog.0": glog(70) + STACK, "dmesg.txt": XID})


@yields("all-stopped", to="unnamed-peer")
def ranks_miss_somebody_before_they_are_stopped() -> RunFacts:
    return last_run(logs(*(STEPS + waited("-1") + summary(pid, 60) for pid in (70, 71))))


@yields("not-stopped", to="all-stopped")
def every_rank_is_stopped_by_the_launcher() -> RunFacts:
    return last_run(logs(STEPS + stopped(70, 60), STEPS + stopped(71, 60)))


@yields("failed-somehow", to="not-stopped")
def the_job_failed_and_one_rank_was_not_stopped_with_the_other() -> RunFacts:
    return last_run({**logs(STEPS + stopped(70, 60), STEPS), "console.log": POD_FAILED})


@yields("failed-somehow", to="stuck")
def the_job_failed_after_somebody_saw_it_stand() -> RunFacts:
    return last_run({**logs(STEPS + STACK), "console.log": POD_FAILED})


@yields("server-lost-unseen", to="trainer-failed-unseen")
def one_trainer_loses_its_server_and_the_disk_of_another_is_full() -> RunFacts:
    closed = ERROR.replace(
        "KeyError: 1", "ConnectionError: server 10.0.0.1:7001 closed the connection"
    )
    return last_run(
        {
            "console.log": ENDED_WELL,
            "log/serverlog.0": "ready\n",
            "log/serverlog.1": "ready\n",
            "log/workerlog.0": STEPS + closed,
            "log/workerlog.1": STEPS + DISK,
        }
    )
