"""Given files that several launches appended to, when assembled, then every run stands alone."""

from __future__ import annotations

from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord

from .builders import environment, runs_of

START = (
    "/opt/paddle/x.py:7: UserWarning: No ccache found\n  warnings.warn(message)\n=== FLAGS ===\n"
)
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\nepoch 0 step 2 loss 1.3\n"
ERROR = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'
ONE_HOST = "10.0.0.1:1,10.0.0.1:2"


def errors(index: int, runs: list[object]) -> int:
    run = runs[index]
    return sum(e.role == "cause" for r in run.ranks for _, e in r.events)  # type: ignore[attr-defined]


def test_a_file_that_begins_anew_holds_two_runs() -> None:
    runs = runs_of({"log/workerlog.0": START + STEPS + START + STEPS + ERROR})
    assert len(runs) == 2
    assert (errors(0, runs), errors(1, runs)) == (0, 1)


def test_the_environment_tells_how_many_launches_there_were() -> None:
    once = environment(0, 2, "aaa", ONE_HOST) + environment(0, 2, "bbb", "10.0.0.1:7,10.0.0.1:8")
    runs = runs_of({"log/workerlog.0": STEPS + ERROR + STEPS, "log/envlog.0": once})
    assert len(runs) == 2
    assert (errors(0, runs), errors(1, runs)) == (1, 0)
    assert [run.run.launch for run in runs] == [1, 2]


def test_a_restart_is_a_further_attempt_of_the_same_launch() -> None:
    block = environment(0, 1, "aaa", "10.0.0.1:1")
    runs = runs_of({"log/workerlog.0": START + ERROR + START + STEPS, "log/envlog.0": block * 2})
    assert [(run.run.launch, run.run.attempt) for run in runs] == [(1, 0), (1, 1)]


def test_a_later_run_with_fewer_ranks_leaves_the_others_stale() -> None:
    first = {n: environment(n, 2, "aaa", ONE_HOST) for n in (0, 1)}
    runs = runs_of(
        {
            "log/workerlog.0": START + STEPS + START + STEPS,
            "log/workerlog.1": START + STEPS + ERROR,
            "log/envlog.0": first[0] + environment(0, 1, "bbb", "10.0.0.1:9"),
            "log/envlog.1": first[1],
        }
    )
    assert [sorted(f for r in run.ranks for f in r.files) for run in runs] == [
        ["log/workerlog.0", "log/workerlog.1"],
        ["log/workerlog.0"],
    ]
    assert errors(1, runs) == 0


def test_a_log_that_repeats_itself_is_one_run() -> None:
    waiting = "server not ready, wait 3 sec to retry...\nnot ready endpoints:['10.0.0.2:6070']\n"
    assert len(runs_of({"log/workerlog.0": waiting * 12})) == 1


def test_validation_counters_do_not_split_a_run() -> None:
    validation = "".join(f"epoch {e} step {s} loss 1.0\n" for e in range(3) for s in range(4))
    assert len(runs_of({"log/workerlog.0": START + validation})) == 1


def test_our_own_record_cuts_to_the_byte() -> None:
    old, new = STEPS + ERROR, STEPS
    process = ProcessRecord(
        role="worker", rank=0, local_rank=0, device="gpu:3", endpoint="10.0.0.1:1", pid=7,
        log="workerlog.0", offset=len(old), started=1.0, monotonic=1.0,
    )  # fmt: skip
    death = DeathRecord(
        order=0, role="worker", rank=0, local_rank=0, pid=7, time=2.0, monotonic=2.0,
        code=0, signal=None, core=False, stopped=False,
    )  # fmt: skip
    record = RunRecord("run-1.jsonl", 1, "L", started=1.0, processes=(process,), deaths=(death,))
    runs = runs_of({"log/workerlog.0": old + new}, [("log", record)])
    assert (errors(0, runs), errors(1, runs)) == (1, 0)
    (rank,) = runs[1].ranks
    assert (rank.device, rank.exit and rank.exit.code) == ("gpu:3", 0)


def test_a_node_that_finished_does_not_hide_that_another_failed() -> None:
    ends = ("completed", "failed")
    files, records = {}, []
    for node, reason in enumerate(ends):
        folder = f"node{node}"
        process = ProcessRecord("worker", node, 0, None, None, 7, "workerlog.0", 0, 1.0, 1.0)
        files[f"{folder}/workerlog.0"] = "hello\n"
        endpoints = ("10.0.0.1:1", "10.0.0.2:1")
        record = RunRecord(
            "run-1.jsonl", 1, "L", node_rank=node, nnodes=2, endpoints=endpoints,
            processes=(process,), ended=2.0, reason=reason,
        )  # fmt: skip
        records.append((folder, record))
    (run,) = runs_of(files, records)
    assert run.ended_by_record == "failed"


def test_another_attempt_that_could_not_be_started_is_no_run() -> None:
    process = ProcessRecord("worker", 0, 0, None, None, 7, "workerlog.0", 0, 1.0, 1.0)
    made = RunRecord("run-1.jsonl", 1, "L", processes=(process,), ended=2.0, reason="failed")
    refused = RunRecord("run-2.jsonl", 2, "L", attempt=1, ended=3.0, reason="refused")
    runs = runs_of({"log/workerlog.0": "hello\n"}, [("log", made), ("log", refused)])
    assert [run.ended_by_record for run in runs] == ["failed"]


def test_a_console_of_two_launches() -> None:
    launch = (
        "LAUNCH INFO 2023-01-02 03:0{0}:05,006 -----------  Configuration  -----------------\n"
        "LAUNCH INFO 2023-01-02 03:0{0}:05,106 Run Pod: {1}, replicas 1, status ready\n"
        "LAUNCH INFO 2023-01-02 03:0{0}:15,006 Exit code {2}\n"
    )
    console = launch.format(1, "aaaaaa", 1) + launch.format(4, "bbbbbb", 0)
    runs = runs_of({"console.log": console})
    codes = [
        e.fields["exit_code"] for run in runs for _, e in run.launcher if "exit_code" in e.fields
    ]
    assert codes == ["1", "0"]
    assert len(runs) == 2


def test_a_legacy_run_with_fewer_ranks_leaves_the_others_to_the_older_run() -> None:
    runs = runs_of(
        {
            "log/workerlog.0": STEPS,
            "log/workerlog.1": STEPS + ERROR,
            "log/endpoints.log": "PADDLE_TRAINER_ENDPOINTS: \n10.9.9.9:1",
        }
    )
    assert [sorted(f for r in run.ranks for f in r.files) for run in runs] == [
        ["log/workerlog.1"],
        ["log/workerlog.0"],
    ]
