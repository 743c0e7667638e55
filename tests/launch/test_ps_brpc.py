"""Real parameter servers: Paddle 2.6.2, the last whose CPU wheel holds them, in its own venv."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze

from ..running import wait_until
from .conftest import Launch, Launcher
from .test_namespaces import ADDRESSES, Nodes
from .test_namespaces import nodes as nodes

VENV = Path(__file__).parents[2] / ".venv-paddle26"
PYTHON = VENV / "bin" / "python"
FOREVER = "100000"


def why_not() -> str:
    """Why there are no real servers here; empty when there are."""
    if not PYTHON.exists():
        return f"`make test` makes {VENV.name} with paddlepaddle 2.6.2; it is not here"
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('paddle') is None)"
    if subprocess.run([PYTHON, "-c", look], check=False).returncode == 0:
        return ""
    told = VENV / "why.txt"
    lines = told.read_text(errors="replace").splitlines() if told.exists() else []
    errors = [line for line in lines if line.startswith("ERROR")]
    return f"paddlepaddle 2.6.2 cannot be had: {errors[-1] if errors else 'unknown reason'}"


pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
]


def pid_of(launch: Launch, role: str, rank: int) -> int:
    started = launch.record().processes
    return next(p.pid for p in started if (p.role, p.rank) == (role, rank))


def await_steps(launch: Launch, workers: int) -> None:
    assert wait_until(lambda: all("step 3 " in launch.log(i) for i in range(workers)), 60), [
        launch.log(i)[-2000:] for i in range(workers)
    ]


def test_training_to_the_end(launcher: Launcher) -> None:
    launch = launcher.start(
        f"--python={PYTHON}", "--server_num=1", "--worker_num=2", "ps_brpc.py", "5"
    ).finish(120)
    assert launch.code == 0, launch.log(0)[-3000:]
    for rank in (0, 1):
        assert f"trained {rank} of 2" in launch.log(rank)
    assert "serving 0" in (launch.log_dir / "serverlog.0").read_text()
    assert "all parameter server are killed" in launch.err
    assert analyze(launch.log_dir).verdict == "succeeded"


def test_every_role_killed_in_turn(launcher: Launcher, tmp_path: Path) -> None:
    """Three jobs side by side: most of their time goes by waiting for each other's start."""
    everybody = {("server", 0), ("worker", 0), ("worker", 1)}
    flags = (f"--python={PYTHON}", "--server_num=1", "--worker_num=2", "ps_brpc.py", FOREVER)
    jobs = {
        culprit: launcher.start(*flags, log_dir=tmp_path / f"{culprit[0]}{culprit[1]}")
        for culprit in sorted(everybody)
    }
    for culprit, launch in jobs.items():
        await_steps(launch, 2)
        os.kill(pid_of(launch, *culprit), signal.SIGKILL)
    for culprit, launch in jobs.items():
        assert launch.finish(30).code == 137
        record = launch.record()
        assert record.ended is not None
        assert record.ended - record.deaths[0].time < 8
        report = analyze(launch.log_dir)
        assert [(cause.role, cause.rank) for cause in report.root_causes] == [culprit]
        assert {(v.role, v.rank) for v in report.victims} == everybody - {culprit}


def lists(first_port: int) -> tuple[str, str]:
    """2 servers and 4 trainers on two nodes."""
    servers = ",".join(f"{address}:{first_port}" for address in ADDRESSES)
    workers = ",".join(f"{address}:{first_port + i}" for address in ADDRESSES for i in (1, 2))
    return f"--servers={servers}", f"--workers={workers}"


@pytest.mark.root
def test_two_servers_and_four_workers_on_two_nodes(nodes: Nodes) -> None:
    flags = (f"--python={PYTHON}", *lists(26170))
    launches = [nodes.start(i, *flags, "ps_brpc.py", "5") for i in (0, 1)]
    for i, launch in enumerate(launches):
        assert launch.finish(120).code == 0, launch.err[-3000:]
        for local in (0, 1):
            assert f"trained {2 * i + local} of 4" in launch.log(local)


HOSTS = {("server", 0): 0, ("server", 1): 1} | {("worker", i): i // 2 for i in range(4)}
"""The node of every process of such a job."""


def start_on_both(nodes: Nodes, number: int, culprit: tuple[str, int]) -> list[Launch]:
    flags = (f"--python={PYTHON}", f"--facts-port={26900 + number}", "--gloo_port", "26950")
    words = (*flags, *lists(26000 + 10 * number), "--settle=2", "ps_brpc.py", FOREVER)
    job = "".join(map(str, culprit))
    return [nodes.start(i, *words, job=job, module="pdtriage run") for i in (0, 1)]


@pytest.mark.root
def test_every_role_killed_in_turn_on_two_nodes(nodes: Nodes) -> None:
    """Both nodes name the one process that was killed, and where; those that complain of it for
    two seconds are not to blame."""
    culprits = (("server", 1), ("worker", 0))
    jobs = {who: start_on_both(nodes, number, who) for number, who in enumerate(culprits)}
    for culprit, launches in jobs.items():
        for launch in launches:
            await_steps(launch, 2)
        os.kill(pid_of(launches[HOSTS[culprit]], *culprit), signal.SIGKILL)
    for culprit, launches in jobs.items():
        name = "server 1" if culprit[0] == "server" else "rank 0 of 4"
        for launch in launches:
            assert launch.finish(60).code == 137, launch.err[-3000:]
            assert f"FAILED: {name}" in launch.err
            assert f"host {ADDRESSES[HOSTS[culprit]]}" in launch.err
        report = analyze(*(launch.log_dir for launch in launches))
        assert [(cause.role, cause.rank) for cause in report.root_causes] == [culprit]
        assert report.root_causes[0].host == ADDRESSES[HOSTS[culprit]]
        assert {(v.role, v.rank) for v in report.victims} == HOSTS.keys() - {culprit}
