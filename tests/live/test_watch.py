"""`pdtriage watch` on jobs that something else started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.launch.supervise.processes import children_of

from ..running import is_running, wait_until
from .conftest import Desk

WORKER = """
import os, sys, time
rank, log = int(sys.argv[1]), sys.argv[2]
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(out, 1), os.dup2(out, 2)
print("epoch: 0, step: 1, loss: 0.5", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
if rank == 1:
    raise OSError(5, "Input/output error", "/data/part-7")
print("epoch: 0, step: 2, loss: 0.4", flush=True)
time.sleep(0.3)
"""
OLD = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nKeyError: "old"\n'


class Job:
    """Two processes that write their logs themselves; nobody records anything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logs = folder / "log"
        self.logs.mkdir()
        (folder / "worker.py").write_text(WORKER)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, ranks: int = 2) -> Job:
        for rank in range(ranks):
            command = [sys.executable, "worker.py", str(rank), str(self.logs / f"workerlog.{rank}")]
            self.processes.append(subprocess.Popen(command, cwd=self.folder))
        return self

    def go(self) -> None:
        (self.folder / "go").touch()

    def close(self) -> None:
        self.go()
        for process in self.processes:
            process.wait(10)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    job = Job(tmp_path)
    yield job
    job.close()


def test_watch_ends_with_the_job_and_its_report(desk: Desk, job: Job) -> None:
    job.logs.joinpath("workerlog.1").write_text(OLD)
    job.start()
    _wait_for(job.logs / "workerlog.1", "step: 1")
    watch = desk.start("watch", "log", "--report", "r.json", "-f", "markdown=r.md")
    assert wait_until(lambda: b"step: 1" in watch.out)
    assert watch.process.poll() is None
    job.go()
    watch.await_line("workerlog.1:")
    for process in job.processes:
        process.wait(10)
    assert watch.finish().code == 1
    assert "I/O error" in watch.said
    assert "KeyError" not in watch.said
    assert (desk.folder / "r.json").exists()
    assert (desk.folder / "r.md").read_text().startswith("## FAILED")
    assert b"epoch: 0, step: 2" in watch.out
    assert "\x1b" not in watch.said


def test_files_that_come_late_are_taken_up(desk: Desk, job: Job) -> None:
    watch = desk.start("watch", "log")
    time.sleep(1)
    job.start()
    job.go()
    watch.await_line("I/O error")
    assert watch.finish().code == 1


def test_ctrl_c_leaves_the_job_alone(desk: Desk, job: Job) -> None:
    job.start(1)
    _wait_for(job.logs / "workerlog.0", "step: 1")
    watch = desk.start("watch", "log")
    assert wait_until(lambda: b"step: 1" in watch.out)
    watch.stop()
    assert watch.finish().code == 0
    assert "RUNNING" in watch.said
    assert job.processes[0].poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_watches_can_leave_whatever_a_log_does_to_its_reader(
    desk: Desk, job: Job, number: signal.Signals
) -> None:
    job.start(1)
    _wait_for(job.logs / "workerlog.0", "step: 1")
    watch = desk.start("watch", "log")
    assert wait_until(lambda: b"step: 1" in watch.out)
    (reader,) = children_of(watch.process.pid)
    os.kill(reader, signal.SIGSTOP)  # as if it were lost in a line
    watch.stop(number)
    if number == signal.SIGINT:
        time.sleep(0.3)
        assert watch.process.poll() is None, "the report is waited for"
        watch.stop(number)
    assert watch.finish().code == 128 + number
    assert wait_until(lambda: not is_running(reader))
    assert job.processes[0].poll() is None


def test_a_reader_does_not_outlive_who_watches(desk: Desk, job: Job) -> None:
    job.start(1)
    watch = desk.start("watch", "log")
    assert wait_until(lambda: b"step: 1" in watch.out)
    (reader,) = children_of(watch.process.pid)
    watch.process.kill()
    assert wait_until(lambda: not is_running(reader))


def test_until_idle(desk: Desk, job: Job) -> None:
    job.start(1)
    assert desk.run("watch", "log", "--until-idle", "1").code == 0


def test_a_job_that_is_over_is_reported_at_once(desk: Desk) -> None:
    desk.script("if rank == 1: raise OSError(5, 'Input/output error', '/data/x')\ntime.sleep(30)")
    desk.launch().finish()
    watch = desk.run("watch", "log")
    assert watch.code == 1
    assert "FAILED: rank 1 of 2" in watch.said


def test_a_folder_that_is_not_there(desk: Desk) -> None:
    watch = desk.run("watch", "nowhere")
    assert watch.code == 3
    assert watch.said == "pdtriage: nowhere: no such folder\n"


def test_a_log_instead_of_its_folder(desk: Desk) -> None:
    desk.script("pass")
    script = next(desk.folder.glob("*.py")).name
    watch = desk.run("watch", script)
    assert watch.code == 3
    assert watch.said == f"pdtriage: {script}: this is a file; give the folder it lies in\n"


def _wait_for(log: Path, text: str) -> None:
    assert wait_until(lambda: log.exists() and text in log.read_text())


def test_an_empty_folder_is_waited_for_and_said(desk: Desk) -> None:
    (desk.folder / "log").mkdir()
    watch = desk.run("watch", "log", "--until-idle", "0.3")
    assert watch.code == 3
    assert watch.said.count("no logs in log yet, waiting (Ctrl-C ends)") == 1
