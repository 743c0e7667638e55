"""`pdtriage stacks` on real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.hang import py_spy
from pdtriage.hang.kernel_view import vitals_of
from pdtriage.hang.take import StackTarget, take_stacks
from tests.running import clean_environment, wait_until

WAITING = """
import os, sys, time

def hold():
    sys.stdin.read()

def spin():
    open("ready", "a").write("x")
    while True:
        pass

open("ready", "a").write("x")
hold() if sys.argv[1] == "hold" else spin()
"""
needs_py_spy = pytest.mark.skipif(py_spy.find_py_spy() is None, reason="py-spy is missing")


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    (tmp_path / "train.py").write_text(WAITING)
    started = []
    for rank, what in enumerate(("hold", "hold", "hold", "spin")):
        variables = {"PADDLE_TRAINER_ID": str(rank), "PADDLE_JOB_ID": f"job-{os.getpid()}"}
        started.append(
            subprocess.Popen(
                [sys.executable, "train.py", what],
                cwd=tmp_path,
                stdin=subprocess.PIPE,
                env=clean_environment() | variables,
            )
        )
    assert wait_until(lambda: (tmp_path / "ready").exists() and _ready(tmp_path) == 5)
    assert wait_until(lambda: all(_state(process.pid) == "S" for process in started[:3]))
    yield started
    for process in started:
        process.kill()
        process.wait()


def _ready(folder: Path) -> int:
    return len((folder / "ready").read_text())


def _state(pid: int) -> str:
    vitals = vitals_of(pid)
    return vitals.state if vitals else ""


def _stacks(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdtriage", "stacks", *words],
        capture_output=True,
        text=True,
        env=clean_environment() | more,
        check=False,
    )


@needs_py_spy
def test_the_ranks_of_a_job_are_found_and_the_odd_one_is_named(
    ranks: list[subprocess.Popen[bytes]],
) -> None:
    said = _stacks("--job", f"job-{os.getpid()}")
    assert said.returncode == 0
    first = said.stdout.splitlines()[0]
    assert first.startswith("ranks 0-2 in `hold` (train.py:5)")
    assert "rank 3 in `spin` (train.py:" in first
    assert f"rank 3 (pid {ranks[3].pid}" in said.stdout


@needs_py_spy
def test_as_json_and_in_chinese(ranks: list[subprocess.Popen[bytes]]) -> None:
    told = json.loads(_stacks("--job", f"job-{os.getpid()}", "-f", "json", "--lang", "zh").stdout)
    assert told["schema"] == "pdtriage.stacks/1"
    assert told["culprits"] == [3]
    assert "停在 `hold`" in told["summary"]
    assert {stack["pid"] for stack in told["stacks"]} == {process.pid for process in ranks}


def test_without_py_spy_the_kernel_tells_and_a_sentence_says_how_to_see_more(
    ranks: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: None)
    result = take_stacks([StackTarget(process.pid, rank=0) for process in ranks[:1]], 5.0)
    assert [stack.waits_in for stack in result.stacks] == ["read"]
    assert "pip install 'pdtriage[hang]'" in result.notes[0].en


def test_where_ptrace_is_forbidden_a_sentence_says_how_to_allow_it() -> None:
    said = py_spy.how_to_allow(["Permission Denied: Try running again with elevated permissions"])
    assert said is not None
    assert "SYS_PTRACE" in said.en or "ptrace_scope" in said.en


def test_a_pid_that_is_none_and_a_folder_without_ranks(tmp_path: Path) -> None:
    assert _stacks(str(tmp_path)).returncode == 3
    assert _stacks("nothing-here").returncode == 3
    assert _stacks("--job", "no such job").returncode == 3


@needs_py_spy
def test_a_job_is_known_by_the_name_it_was_launched_with(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nopen('up', 'a').write('x')\ntime.sleep(600)\n")
    names = [f"{name}-{os.getpid()}" for name in ("one", "two")]
    flags = ("--quiet", "--nproc_per_node=2", "train.py")
    launches = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "pdtriage", "run"),
                *(f"--job_id={name}", f"--log_dir={name}", *flags),
            ],
            cwd=tmp_path,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in names
    ]
    try:
        up = tmp_path / "up"
        assert wait_until(lambda: up.exists() and len(up.read_text()) == 4)
        for name in names:
            said = _stacks("--job", name)
            assert said.stdout.startswith("ranks 0, 1 in `<module>` (train.py:3)"), said.stderr
        both = _stacks()
        assert both.returncode == 2
        assert both.stdout == ""
        assert " jobs run here: /" in both.stderr
    finally:
        for launch in launches:
            launch.terminate()
            launch.wait()
