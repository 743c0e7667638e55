"""A few of the lives of `make torture`, in every `make test`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pdtriage.launch.supervise.processes import running_processes
from pdtriage.record.reader import read_records

from ..running import clean_environment, is_running, wait_until
from .__main__ import table
from .lives import CHILD, DEEDS, FATES, OURS, Life, Loss, RankLife, life_of, live


def test_nothing_is_lost_of_any_life() -> None:
    """Every deed of a rank and every fate of the launcher once, in turn."""
    fates = len(FATES)
    lives = [life_of(fates * deed + deed % fates) for deed in range(len(DEEDS))]
    assert {life.ranks[0].deed for life in lives} == set(DEEDS)
    assert {life.fate for life in lives} == set(FATES)
    with ThreadPoolExecutor(3) as pool:
        lost = dict(zip(lives, pool.map(live, lives), strict=True))
    assert {life: loss for life, loss in lost.items() if loss} == {}


def test_a_launcher_that_leaves_somebody_behind_is_found_out() -> None:
    """The measure itself: a launcher without any care loses a process and the exit code."""
    careless = """
import os, subprocess, sys
script = next(n for n, word in enumerate(sys.argv) if word.endswith("child.py"))
environment = os.environ | {"PADDLE_TRAINER_ID": "0"}
subprocess.call([sys.executable, *sys.argv[script:]], env=environment)
"""
    life = Life(0, (RankLife("daemon", "exit7", 0.1),), "nothing", 0.1)
    loss = live(life, (sys.executable, "-c", careless), patience=1)
    assert loss.orphans == 1
    assert loss.code == "0 instead of 7"
    assert "| all | 1 | 1 | " in table([(life, loss)])
    assert "| all | 1 | 0 | 0 | 0 | 0 | 0 |" in table([(life, Loss())])


def test_who_kills_everything_named_pdtriage_leaves_the_guardian(tmp_path: Path) -> None:
    """As `pkill -9 pdtriage` does: by the names the kernel shows."""
    words = (RankLife("", "hang", 0).word(0), RankLife("deaf", "hang", 0).word(1))
    process = subprocess.Popen(
        [*OURS, "--nproc_per_node=2", "--log_dir", "log", CHILD, tmp_path, *words],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert wait_until(lambda: all((tmp_path / f"{rank}.began").exists() for rank in "01"), 60)
    pids = [started.pid for started in read_records(tmp_path / "log")[0].processes]
    named = [e.pid for e in running_processes() if e.parent == process.pid and e.pid not in pids]
    names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in named}
    assert any("guard" in name for name in names.values())
    for pid in (process.pid, *(pid for pid, name in names.items() if "pdtriage" in name)):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not any(map(is_running, pids)), 30)
