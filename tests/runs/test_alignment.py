"""Given folders of different jobs, when read together, then every job is a run of its own."""

from __future__ import annotations

from pdtriage.model import RunFacts
from pdtriage.record.schema import ProcessRecord, RunRecord
from pdtriage.verdict import judge
from pdtriage.verdict.attempt_comparison import attempts_of, row_of

from ..scan.builders import engine
from .builders import environment, runs_of

ERROR = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'


def record(
    launch: str,
    started: float,
    *,
    ranks: tuple[int, ...] = (0, 1),
    nnodes: int = 1,
    attempt: int = 0,
    port: int = 1,
    ended: float | None = None,
    reason: str | None = "failed",
) -> RunRecord:
    world = len(ranks) * nnodes
    processes = tuple(
        ProcessRecord(
            "worker", rank, local, None, None, 70 + rank, f"workerlog.{local}", 0, started, started
        )
        for local, rank in enumerate(ranks)
    )
    return RunRecord(
        f"run-{attempt + 1}.jsonl",
        attempt + 1,
        launch,
        attempt=attempt,
        started=started,
        node_rank=ranks[0] // len(ranks),
        nnodes=nnodes,
        world_size=world,
        endpoints=tuple(f"10.0.0.1:{port + n}" for n in range(world)),
        processes=processes,
        ended=started + 5.0 if ended is None else ended,
        reason=reason,
    )


def logs(folder: str, *texts: str) -> dict[str, str]:
    return {f"{folder}/workerlog.{rank}": text for rank, text in enumerate(texts)}


def folders(run: RunFacts) -> set[str]:
    return {file.rpartition("/")[0] for rank in run.ranks for file in rank.files}


def test_two_jobs_of_one_node_each_are_two_runs_the_newest_last() -> None:
    runs = runs_of(
        {**logs("b", ERROR, "hello\n"), **logs("a", "hello\n", ERROR)},
        [("b", record("L1", 100.0)), ("a", record("L2", 200.0, port=7))],
    )
    assert [folders(run) for run in runs] == [{"b"}, {"a"}]
    assert [(run.world_size, len(run.ranks), len(run.nodes)) for run in runs] == [(2, 2, 1)] * 2
    assert [run.run.launch for run in runs] == [1, 2]
    for run in runs:
        assert any("b, a" in note.en and "b, a" in note.zh for note in run.notes)


def test_attempts_of_different_jobs_are_not_compared() -> None:
    runs = runs_of(
        {**logs("a", ERROR, "hello\n"), **logs("b", ERROR, "hello\n")},
        [("a", record("L1", 100.0)), ("b", record("L2", 200.0))],
    )
    rows = [row_of(run, judge(run, engine().knowledge), newest=False) for run in runs]
    assert rows[0].cause
    assert rows[1].cause
    assert rows[0].cause.fingerprint == rows[1].cause.fingerprint
    assert attempts_of(rows, rows[1]) is None


def test_paddles_side_files_tell_jobs_apart_too() -> None:
    files = {**logs("a", ERROR, "hello\n"), **logs("b", "hello\n", "hello\n")}
    for folder, first in (("a", 1), ("b", 7)):
        listed = f"10.0.0.1:{first},10.0.0.1:{first + 1}"
        for rank in (0, 1):
            files[f"{folder}/envlog.{rank}"] = environment(rank, 2, f"pod{folder}", listed)
    assert sorted(sorted(folders(run)) for run in runs_of(files)) == [["a"], ["b"]]


def test_nodes_of_one_job_stay_together() -> None:
    files = {**logs("n0", ERROR), **logs("n1", "hello\n")}
    records = [
        ("n0", record("L1", 100.0, ranks=(0,), nnodes=2)),
        ("n1", record("L2", 101.0, ranks=(1,), nnodes=2)),
    ]
    (run,) = runs_of(files, records)
    assert (len(run.ranks), len(run.nodes), run.notes) == (2, 2, ())


def test_a_node_that_goes_on_alone_is_the_next_attempt_of_the_same_launch() -> None:
    files = {**logs("n0", "hello\n"), **logs("n1", "hello\n")}
    records = [
        ("n0", record("L1", 101.0, ranks=(0,), nnodes=2)),
        ("n1", record("L2", 100.0, ranks=(1,), nnodes=2)),
        ("n1", record("L2", 200.0, ranks=(0,), attempt=1, port=9)),
    ]
    runs = runs_of(files, records)
    assert [len(run.nodes) for run in runs] == [2, 1]
    assert [(run.run.launch, run.run.attempt) for run in runs] == [(1, 0), (1, 1)]
    assert all("different jobs" not in note.en for run in runs for note in run.notes)


def test_folders_that_nothing_is_known_of_are_read_as_one_job() -> None:
    (run,) = runs_of({**logs("a", ERROR), **logs("b", "hello\n")})
    assert folders(run) == {"a", "b"}


def test_two_jobs_over_the_same_two_nodes_each() -> None:
    files, records = {}, []
    for launch, (job, started) in enumerate((("x", 100.0), ("y", 200.0))):
        for node in (0, 1):
            folder = f"{job}{node}"
            files.update(logs(folder, "hello\n"))
            told = record(f"{job}{node}", started, ranks=(node,), nnodes=2, port=10 * launch + 1)
            records.append((folder, told))
    assert [folders(run) for run in runs_of(files, records)] == [{"x0", "x1"}, {"y0", "y1"}]


def test_a_console_beside_two_jobs_goes_to_the_one_whose_time_it_tells() -> None:
    files = {**logs("a/log", "hello\n"), **logs("b/log", "hello\n")}
    files["console.log"] = (
        "LAUNCH INFO 2023-01-02 03:01:05,006 Run Pod: abcdef, replicas 1, status ready\n"
    )
    first = 1672628465.0
    records = [
        ("a/log", record("L1", first - 5, ranks=(0,), ended=first + 5)),
        ("b/log", record("L2", first + 9000, ranks=(0,), ended=first + 9100)),
    ]
    runs = runs_of(files, records)
    assert [bool(run.launcher) for run in runs] == [True, False]


def test_the_record_tells_when_a_run_had_ended() -> None:
    files = {**logs("n0", "hello\n"), **logs("n1", "hello\n")}
    records = [
        ("n0", record("L1", 100.0, ranks=(0,), nnodes=2, ended=150.0)),
        ("n1", record("L2", 101.0, ranks=(1,), nnodes=2, ended=160.0)),
    ]
    (run,) = runs_of(files, records)
    assert (run.run.started, run.run.ended) == (100.0, 160.0)


def test_a_record_that_lies_beside_its_logs_is_of_the_same_run() -> None:
    """As in a bundle, where logs and records have folders of their own."""
    listed = "10.0.0.1:1,10.0.0.1:2"
    files = logs("logs/a", ERROR, "hello\n")
    for rank in (0, 1):
        files[f"logs/a/envlog.{rank}"] = environment(rank, 2, "pod", listed)
    records = [("records/a", record("L1", 100.0))]
    (run,) = runs_of(files, records)
    assert (folders(run), run.run.ended, run.notes) == ({"logs/a"}, 105.0, ())

    files.update(logs("b", "hello\n", "hello\n"))
    records.append(("b", record("L2", 200.0, port=7)))
    first, second = runs_of(files, records)
    assert (folders(first), first.run.ended) == ({"logs/a"}, 105.0)
    assert (folders(second), second.run.ended) == ({"b"}, 205.0)
