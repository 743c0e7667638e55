"""Given a launcher that was killed, when its record is read, then the run was interrupted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.verdict import Judgement, judge

from ...runs.builders import runs_of
from ...scan.builders import engine
from ..builders import judged_files, summary

STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"
ERROR = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'
HERE = socket.gethostname()
ENDPOINTS = ("10.0.0.1:1", "10.0.0.2:1")


def gone_pid() -> int:
    """Of a process that has just ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(timeout=60)
    return child.pid


def process(rank: int, log: str = "workerlog.0") -> ProcessRecord:
    return ProcessRecord("worker", rank, 0, None, None, 70 + rank, log, 0, 1.0, 1.0)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """Where the launcher wrote its record, 100 bytes of it."""
    (tmp_path / "pdtriage").mkdir()
    (tmp_path / "pdtriage" / "run-1.jsonl").write_text("x" * 100)
    return tmp_path


def broken_off(
    pid: int, log_dir: Path | None = None, *, host: str = HERE, number: int = 1
) -> RunRecord:
    return RunRecord(
        f"run-{number}.jsonl", number, f"L{number}", started=1.0, pid=pid, host=host, world_size=1,
        processes=(process(0),), log_dir=str(log_dir or ""), size=100,
    )  # fmt: skip


def judged(text: str, *records: RunRecord) -> list[Judgement]:
    runs = runs_of({"log/workerlog.0": text}, [("log", record) for record in records])
    return [judge(run, engine().knowledge) for run in runs]


def test_a_record_that_breaks_off_and_whose_launcher_is_gone(log_dir: Path) -> None:
    pid = gone_pid()
    (found,) = judged(STEPS, broken_off(pid, log_dir))
    (cause,) = found.causes
    assert found.verdict == "interrupted"
    assert (cause.signature, cause.category, cause.role) == (
        "verdict.launcher-gone",
        "external.kill",
        "launcher",
    )
    assert [why.en for why in cause.why] == [
        f"the launcher (pid {pid}) vanished without ending the run"
    ]
    assert f"pid {pid}" in cause.why[0].zh
    assert cause.evidence[0].text == "epoch 0 step 1 loss 1.4"


def test_a_run_that_goes_on_is_not_gone() -> None:
    (found,) = judged(STEPS, broken_off(os.getpid()))
    assert (found.verdict, found.causes) == ("running", ())


def test_a_copy_of_a_run_that_went_on_tells_nothing_of_its_end(log_dir: Path) -> None:
    copied = broken_off(gone_pid(), log_dir)._replace(size=60)
    (found,) = judged(STEPS, copied)
    assert (found.verdict, found.causes) == ("unknown", ())
    (found,) = judged(STEPS, copied._replace(log_dir=str(log_dir / "moved")))
    assert (found.verdict, found.causes) == ("unknown", ())


def test_a_process_that_only_has_its_pid_is_not_its_launcher() -> None:
    """Of another host, or younger than the record: the pid was given again."""
    now = time.time()
    assert broken_off(os.getpid())._replace(started=now).is_live()
    assert not broken_off(os.getpid())._replace(started=now - 3 * 86400).is_live()
    assert not broken_off(os.getpid(), host="elsewhere")._replace(started=now).is_live()
    (found,) = judged(STEPS, broken_off(os.getpid(), host="elsewhere"))
    assert (found.verdict, found.causes) == ("unknown", ())


def test_of_another_host_nobody_knows_whether_it_goes_on() -> None:
    (found,) = judged(STEPS, broken_off(gone_pid(), host="elsewhere"))
    assert (found.verdict, found.causes) == ("unknown", ())


def test_a_later_launch_in_the_same_folder_tells_that_it_does_not() -> None:
    first = broken_off(gone_pid(), host="elsewhere")
    later = broken_off(gone_pid(), host="elsewhere", number=2)
    first, later = (r._replace(started=float(r.number)) for r in (first, later))
    assert [found.verdict for found in judged(STEPS, first, later)] == ["interrupted", "unknown"]


def test_an_error_of_its_own_comes_first() -> None:
    (found,) = judged(STEPS + ERROR, broken_off(gone_pid()))
    assert (found.verdict, [c.category for c in found.causes]) == ("failed", ["code.python"])


def test_ranks_that_all_had_finished_are_no_interruption() -> None:
    death = DeathRecord(0, "worker", 0, 0, 70, 2.0, 2.0, 0, None, False, False)
    (found,) = judged(STEPS, broken_off(gone_pid())._replace(deaths=(death,)))
    assert found.verdict == "succeeded"


def test_the_folder_of_the_killed_node_makes_the_answer_no_weaker() -> None:
    stopped = DeathRecord(0, "worker", 1, 0, 71, 2.0, 2.0, None, 15, False, True)
    left = RunRecord(
        "run-1.jsonl", 1, "A", pid=5, node_rank=1, nnodes=2, world_size=2, endpoints=ENDPOINTS,
        processes=(process(1),), deaths=(stopped,), ended=2.0, reason="interrupted",
    )  # fmt: skip
    killed = RunRecord(
        "run-1.jsonl", 1, "B", pid=6, guardian_pid=7, node_rank=0, nnodes=2, world_size=2,
        address="10.0.0.1", endpoints=ENDPOINTS, processes=(process(0),), ended=1.5,
        reason="launcher-killed",
    )  # fmt: skip
    files = {"n0/workerlog.0": STEPS, "n1/workerlog.0": STEPS}
    (run,) = runs_of(files, [("n0", killed), ("n1", left)])
    found = judge(run, engine().knowledge)
    assert found.verdict == "interrupted"
    assert [(c.signature, c.host) for c in found.causes] == [("verdict.launcher-gone", "10.0.0.1")]
    assert found.causes[0].why[0].en.startswith("the launcher of node 0 (pid 6) vanished")
    assert 7 in run.launcher_pids


def test_servers_that_were_stopped_say_nothing_of_trainers_that_left() -> None:
    """Their launcher stops them when the last trainer is gone, and nobody says how that was."""
    files = {"log/serverlog.0": "serving 0\n" + summary(90, 60)}
    files |= {f"log/workerlog.{rank}": "create c2c connection done\n" for rank in range(2)}
    found = judged_files(files)
    assert (found.verdict, found.causes) == ("unknown", ())
