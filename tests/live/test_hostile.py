"""`pdtriage run` where folders vanish, names are odd and processes do not want to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..running import clean_environment, is_running, wait_until
from .conftest import Desk

WAITS = "print('up', flush=True)\nwhile not os.path.exists('go'):\n    time.sleep(0.02)\n"


def remove_logs_of_a_running_job(desk: Desk, code: str) -> str:
    """What the launch says in the end."""
    desk.script(WAITS + code)
    command = desk.launch()
    assert wait_until(lambda: (desk.folder / "log" / "workerlog.1").exists())
    assert wait_until(lambda: desk.log(1) == desk.log(0) == b"up\n")
    command.await_line("Watching Pod")
    shutil.rmtree(desk.folder / "log")
    (desk.folder / "go").touch()
    command.finish()
    return f"code {command.code}\n{command.said}"


def test_the_log_folder_of_a_running_job_is_removed(desk: Desk) -> None:
    said = remove_logs_of_a_running_job(desk, "print('done', flush=True)\n")
    assert said.startswith("code 0\n"), said
    assert "the run record is incomplete" in said
    assert "internal error" not in said


def test_a_failure_is_judged_although_its_log_folder_is_gone(desk: Desk) -> None:
    said = remove_logs_of_a_running_job(desk, "sys.exit(7 if rank == 1 else 0)\n")
    assert said.startswith("code 7\n"), said
    assert "FAILED: rank 1 of 2" in said
    assert "internal error" not in said


@pytest.mark.parametrize("linked", [False, True])
def test_odd_names(desk: Desk, linked: bool) -> None:
    script = desk.script("if rank == 1:\n    raise ValueError('nö')\n", "trän 训练.py")
    logs = desk.folder / "my lögs 日志"
    if linked:
        (desk.folder / "real").mkdir()
        logs.symlink_to("real")
    command = desk.run("run", "--nproc_per_node=2", f"--log_dir={logs}", script)
    assert command.code == 1
    assert "ValueError: nö" in command.said
    assert "my lögs 日志/workerlog.1" in command.said
    assert "trän训练.py:4" in "".join(command.said.split()), "long paths are wrapped"


STUBBORN = """
import subprocess
if rank == 0:
    wait = "trap '' TERM; echo $$ >> pids; sleep 60 & wait; wait"
    for _ in range(50):
        subprocess.Popen(["setsid", "sh", "-c", wait])
    while len(open("pids").read().split() if os.path.exists("pids") else []) < 50:
        time.sleep(0.02)
"""


def test_fifty_daemons_that_ignore_sigterm_end_with_the_run(desk: Desk) -> None:
    desk.script(STUBBORN)
    command = desk.launch("--grace=0.3").finish()
    assert command.code == 0, command.said
    pids = [int(word) for word in (desk.folder / "pids").read_text().split()]
    assert len(pids) == 50
    assert not any(map(is_running, pids))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_as_the_first_process_of_a_container(desk: Desk) -> None:
    """Orphans come to process 1 anyway, and signals without a handler do not."""
    script = desk.script(STUBBORN.replace("50", "3") + "sys.exit(5 if rank == 1 else 0)\n")
    words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-m", "pdtriage", "run"]
    done = subprocess.run(
        [*words, "--grace=0.3", "--nproc_per_node=2", script],
        cwd=desk.folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    if "unshare failed" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 5, done.stderr
    assert "FAILED: rank 1 of 2" in done.stderr


def test_the_core_alone_without_standard_streams(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    line = f"{sys.executable} -m pdtriage.launch train.py 0<&- 1>&- 2>&-"
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=clean_environment(), timeout=30, check=False
    )
    assert done.returncode == 0
    assert (tmp_path / "log" / "workerlog.0").read_text() == "trained\n"
