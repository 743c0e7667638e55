"""`--launcher paddle`: the real launcher under our eyes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from .conftest import Launcher, is_running, wait_until

pytestmark = pytest.mark.live
PADDLE = ("--launcher", "paddle")


def test_the_culprit_is_seen_where_paddle_reports_the_victim(launcher: Launcher) -> None:
    launch = launcher.run(*PADDLE, "--nproc_per_node=2", "act.py", "0=sleep", "1=exit:9:0.5")
    assert launch.code == 9, launch.err
    record = launch.record()
    assert record.launcher == "paddle"
    assert record.world_size == 2
    assert [(d.role, d.rank, d.code, d.signal, d.stopped) for d in record.deaths[:2]] == [
        ("worker", 1, 9, None, False),
        ("worker", 0, None, 15, True),
    ]
    assert record.deaths[2].role == "launcher"
    assert [p.log for p in record.processes] == [None, "workerlog.0", "workerlog.1"]
    assert launch.out.count("rank 0 sleep") == 1
    again = launcher.run(*PADDLE, "--nproc_per_node=2", "act.py")
    assert again.code == 0
    offsets = {p.log: p.offset for p in again.record().processes if p.log}
    assert offsets["workerlog.1"] == len("rank 1 exit\n")


def test_ctrl_c_reaches_it_and_nothing_stays(launcher: Launcher) -> None:
    launch = launcher.start(*PADDLE, "--nproc_per_node=2", "act.py", "0=sleep", "1=sleep")
    assert wait_until(lambda: "sleep" in launch.log(0) and "sleep" in launch.log(1), 40)
    assert wait_until(lambda: len(launch.record().processes) == 3)
    pids = [process.pid for process in launch.record().processes]
    launch.signal(signal.SIGINT)
    assert launch.finish(60).code == 130
    assert not [pid for pid in pids if is_running(pid)]


def test_a_mistake_paddle_refuses_is_passed_on(launcher: Launcher, tmp_path: Path) -> None:
    launch = launcher.run(*PADDLE, "--nproc_per_node=x", "act.py", log_dir=tmp_path / "log")
    assert launch.code == 2
