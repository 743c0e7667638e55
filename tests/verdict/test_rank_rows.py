"""Given a rank's log and what its parent saw, then all that happened is in its lane."""

from __future__ import annotations

import pytest

from pdtriage.model import RankRow
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.verdict import judge
from pdtriage.verdict.rank_rows import MOST_SAMPLES, rank_rows

from ..runs.builders import runs_of
from ..scan.builders import engine

TRACEBACK = (
    'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'
)


def lived(log: str, record: RunRecord | None = None) -> RankRow:
    records = [] if record is None else [("log", record)]
    (run,) = runs_of({"log/workerlog.0": log}, records)
    judgement = judge(run, engine().knowledge)
    (row,) = rank_rows(judgement)
    return row


def steps(count: int, first: int = 0) -> str:
    return "".join(f"epoch 0 step {n:03} loss 1.{n:03}\n" for n in range(first, first + count))


def recorded(size: int, seconds: float) -> RunRecord:
    process = ProcessRecord("worker", 0, 0, None, None, 7, "workerlog.0", 0, 1000.0, 0.0, size)
    death = DeathRecord(0, "worker", 0, 0, 7, 1000.0 + seconds, 9.0, 1, None, False, False)
    return RunRecord(
        "log/pdtriage/run-0001.jsonl",
        1,
        started=1000.0,
        processes=(process,),
        deaths=(death,),
        ended=1000.0 + seconds,
        reason="failed",
    )


def test_start_steps_error_and_exit_by_the_word_of_the_parent() -> None:
    log = steps(20) + TRACEBACK
    row = lived(log, recorded(len(log), 100.0))
    assert [(m.kind, m.text.en) for m in row.moments] == [
        ("start", "started"),
        ("error", "KeyError: 1"),
        ("exit", "exited with code 1"),
    ]
    start, error, end = row.moments
    assert (start.t, end.t) == (1000.0, 1100.0)
    assert error.about
    assert error.t is not None
    assert start.t is not None
    assert start.t < error.t <= 1100.0
    assert 10 < len(row.progress) <= MOST_SAMPLES
    times = [time for time, _ in row.progress]
    assert times == sorted(times)
    assert (row.progress[0][1], row.progress[-1][1]) == (0, 19)
    halfway = next(time for time, step in row.progress if step >= 10)
    assert 1040 < halfway < 1060, "steps without a time lie between start and end by their place"


def test_an_estimated_error_does_not_stand_behind_what_it_caused() -> None:
    log = steps(20) + TRACEBACK
    one = recorded(len(log), 100.0)
    culprit = one.processes[0]._replace(rank=1, local_rank=1, pid=8, log="workerlog.1")
    stopped = DeathRecord(1, "worker", 1, 1, 8, 1200.0, 9.0, None, 15, False, True)
    record = one._replace(
        processes=(*one.processes, culprit), deaths=(*one.deaths, stopped), ended=1200.0
    )
    logs = {"log/workerlog.0": steps(20), "log/workerlog.1": log}
    (run,) = runs_of(logs, [("log", record)])
    judgement = judge(run, engine().knowledge)
    rows = rank_rows(judgement)
    (error,) = (m for m in rows[1].moments if m.kind == "error")
    assert error.about
    assert error.t is not None
    assert 1000.0 < error.t <= 1100.0


def test_what_was_survived_is_a_warning() -> None:
    row = lived(steps(3) + TRACEBACK + steps(3, 3))
    assert [m.kind for m in row.moments] == ["warning"]


def test_a_time_of_its_own_is_no_estimate() -> None:
    log = steps(2) + "[2026-11-16 03:30:27,957] [ERROR] x\n" + steps(2, 2) + TRACEBACK
    row = lived(log)
    assert all(not moment.about for moment in row.moments if moment.kind == "start")


def test_without_any_time_nothing_is_made_up() -> None:
    row = lived(steps(5) + TRACEBACK)
    assert row.progress == ()
    assert [moment.t for moment in row.moments] == [None]


def test_of_a_huge_job_the_failed_and_enough_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdtriage.verdict.rank_rows.MOST_LANES", 2)
    files = {f"log/workerlog.{n}": "ok\n" for n in range(4)} | {"log/workerlog.3": TRACEBACK}
    (run,) = runs_of(files, [])
    judgement = judge(run, engine().knowledge)
    rows = rank_rows(judgement)
    assert [row.status for row in rows if row.moments] == ["failed"]
    assert len(rows) == 4
