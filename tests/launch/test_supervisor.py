"""Deaths, signals and what survives them, with real processes."""

from __future__ import annotations

import os
import pty
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdtriage.launch.supervise.event_loop import EventLoop
from pdtriage.launch.supervise.events import PeerBack
from pdtriage.record.schema import DeathRecord

from ..running import clean_environment, is_running, wait_until
from .conftest import SCRIPTS, Launch, Launcher


def death_of(launch: Launch, rank: int) -> DeathRecord:
    return next(death for death in launch.record().deaths if death.rank == rank)


@pytest.mark.parametrize(
    ("actions", "code"),
    [
        ([], 0),
        (["1=exit:7"], 7),
        (["1=exit:255"], 255),
        (["1=signal:9"], 137),
        (["1=signal:11"], 139),
        (["0=exit:3:0.2", "1=exit:4"], 4),
        (["0=sleep", "1=exit:1"], 1),
    ],
)
def test_the_exit_code_is_the_culprits_own(
    launcher: Launcher, actions: list[str], code: int
) -> None:
    launch = launcher.run("--nproc_per_node", "2", "act.py", *actions)
    assert launch.code == code, launch.err
    record = launch.record()
    assert record.exit_code == code
    assert record.reason == ("completed" if code == 0 else "failed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_gracefully_and_is_the_exit_code(
    launcher: Launcher, number: signal.Signals
) -> None:
    launch = launcher.start("--nproc_per_node", "2", "act.py", "0=tidy", "1=tidy")
    launch.wait_for_log("tidy", ranks=2)
    launch.signal(number)
    launch.finish()
    assert launch.code == 128 + number
    assert "cleaned up" in launch.log(0)
    assert "cleaned up" in launch.log(1)
    record = launch.record()
    assert (record.reason, record.interrupted_by) == ("interrupted", number)
    assert all(death.stopped and death.code == 0 for death in record.deaths)


def test_ctrl_c_twice_ends_a_stubborn_trainer_now(launcher: Launcher) -> None:
    launch = launcher.start("act.py", "0=stubborn")
    launch.wait_for_log("stubborn")
    launch.signal(signal.SIGINT)
    time.sleep(0.4)
    assert launch.process.poll() is None
    began = time.monotonic()
    launch.signal(signal.SIGINT)
    launch.finish()
    assert time.monotonic() - began < 10
    assert launch.code == 130
    assert death_of(launch, 0).signal == signal.SIGKILL


def test_a_stubborn_victim_is_killed_after_the_grace_period(launcher: Launcher) -> None:
    launch = launcher.run(
        "--nproc_per_node=2", "--grace=0.5", "act.py", "0=stubborn", "1=exit:5:0.5"
    )
    assert launch.code == 5
    assert death_of(launch, 0).signal == signal.SIGKILL
    sent = [(entry.rank, entry.signal) for entry in launch.record().signals]
    assert sent[:2] == [(0, signal.SIGTERM), (0, signal.SIGKILL)]


def test_who_dies_on_its_own_while_settling_is_no_victim(launcher: Launcher) -> None:
    launch = launcher.run(
        "--nproc_per_node=3", "--settle=1", "act.py", "0=sleep", "1=exit:6:0.5", "2=exit:7:1"
    )
    assert launch.code == 6
    deaths = [(death.rank, death.code, death.stopped) for death in launch.record().deaths]
    assert deaths[:2] == [(1, 6, False), (2, 7, False)]
    assert deaths[2][0] == 0
    assert deaths[2][2] is True
    assert "rank=[1] was aborted" in launch.err


def test_eight_trainers_dying_within_moments_are_recorded_in_order(
    launcher: Launcher, tmp_path: Path
) -> None:
    order = random.Random(7).sample(range(8), 8)
    launch = launcher.start("--nproc_per_node=8", "dominoes.py", str(tmp_path))
    _topple(tmp_path, order)
    launch.finish()
    assert [death.rank for death in launch.record().deaths] == order
    assert f"rank=[{order[0]}] was aborted" in launch.err
    assert launch.code == 128 + signal.SIGKILL


