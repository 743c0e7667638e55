"""Real parameter servers: Paddle 2.6.2, the last whose CPU wheel holds them, in its own venv."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from pdtriage.pipeline import analyze

from .conftest import Launch, Launcher, wait_until
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


SERVERS = ",".join(f"{address}:36170" for address in ADDRESSES)
WORKERS = ",".join(f"{address}:{port}" for address in ADDRESSES for port in (36171, 36172))


@pytest.mark.root
def test_two_servers_and_four_workers_on_two_nodes(nodes: Nodes) -> None:
    flags = (f"--python={PYTHON}", f"--servers={SERVERS}", f"--workers={WORKERS}")
    launches = [nodes.start(i, *flags, "ps_brpc.py", "5") for i in (0, 1)]
    for i, launch in enumerate(launches):
        assert launch.finish(120).code == 0, launch.err[-3000:]
        for local in (0, 1):
            assert f"trained {2 * i + local} of 4" in launch.log(local)
