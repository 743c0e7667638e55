"""Stacks where nobody may look into a process: those of a launch write them when asked."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import textwrap
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.analysis import pipeline
from pdtriage.hang import py_spy, stack_signal
from pdtriage.hang.stack_signal import STACK_SIGNAL, with_stack_signal
from pdtriage.hang.take import StackTarget, take_stacks
from pdtriage.hang.written_stacks import parse_written, written_stacks
from pdtriage.model.logs import Frame
from tests.running import clean_environment, wait_until

MINUTES = 180.0
REPOSITORY = Path(__file__).parents[2]
WITH_A_WORKER = """
import multiprocessing, os, time

def work():
    open("worker", "w").close()
    time.sleep(600)

multiprocessing.get_context("fork").Process(target=work).start()
while not os.path.exists("worker"):
    time.sleep(0.01)
open("ready", "w").close()
time.sleep(600)  # rank
"""
STUCK = """
import os, time
rank = int(os.environ["PADDLE_TRAINER_ID"])

def read_sample():
    with open("pipe") as stream:
        return stream.read()

for step in range(4 if rank == 1 else 6):
    print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
read_sample() if rank == 1 else time.sleep(600)
"""


@pytest.fixture
def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a job whose processes write their stacks."""
    monkeypatch.setattr(stack_signal, "may_look_inside", lambda _environ: False)
    return dict(with_stack_signal(clean_environment(), str(tmp_path / "stacks")))


@pytest.fixture
def rank(tmp_path: Path, listening: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """With a worker that it forked."""
    (tmp_path / "train.py").write_text(WITH_A_WORKER)
    process = subprocess.Popen(
        [sys.executable, "train.py"], cwd=tmp_path, env=listening, start_new_session=True
    )
    assert wait_until((tmp_path / "ready").exists)
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_rank_and_its_worker_each_write_where_they_stand_and_go_on(
    rank: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: None)
    for _ in range(2):
        own, worker = take_stacks([StackTarget(rank.pid, rank=0)], 5.0).stacks
        assert (own.source, own.frames[0].line) == ("faulthandler", 12)
        assert (worker.source, worker.helper) == ("faulthandler", True)
        assert (worker.frames[0].function, worker.frames[0].line) == ("work", 6)
        assert worker.frames[-1].function.endswith("_bootstrap")
    assert rank.poll() is None


def test_who_has_no_handler_is_not_asked(tmp_path: Path, listening: dict[str, str]) -> None:
    """The signal would end it."""
    process = subprocess.Popen(["/bin/sleep", "600"], cwd=tmp_path, env=listening)
    try:
        (tmp_path / "stacks" / f"{process.pid}.stack").touch()
        assert written_stacks([process.pid], 5.0) == {}
        assert process.poll() is None
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL


def test_the_users_own_module_of_that_name_and_path_are_there(
    tmp_path: Path, listening: dict[str, str]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys; sys.was_here = __file__\n")
    listening["PYTHONPATH"] += f"{os.pathsep}{own}"
    code = "import sys, sitecustomize; print(sys.was_here, sitecustomize.__file__)"
    told = subprocess.run(
        [sys.executable, "-c", code], env=listening, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == [str(own / "sitecustomize.py")] * 2
    assert told.stderr == ""
    assert list((tmp_path / "stacks").iterdir()) == []


def test_a_folder_that_is_gone_costs_the_stacks_and_not_the_job(
    tmp_path: Path, listening: dict[str, str]
) -> None:
    (tmp_path / "stacks").rmdir()
    code = f"import signal; print(signal.getsignal({STACK_SIGNAL}))"
    told = subprocess.run(
        [sys.executable, "-c", code], env=listening, capture_output=True, text=True, check=True
    )
    assert told.stderr == ""


def test_where_py_spy_can_look_nothing_is_put_into_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_signal, "may_look_inside", lambda _environ: True)
    environ = clean_environment()
    assert with_stack_signal(environ, str(tmp_path / "stacks")) == environ
    assert not (tmp_path / "stacks").exists()


@pytest.mark.parametrize(
    ("scope", "capable", "allowed"),
    [
        *(("", False, True), ("0", False, True), ("1", False, False)),
        *(("1", True, True), ("2", False, False), ("3", True, False)),
    ],
)
def test_what_the_kernel_allows(
    scope: str, capable: bool, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_signal, "_has_py_spy", lambda _environ: True)
    monkeypatch.setattr(stack_signal, "ptrace_scope", lambda: scope)
    monkeypatch.setattr(stack_signal, "mask_in", lambda *_: (1 << 19) * capable)
    assert stack_signal.may_look_inside({}) is allowed


@pytest.fixture
def without_py_spy(tmp_path: Path) -> str:
    """A Python with all that ours has but this program."""
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n{REPOSITORY}\n")
    return str(tmp_path / "venv" / "bin" / "python")


def test_a_job_that_stands_still_where_py_spy_is_missing(
    tmp_path: Path, without_py_spy: str
) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(STUCK))
    os.mkfifo(tmp_path / "pipe")
    run = [without_py_spy, "-m", "pdtriage", "run", "--on_hang=stop", "--hang_after=3"]
    done = subprocess.run(
        [*run, "--nproc_per_node=3", "train.py"],
        cwd=tmp_path,
        env=clean_environment() | {"PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert done.returncode == 124, done.stderr
    assert re.search(r"rank 1 in `read_sample` \(train\.py:6\), system call `openat`", done.stderr)
    assert "HUNG: rank 1 of 3" in done.stderr
    report = pipeline.analyze(tmp_path / "log")
    assert report.standstill is not None
    assert {stack.source for stack in report.standstill.stacks} == {"faulthandler"}
    assert not (tmp_path / "log" / "pdtriage" / "stacks").exists()


def test_what_else_stands_in_such_a_file_is_no_stack() -> None:
    true = '  File "t.py", line 6 in read'
    text = f'Thread 0x1 (most recent call first):\n  File "t.py", line {"9" * 5000} in f\n{true}\n'
    assert parse_written(text) == (Frame("t.py", 6, "read"),)