def test_order_survives_even_when_pdtriage_sleeps_through_the_deaths(
    launcher: Launcher, tmp_path: Path
) -> None:
    order = random.Random(8).sample(range(8), 8)
    launch = launcher.start("--nproc_per_node=8", "dominoes.py", str(tmp_path))
    assert wait_until(lambda: all((tmp_path / str(rank)).exists() for rank in order))
    launch.signal(signal.SIGSTOP)
    _topple(tmp_path, order)
    launch.signal(signal.SIGCONT)
    launch.finish()
    deaths = launch.record().deaths
    assert deaths[-1].monotonic - deaths[0].monotonic < 1
    assert [death.rank for death in deaths] == order


def _topple(folder: Path, order: list[int]) -> None:
    words = [str(SCRIPTS / "dominoes.py"), str(folder), ",".join(map(str, order))]
    subprocess.run([sys.executable, *words], check=True, timeout=30)


@pytest.mark.parametrize("ending", ["0", "3"])
def test_grandchildren_end_with_the_run(launcher: Launcher, tmp_path: Path, ending: str) -> None:
    launch = launcher.run("--nproc_per_node=2", "family.py", str(tmp_path), ending)
    assert launch.code == int(ending)
    assert _survivors(tmp_path) == []


def test_no_orphan_survives_the_killing_of_pdtriage(launcher: Launcher, tmp_path: Path) -> None:
    launch = launcher.start("--nproc_per_node=2", "family.py", str(tmp_path), "stay")
    assert wait_until(lambda: (tmp_path / "pids.0").exists() and (tmp_path / "pids.1").exists())
    trainers = [process.pid for process in launch.record().processes]
    launch.process.kill()
    launch.finish()
    assert wait_until(lambda: not any(is_running(pid) for pid in trainers))
    assert wait_until(lambda: _survivors(tmp_path) == [])
    assert wait_until(lambda: launch.record().reason == "launcher-killed")
    guardian = launch.record().guardian_pid
    assert guardian is not None
    assert wait_until(lambda: not is_running(guardian))
    again = launcher.run("act.py")
    assert again.code == 0, again.err


def _survivors(folder: Path) -> list[int]:
    pids = [int(pid) for path in folder.glob("pids.?") for pid in path.read_text().split()]
    assert pids
    return [pid for pid in pids if is_running(pid)]


def test_a_closed_terminal_ends_the_job(tmp_path: Path) -> None:
    log_dir = tmp_path / "log"
    command = [sys.executable, "-m", "pdtriage.launch", "--log_dir", str(log_dir)]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(SCRIPTS)
        os.execve(sys.executable, [*command, "act.py", "0=tidy"], clean_environment())
    launch = Launch(None, log_dir)  # type: ignore[arg-type]
    launch.wait_for_log("tidy")
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 128 + signal.SIGHUP
    assert "cleaned up" in launch.log(0)


