"""Real parameter-server jobs of small scripts: they end well, or the right one is blamed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze
from pdtriage.launch.plan.addresses import free_ports
from pdtriage.model import Report

from ..running import clean_environment, is_running, wait_until
from .conftest import SCRIPTS, Launch, Launcher

NET = "ps_net.py"
ONE_TWO = ("--server_num=1", "--worker_num=2")
HETER = ("--server_num=1", "--worker_num=2", "--heter_worker_num=2;1")


def deaths(launch: Launch) -> list[tuple[str, int | None, bool]]:
    return [(death.role, death.rank, death.stopped) for death in launch.record().deaths]


def blamed(report: Report) -> list[tuple[str, int | None]]:
    return [(cause.role, cause.rank) for cause in report.root_causes]


def victims(report: Report) -> set[tuple[str, int | None]]:
    return {(victim.role, victim.rank) for victim in report.victims}


def test_trainers_finish_and_servers_are_stopped(launcher: Launcher) -> None:
    launch = launcher.run(*ONE_TWO, NET, env={"http_proxy": "http://127.0.0.1:1"})
    assert launch.code == 0, launch.err
    assert launch.record().reason == "completed"
    assert deaths(launch)[-1] == ("server", 0, True)
    assert [(role, stopped) for role, _, stopped in deaths(launch)[:2]] == [("worker", False)] * 2
    for rank in (0, 1):
        assert f"trained {rank} of 2" in launch.log(rank)
    assert "server 0 listens" in (launch.log_dir / "serverlog.0").read_text()
    assert "trained 0 of 2" in launch.out
    assert analyze(launch.log_dir).verdict == "succeeded"


def test_the_console_speaks_as_documented(launcher: Launcher) -> None:
    launch = launcher.run(*ONE_TWO, NET)
    said = [line.split(" ", 4)[-1] for line in launch.err.splitlines()]
    expected = [
        "Local server start 1 processes. First process distributed environment info "
        "(Only For Debug): ",
        "Local worker start 2 processes. First process distributed environment info "
        "(Only For Debug): ",
        f"Please check servers, workers and heter_worker logs in {launch.log_dir}/workerlog.*, "
        f"{launch.log_dir}/serverlog.* and {launch.log_dir}/heterlog.*",
        "all workers exit, going to finish parameter server and heter_worker.",
        "all parameter server are killed",
        "Exit code 0",
    ]
    places = [said.index(line) for line in expected]
    assert places == sorted(places)
    frame = [line for line in launch.err.splitlines() if line.startswith("    |")]
    assert {len(line) for line in frame} == {93}
    assert f"    |{'TRAINING_ROLE':>40}  {'PSERVER':^45}|" in frame
    assert launch.record().mode == "ps"


def test_files_left_behind(launcher: Launcher) -> None:
    launch = launcher.run(*HETER, NET)
    assert launch.code == 0, launch.err
    left = {path.name for path in launch.log_dir.iterdir() if path.is_file()}
    logs = {"serverlog.0", "workerlog.0", "workerlog.1", "heterlog.0", "heterlog.1", "heterlog.2"}
    sides = {f"{name}.{i}{end}" for i in range(6) for name, end in (("envlog", ""),)}
    sides |= {f"backup_env.{i}.json" for i in range(6)}
    assert logs | sides | {"endpoints.log"} < left
    assert "PADDLE_ROLE=PSERVER" in (launch.log_dir / "envlog.0").read_text()
    assert json.loads((launch.log_dir / "backup_env.5.json").read_text())["STAGE_ID"] == "3"
    assert (launch.log_dir / "endpoints.log").read_text().splitlines()[1:] == list(
        launch.record().endpoints
    )


def test_heter_stages_pass_bytes_on(launcher: Launcher) -> None:
    launch = launcher.run(*HETER, NET)
    assert launch.code == 0, launch.err
    assert "worker 1 > heter 0 > heter 2" in launch.log(1)
    assert "all heter_worker are killed" in launch.err
    assert {role for role, _, stopped in deaths(launch) if stopped} == {"server", "heter"}


@pytest.mark.parametrize(
    ("culprit", "action", "code"),
    [
        (("server", 0), "exit:7:1", 7),
        (("server", 0), "signal:9:1", 137),
        (("worker", 0), "exit:8:1", 8),
        (("worker", 1), "signal:11:1", 139),
        (("heter", 2), "exit:9:1", 9),
    ],
)
def test_whoever_fails_is_noticed_at_once_and_blamed(
    launcher: Launcher, culprit: tuple[str, int], action: str, code: int
) -> None:
    role, rank = culprit
    launch = launcher.run(*HETER, NET, "steps=0", f"{role}:{rank}={action}")
    assert launch.code == code, launch.err
    record = launch.record()
    assert (record.deaths[0].role, record.deaths[0].rank) == culprit
    assert record.ended is not None
    assert record.ended - record.deaths[0].time < 10
    report = analyze(launch.log_dir)
    assert blamed(report)[0] == culprit
    assert report.root_causes[0].host == "127.0.0.1"
    everybody = {("server", 0), *(("worker", i) for i in (0, 1)), *(("heter", i) for i in range(3))}
    assert victims(report) == everybody - {culprit}
    assert report.job.mode == "ps-heter"
    names = "trainer process with rank" if role == "worker" else f"{role} process with index"
    assert f"{names}=[{rank}]" in launch.err


COORDINATED = (*ONE_TWO, "--coordinator_num=1", NET)


def test_processes_that_fail_alike_keep_their_roles(launcher: Launcher, tmp_path: Path) -> None:
    """Server 0 and ranks 0 and 1 cannot import the same module: there is no server 1."""
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys, time\n"
        "print('role', os.environ['TRAINING_ROLE'], flush=True)\n"
        "time.sleep(0 if os.environ['TRAINING_ROLE'] == 'PSERVER' else 0.3)\n"
        "import no_such_module\n"
    )
    launch = launcher.run(*ONE_TWO, "--settle=20", str(script))
    report = analyze(launch.log_dir)
    assert {(cause.role, cause.ranks) for cause in report.root_causes} == {
        ("server", (0,)),
        ("worker", (0, 1)),
    }
    assert not report.victims


def test_a_coordinator_is_there_as_long_as_the_trainers(launcher: Launcher) -> None:
    launch = launcher.run(*COORDINATED)
    assert launch.code == 0, launch.err
    assert "worker 1 > coordinator 0" in launch.log(1)
    assert "coordinator 0 listens" in (launch.log_dir / "coordinator.0").read_text()
    assert "Local coordinator start 1 processes." in launch.err
    assert f"{launch.log_dir}/coordinator.*" in launch.err
    assert "all coordinators are killed" in launch.err
    assert analyze(launch.log_dir).verdict == "succeeded"


def test_a_coordinator_that_dies_is_to_blame(launcher: Launcher) -> None:
    launch = launcher.run("--settle=1.5", *COORDINATED, "steps=0", "coordinator:0=exit:6:1")
    assert launch.code == 6, launch.err
    assert "coordinator process with index=[0]" in launch.err
    report = analyze(launch.log_dir)
    assert blamed(report) == [("coordinator", 0)]
    assert victims(report) == {("server", 0), ("worker", 0), ("worker", 1)}


def test_trainers_that_lost_their_server_are_victims(launcher: Launcher) -> None:
    """They die of it before they are stopped, with errors of their own."""
    settled = ("--settle=1.5", *ONE_TWO, NET, "steps=0", "server:0=exit:3:1")
    launch = launcher.run(*settled)
    assert launch.code == 3, launch.err
    assert deaths(launch)[0] == ("server", 0, False)
    assert ("worker", 0, False) in deaths(launch)[1:]
    assert "Connection" in launch.log(0)
    report = analyze(launch.log_dir)
    assert blamed(report) == [("server", 0)]
    assert victims(report) == {("worker", 0), ("worker", 1)}


def test_a_trainer_that_finished_early_is_not_to_blame(launcher: Launcher) -> None:
    words = ("steps=0", "worker:0=exit:0:0.5", "server:0=exit:7:1.2")
    launch = launcher.run("--settle=1.5", *ONE_TWO, NET, *words)
    assert launch.code == 7, launch.err
    assert deaths(launch)[:2] == [("worker", 0, False), ("server", 0, False)]
    report = analyze(launch.log_dir)
    assert blamed(report) == [("server", 0)]
    assert victims(report) == {("worker", 1)}


LEAVING = """
import os, sys, time
server, left, ready = os.environ["TRAINING_ROLE"] == "PSERVER", *map(float, sys.argv[1:])
time.sleep(left if server else ready)
"""


def test_a_server_that_leaves_with_0(launcher: Launcher, tmp_path: Path) -> None:
    """A script that forgot `run_server`: the trainers wait for ever and say nothing. One that was
    told to go by trainers that are ready is in order."""
    script = tmp_path / "leave.py"
    script.write_text(LEAVING)
    forgot, told = (
        launcher.start(*ONE_TWO, str(script), *words, log_dir=tmp_path / words[1])
        for words in (("0", "600"), ("0.3", "1"))
    )
    assert told.finish().code == 0, told.err
    assert forgot.finish().code == 1, forgot.err
    for launch in (forgot, told):
        assert "server 0 exited with code 0 while trainers still need it" in launch.err
    assert told.record().reason == "completed"
    assert analyze(told.log_dir).verdict == "succeeded"
    assert "server process with index=[0]" in forgot.err
    report = analyze(forgot.log_dir)
    assert blamed(report) == [("server", 0)]
    assert report.root_causes[0].signature == "verdict.server-left"
    assert victims(report) == {("worker", 0), ("worker", 1)}


def test_a_server_that_leaves_with_0_and_trainers_that_complain(launcher: Launcher) -> None:
    launch = launcher.run(*ONE_TWO, NET, "steps=0", "server:0=exit:0:1")
    assert launch.code == 1, launch.err
    report = analyze(launch.log_dir)
    assert blamed(report) == [("server", 0)]
    assert victims(report) == {("worker", 0), ("worker", 1)}


def test_pdtriage_run_prints_who_it_was(tmp_path: Path) -> None:
    words = ["run", "--log_dir=log", "--report=report.json", *ONE_TWO, str(SCRIPTS / NET)]
    done = subprocess.run(
        [sys.executable, "-m", "pdtriage", *words, "steps=0", "server:0=exit:7:1"],
        cwd=tmp_path,
        env=clean_environment() | {"LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert "FAILED: server 0, host 127.0.0.1" in done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert [(cause["role"], cause["rank"]) for cause in report["root_causes"]] == [("server", 0)]
    assert {(v["role"], v["rank"]) for v in report["victims"]} == {("worker", 0), ("worker", 1)}


def test_a_server_that_ignores_sigterm_does_not_keep_the_job(launcher: Launcher) -> None:
    launch = launcher.run("--grace=0.5", *ONE_TWO, NET, "stubborn=server:0")
    assert launch.code == 0, launch.err
    assert launch.record().deaths[-1].signal == 9
    assert analyze(launch.log_dir).verdict == "succeeded"


def test_an_error_that_was_taken_care_of_is_no_failure(launcher: Launcher) -> None:
    launch = launcher.run(*ONE_TWO, NET, "grumble=worker:1")
    assert launch.code == 0
    assert "no cache" in launch.log(1)
    assert analyze(launch.log_dir).verdict == "succeeded"


def test_ctrl_c(launcher: Launcher) -> None:
    launch = launcher.start(*ONE_TWO, NET, "steps=0")
    launch.wait_for_log("step 1 ", 2)
    launch.process.terminate()
    assert launch.finish().code == 143
    assert launch.record().reason == "interrupted"
    assert not any(is_running(process.pid) for process in launch.record().processes)


def test_a_taken_port_of_a_server_is_refused(launcher: Launcher) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        launch = launcher.run(f"--servers=127.0.0.1:{port}", "--worker_num=1", NET)
    assert launch.code == 2
    assert f"Port {port} is taken" in launch.err


def test_a_second_run_in_the_same_folder(launcher: Launcher) -> None:
    assert launcher.run(*ONE_TWO, NET, "steps=0", "worker:1=exit:5:0.5").code == 5
    launch = launcher.run(*ONE_TWO, NET)
    assert launch.code == 0
    assert launch.record().processes[0].offset > 0
    assert analyze(launch.log_dir).verdict == "succeeded"
    assert blamed(analyze(launch.log_dir, run=1)) == [("worker", 1)]


def test_a_platform_starts_each_process_by_itself(launcher: Launcher, tmp_path: Path) -> None:
    """PaddleCloud and paddle-operator: the script runs once, with the environment given."""
    ports = free_ports(2, {})
    given = {
        "PADDLE_PSERVERS_IP_PORT_LIST": f"127.0.0.1:{ports[0]}",
        "PADDLE_TRAINER_ENDPOINTS": f"127.0.0.1:{ports[1]}",
        "PADDLE_TRAINERS_NUM": "1",
        "POD_IP": "127.0.0.1",
    }
    roles = (("PSERVER", ports[0]), ("TRAINER", ports[1]))
    pods = [
        launcher.start(
            NET,
            log_dir=tmp_path / role,
            env=given
            | {"TRAINING_ROLE": role, "PADDLE_ROLE": role, "PADDLE_PORT": str(port)}
            | {"PADDLE_TRAINER_ID": "0"},
        )
        for role, port in roles
    ]
    assert pods[1].finish().code == 0, pods[1].err
    assert "trained 0 of 1" in pods[1].out
    time.sleep(0.2)
    assert pods[0].process.poll() is None, "a server by itself stays until it is stopped"
    pods[0].process.terminate()
    assert pods[0].finish().code == 143
    process = pods[0].record().processes[0]
    assert (process.role, process.rank, process.log) == ("server", 0, "serverlog.0")
    assert wait_until(lambda: not is_running(process.pid))


@pytest.mark.live
def test_under_paddles_own_launcher(launcher: Launcher, tmp_path: Path) -> None:
    """It waits for its trainers one after another, and ends with 0 whatever became of them."""
    paddle = ("--launcher=paddle", *ONE_TWO, NET)
    well = launcher.start(*paddle, log_dir=tmp_path / "well").finish(60)
    assert well.code == 0, well.err
    started = [(p.role, p.rank, p.log) for p in well.record().processes[1:]]
    assert sorted(started) == [
        ("server", 0, "serverlog.0"),
        ("worker", 0, "workerlog.0"),
        ("worker", 1, "workerlog.1"),
    ]
    assert analyze(well.log_dir).verdict == "succeeded"
    words = ("steps=60", "worker:1=exit:9:1")
    badly = launcher.start(*paddle, *words, log_dir=tmp_path / "badly").finish(60)
    assert badly.code == 9, badly.err
    assert blamed(analyze(badly.log_dir)) == [("worker", 1)]
