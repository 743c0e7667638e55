"""`--run_mode rpc`: the environment of Paddle's own launcher, and real calls between processes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.plan.addresses import free_ports
from pdtriage.launch.plan.cluster import from_ips
from pdtriage.launch.plan.collective import plan_collective
from pdtriage.launch.plan.devices import assign, find_devices
from pdtriage.launch.plan.process_plan import Plan, Start

from .conftest import Launcher
from .test_command_lines import CPU_WHEEL, StandInCards
from .test_ps_brpc import PYTHON, why_not

PAIR = ("--run_mode=rpc", "--nproc_per_node=2")


def planned(line: str) -> Plan:
    flags = parse_flags(shlex.split(line), {})
    devices = find_devices(flags, {}, CPU_WHEEL, StandInCards({}))
    assignments = assign(flags, devices)
    cluster = from_ips(flags, len(assignments), {})
    start = Start("python", "podpod", "launch")
    return plan_collective(flags, devices, assignments, cluster, start)


def test_static_lists_have_a_place_to_meet_of_its_own() -> None:
    """Rank 0 listens at its own endpoint and at the meeting: they cannot be one port."""
    start = free_ports(3, {})[0]
    line = f"--run_mode=rpc --ips=10.0.0.1,10.0.0.2 --start_port={start} --nproc_per_node=2 t.py"
    first, second = (planned(f"--host=10.0.0.{node} {line}") for node in (1, 2))
    assert first.mode == "rpc"
    processes = [*first.processes, *second.processes]
    assert [p.variables["PADDLE_TRAINER_ID"] for p in processes] == list("0123")
    assert [p.log for p in processes] == [f"workerlog.{i}" for i in range(4)]
    masters = {p.variables["PADDLE_MASTER_ENDPOINT"] for p in processes}
    assert masters == {f"10.0.0.1:{start + 2}"}
    assert not masters & {p.variables["PADDLE_WORKER_ENDPOINT"] for p in processes}


@pytest.mark.live
def test_the_environment_is_that_of_paddles_launcher(launcher: Launcher, tmp_path: Path) -> None:
    """One job, one node under either launcher."""
    master = f"127.0.0.1:{free_ports(1, {})[0]}"
    flags = (f"--master={master}", "--nnodes=2", "--host=127.0.0.1", *PAIR)
    launches = [
        launcher.start(
            *(f"--launcher={which}", *flags, f"--rank={node}", "rpc_calls.py", "env"),
            log_dir=tmp_path / f"n{node}",
            env={"PDTRIAGE_JOB_SECRET": ""},  # Paddle's launcher cannot sign what it asks for
        )
        for node, which in enumerate(("native", "paddle"))
    ]
    for launch in launches:
        assert launch.finish(60).code == 0, launch.err
    told = [
        json.loads(
            (launches[rank // 2].log_dir / f"workerlog.{rank}").read_text().partition("env ")[2]
        )
        for rank in range(4)
    ]
    assert [got["PADDLE_TRAINER_ID"] for got in told] == list("0123")
    assert {got["PADDLE_TRAINERS_NUM"] for got in told} == {"4"}
    assert len({got["PADDLE_MASTER_ENDPOINT"] for got in told}) == 1
    assert len({got["PADDLE_WORKER_ENDPOINT"] for got in told}) == 4
    assert told[0].keys() == told[2].keys()
    for node, launch in enumerate(launches):
        started = {p.rank: p.log for p in launch.record().processes if p.role == "worker"}
        assert started == {rank: f"workerlog.{rank}" for rank in (2 * node, 2 * node + 1)}
        assert launch.record().mode == "rpc"


def test_whoever_fails_is_blamed(launcher: Launcher) -> None:
    launch = launcher.run(*PAIR, "act.py", "0=sleep", "1=exit:7:0.5")
    assert launch.code == 7, launch.err
    assert ", mode rpc, " in launch.err
    report = analyze(launch.log_dir)
    assert report.job.mode == "rpc"
    assert [cause.rank for cause in report.root_causes] == [1]


@pytest.mark.live
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_real_calls(launcher: Launcher) -> None:
    """With Paddle 2.6.2: the CPU wheel of 3.3.1 is built without them."""
    launch = launcher.start(f"--python={PYTHON}", *PAIR, "rpc_calls.py").finish(60)
    assert launch.code == 0, launch.log()
    for rank in (0, 1):
        assert f"{rank} of 2 was told {100 + rank}" in launch.log(rank)