def test_nohup_is_obeyed(launcher: Launcher) -> None:
    launch = launcher.start(
        "act.py",
        "0=exit:0:1",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    launch.wait_for_log("exit")
    launch.signal(signal.SIGHUP)
    launch.finish()
    assert launch.code == 0


def test_a_reader_that_goes_away_does_not_end_the_job(launcher: Launcher) -> None:
    launch = launcher.start("--nproc_per_node=2", "act.py", "1=exit:0:0.8")
    assert launch.process.stdout is not None
    launch.process.stdout.close()
    assert launch.process.wait(timeout=20) == 0
    assert launch.process.stderr is not None
    assert "BrokenPipe" not in launch.process.stderr.read()
    launch.process.stderr.close()


def test_a_folder_in_use_is_refused(launcher: Launcher) -> None:
    first = launcher.start("act.py", "0=sleep")
    first.wait_for_log("sleep")
    second = launcher.run("act.py")
    assert second.code == 2
    assert f"pid {first.process.pid}" in second.err
    assert len(list((first.log_dir / "pdtriage").glob("run-*"))) == 1


def test_a_second_run_appends_and_knows_where_it_begins(launcher: Launcher) -> None:
    launcher.run("--nproc_per_node=2", "act.py")
    before = (launcher.folder / "log" / "workerlog.1").read_bytes()
    second = launcher.run("--nproc_per_node=2", "act.py", "1=exit:3")
    process = next(p for p in second.record().processes if p.rank == 1)
    content = (launcher.folder / "log" / "workerlog.1").read_bytes()
    assert process.offset == len(before) > 0
    assert process.end_offset == len(content)
    assert content.startswith(before)
    assert len(content) > len(before)
    assert second.record().number == 2


def test_overwrite_begins_anew(launcher: Launcher) -> None:
    launcher.run("act.py")
    second = launcher.run("--log_overwrite", "true", "act.py", "0=exit:4")
    assert second.log().count("rank 0") == 1
    assert second.record().processes[0].offset == 0


def test_ctrl_c_before_the_launcher_listens_is_not_lost(tmp_path: Path) -> None:
    """Python drops what callbacks raise, and each import ends with one: it comes right there."""
    program = """
import signal, sys, weakref
from pdtriage.__main__ import main

class Lock:
    pass

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "pdtriage.commands.run":
            lock = Lock()
            alarm = weakref.ref(lock, lambda _: signal.raise_signal(signal.SIGINT))
            del lock

sys.meta_path.insert(0, Finder())
main(["run", "--log_dir", sys.argv[1], "act.py"])
"""
    logs = tmp_path / "log"
    words = [sys.executable, "-c", program, str(logs)]
    done = subprocess.run(
        words, cwd=SCRIPTS, env=clean_environment(), capture_output=True, timeout=30
    )
    assert done.returncode == -signal.SIGINT, done.stderr
    assert not list(logs.glob("workerlog.*"))


def test_a_message_after_the_end_is_written_nowhere() -> None:
    """Threads may still have something to say when the descriptors belong to somebody else."""
    with EventLoop() as watch:
        pass
    ends = [*os.pipe(), *os.pipe()]
    try:
        watch.send(PeerBack(1))
        assert not select.select([ends[0], ends[2]], [], [], 0)[0]
    finally:
        for end in ends:
            os.close(end)


def test_the_record_of_a_real_run_says_it_all(launcher: Launcher) -> None:
    launch = launcher.run("--nproc_per_node=2", "--job_id=mine", "act.py", "1=signal:6")
    record = launch.record()
    assert record.argv[:2] == ("pdtriage", "run")
    assert record.argv[-1] == "1=signal:6"
    assert (record.job, record.world_size, record.nnodes) == ("mine", 2, 1)
    assert record.pid == launch.process.pid
    assert record.guardian_pid is not None
    assert len(record.endpoints) == 2
    assert record.versions["pdtriage"]
    assert [p.log for p in record.processes] == ["workerlog.0", "workerlog.1"]
    aborted = next(death for death in record.deaths if death.rank == 1)
    assert aborted.signal == 6
    assert aborted.code is None
    assert aborted.max_rss_kb
    assert aborted.max_rss_kb > 1000
    assert not record.is_live()


def test_what_a_run_leaves_and_shows_holds_no_secret_of_its_arguments(launcher: Launcher) -> None:
    old = launcher.folder / "log" / "envlog.0"
    old.parent.mkdir(parents=True)
    old.write_text("A=1\n")
    old.chmod(0o644)
    launch = launcher.run(
        "act.py", "9=mysql://root:hunter2xyz@10.0.0.2/db", "8=password=hunter2xyz"
    )
    assert "9=mysql://root:***@10.0.0.2/db" in launch.err
    assert launch.record().argv[-2:] == ("9=mysql://root:***@10.0.0.2/db", "8=password=***")
    assert "hunter2xyz" not in launch.err + repr(launch.record())
    own = [path for path in (launch.log_dir / "pdtriage").rglob("*") if path.is_file()]
    beside = [path for path in launch.log_dir.glob("*.*") if not path.name.startswith("workerlog.")]
    assert {"envlog.0", "endpoints.log", "backup_env.0.json"} <= {path.name for path in beside}
    rights = (launch.log_dir / "workerlog.0").stat().st_mode  # as under Paddle's launcher
    for path in (*own, *beside):
        private = path.stat().st_mode & 0o777 == 0o600
        assert private or (path.name == "endpoints.log" and path.stat().st_mode == rights), path
        assert "hunter2xyz" not in path.read_text(), path
