"""Children that spoil their logs, and machines that have nothing left: the job goes on, its exit
code stays its own, and the report says what is missing."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..running import clean_environment
from .conftest import SCRIPTS, Launch, Launcher

PIDS_OF = 71_234
"""A user who has no process but those of a test."""
RIGHTS = ("--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override")
DISK = 'mount -t tmpfs -o size=1m full "$1" && shift && exec "$@"'
NOTES = {
    "delete": "removed while the job ran: workerlog.1",
    "pipe": "replaced by a pipe while the job ran: workerlog.1",
    "rotate": "replaced by another file while the job ran: workerlog.1",
    "remove": "removed while the job ran: workerlog.0,workerlog.1",
}


@pytest.mark.parametrize("deed", NOTES)
def test_what_a_child_does_to_its_log_is_told(launcher: Launcher, deed: str) -> None:
    launch = launcher.run("--nproc_per_node=2", "spoil.py", deed, module="pdtriage run")
    assert launch.code == 7, launch.err
    told = " ".join(launch.err.split())
    assert "FAILED: rank 1" in told
    assert NOTES[deed] in told
    assert ("the run record is incomplete" in told) == (deed == "remove")


def start(folder: Path, *words: str, before: tuple[str, ...] = ()) -> Launch:
    """In a folder that anybody may write to."""
    folder.chmod(0o777)
    command = [sys.executable, "-m", "pdtriage", "run", "--nproc_per_node=2"]
    process = subprocess.Popen(
        [*before, *command, "--log_dir", str(folder / "log"), "spoil.py", *words],
        cwd=SCRIPTS,
        env=clean_environment() | {"PDTRIAGE_CACHE": str(folder / "cache")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Launch(process, folder / "log")


@pytest.mark.root
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    logs = tmp_path / "log"
    logs.mkdir()
    own_disk = ("unshare", "-m", "sh", "-c", DISK, "sh", str(logs))
    trial = subprocess.run([*own_disk, "true"], check=False, capture_output=True)
    if trial.returncode != 0:
        pytest.skip("no disk of its own here")
    launch = start(tmp_path, "fill", before=own_disk).finish()
    assert launch.code == 7, launch.err
    told = " ".join(launch.err.split())
    assert "FAILED: rank 1" in told
    assert "the disk of the log folder is full" in told


@pytest.mark.root
def test_no_process_and_no_thread_is_left(tmp_path: Path) -> None:
    """What reads the logs is killed, too, and cannot be started again."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    user = ("setpriv", f"--reuid={PIDS_OF}", f"--regid={PIDS_OF}", "--clear-groups", *RIGHTS)
    go = tmp_path / "go"
    launch = start(tmp_path, "nothing", str(go), before=user)
    launch.wait_for_log("step 1", 2)
    limit = ("prlimit", "--pid", str(launch.process.pid), "--nproc=0:0")
    subprocess.run([*user, *limit], check=True)
    for pid in helpers_of(launch):
        os.kill(pid, 9)
    go.touch()
    assert launch.finish().code == 7, launch.err
    assert "internal error" not in launch.err
    assert "rank=[1] was aborted" in launch.err


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    go = tmp_path / "go"
    launch = start(tmp_path, "nothing", str(go))
    launch.wait_for_log("step 1", 2)
    pid = launch.process.pid
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    free = next(number for number in range(len(taken) + 1) if number not in taken)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, free))
    go.touch()
    assert launch.finish().code == 7, launch.err
    assert "FAILED: rank 1" in launch.err
    assert "internal error" not in launch.err


def helpers_of(launch: Launch) -> list[int]:
    """Processes of the launcher that are no trainers and not its guardian."""
    pid = launch.process.pid
    started = {process.pid for process in launch.record().processes}
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    others = [int(word) for word in text.split() if int(word) not in started]
    return [each for each in others if "guard" not in Path(f"/proc/{each}/comm").read_text()]
