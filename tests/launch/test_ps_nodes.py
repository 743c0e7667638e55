"""Parameter-server jobs over several nodes: network namespaces, and pods on one machine."""

from __future__ import annotations

import os
import re
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze
from pdtriage.launch.plan.addresses import free_ports

from ..running import wait_until
from .conftest import NO_SECRET, Launch, Launcher
from .test_namespaces import ADDRESSES, Nodes
from .test_namespaces import nodes as nodes

NET = "ps_net.py"
SERVERS = ",".join(f"{address}:26170" for address in ADDRESSES)
WORKERS = ",".join(f"{address}:{port}" for address in ADDRESSES for port in (26171, 26172))
LISTS = (f"--servers={SERVERS}", f"--workers={WORKERS}")
WITHOUT_PORTS = tuple(re.sub(r":\d+", "", words) for words in LISTS)


def trained(launch: Launch, rank: int, local_rank: int = 0) -> bool:
    return f"trained {rank} of" in launch.log(local_rank)


@pytest.mark.root
def test_servers_wait_for_the_trainers_of_the_other_node(nodes: Nodes) -> None:
    """Node 0 is ready long before node 1, whose trainers still need its server. No list names a
    port: both nodes count on from the same one."""
    short, long = (
        nodes.start(i, *WITHOUT_PORTS, NET, f"steps={steps}") for i, steps in ((0, 2), (1, 30))
    )
    for local in (0, 1):
        assert wait_until(lambda local=local: trained(short, local, local), 20), short.log(local)
    assert long.finish(60).code == 0, long.err
    assert short.finish(20).code == 0, short.err
    assert all(trained(long, 2 + local, local) for local in (0, 1))
    for launch in (short, long):
        assert [d.role for d in launch.record().deaths if d.stopped] == ["server"]


PLACES = {
    **{("server", i): i for i in (0, 1)},
    **{("worker", i): i // 2 for i in range(4)},
    ("heter", 0): 0,
    ("heter", 1): 1,
    ("heter", 2): 1,
    ("coordinator", 0): 1,
}
"""The node of every process of a job with two stages of heter trainers and a coordinator."""


def everybody(first: int) -> tuple[str, ...]:
    """Such a job on ports of its own."""

    def listed(role: str, offset: int, stages: tuple[int, ...] = ()) -> str:
        own = [(rank, node) for (name, rank), node in PLACES.items() if name == role]
        ends = [f"{ADDRESSES[node]}:{first + offset + rank}" for rank, node in own]
        cuts = (0, *stages, len(ends))
        return ";".join(",".join(ends[a:b]) for a, b in pairwise(cuts))

    return (
        f"--servers={listed('server', 0)}",
        f"--workers={listed('worker', 2)}",
        f"--heter_workers={listed('heter', 6, (2,))}",
        f"--coordinators={listed('coordinator', 9)}",
        f"--facts-port={first + 10}",
    )


@pytest.mark.root
@pytest.mark.parametrize("roles", [("server", "worker"), ("heter", "coordinator")])
def test_every_role_killed_in_turn(nodes: Nodes, roles: tuple[str, str]) -> None:
    """Jobs side by side; in each of them another process is killed. Both nodes name it."""
    jobs = {}
    for number, (role, rank) in enumerate(who for who in PLACES if who[0] in roles):
        words = (*everybody(26100 + 20 * number), NET, "steps=0", f"{role}:{rank}=signal:9:4")
        jobs[role, rank] = [
            nodes.start(i, *words, module="pdtriage run", job=f"{role}{rank}") for i in (0, 1)
        ]
    for culprit, launches in jobs.items():
        role, rank = culprit
        name = {"worker": f"rank {rank} of 4", "heter": f"heter worker {rank}"}.get(
            role, f"{role} {rank}"
        )
        host = ADDRESSES[PLACES[culprit]]
        for launch in launches:
            assert launch.finish(60).code == 137, launch.err[-3000:]
            assert f"FAILED: {name}" in launch.err
            assert f"host {host}" in launch.err
        together = analyze(*(launch.log_dir for launch in launches))
        assert [(cause.role, cause.rank) for cause in together.root_causes] == [culprit]
        assert together.root_causes[0].host == host
        assert {(v.role, v.rank) for v in together.victims} == PLACES.keys() - {culprit}


@pytest.mark.root
def test_a_node_that_is_lost_is_not_blamed_on_those_who_are_left(nodes: Nodes) -> None:
    """Nobody says which peer is missing; who was alive until it was stopped is not the one."""
    left, lost = (nodes.start(i, *LISTS, NET, "steps=0", module="pdtriage run") for i in (0, 1))
    for launch in (left, lost):
        assert wait_until(lambda one=launch: "step 3 " in one.log(), 30), launch.log()
    time.sleep(1.5)
    pid = lost.record().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert left.finish(60).code == 1, left.err
    assert re.search(r"node 1 \(\S+\) stopped answering", left.err)
    (cause,) = analyze(left.log_dir).root_causes
    assert cause.rank is None, cause
    lost.finish(30)
    together = analyze(left.log_dir, lost.log_dir)
    assert {(c.role, c.rank) for c in together.root_causes} & {
        ("server", 0),
        ("worker", 0),
    } == set()


@pytest.mark.root
def test_a_node_with_servers_only(nodes: Nodes) -> None:
    words = (f"--servers={ADDRESSES[0]}:26170", f"--workers={ADDRESSES[1]}:26171", NET)
    serving, training = (nodes.start(i, *words) for i in (0, 1))
    for launch in (serving, training):
        assert launch.finish(40).code == 0, launch.err
    assert trained(training, 0)
    assert [death.role for death in serving.record().deaths] == ["server"]


@pytest.mark.root
def test_without_an_exchange_the_own_trainers_decide(nodes: Nodes) -> None:
    """As in Paddle; here the other node never comes, and nobody can know."""
    workers = ",".join(f"{address}:26171" for address in ADDRESSES)
    lists = (f"--servers={ADDRESSES[0]}:26170", f"--workers={workers}")
    launch = nodes.start(0, "--facts-port=0", *lists, NET).finish(30)
    assert launch.code == 0, launch.err
    assert "node 1 does not tell whether its trainers have finished" in launch.err
    assert "not heard of node 1" in launch.record().notes[0].en


@pytest.mark.parametrize(
    "modules",
    [
        ("pdtriage.launch", "pdtriage.launch"),
        pytest.param(("paddle.distributed.launch", "pdtriage.launch"), marks=pytest.mark.live),
    ],
)
def test_nodes_that_meet_at_a_master(
    launcher: Launcher, tmp_path: Path, modules: tuple[str, str]
) -> None:
    port = free_ports(1, {})[0]
    flags = (f"--master=127.0.0.1:{port}", "--nnodes=2", "--host=127.0.0.1")
    counts = ("--server_num=1", "--trainer_num=2")
    launches = [
        launcher.start(
            *flags,
            f"--rank={i}",
            *counts,
            NET,
            "steps=3",
            log_dir=tmp_path / f"n{i}",
            module=module,
            env=NO_SECRET,
        )
        for i, module in enumerate(modules)
    ]
    for i, launch in enumerate(launches):
        for local in (0, 1):
            rank = 2 * i + local
            assert wait_until(lambda one=launch, r=rank, n=local: trained(one, r, n), 40), (
                launch.log()
            )
    ours = launches[1]
    assert [p.rank for p in ours.record().processes if p.role == "worker"] == [2, 3]
    assert [p.rank for p in ours.record().processes if p.role == "server"] == [1]
    if modules[0] == "pdtriage.launch":
        assert [launch.finish(20).code for launch in launches] == [0, 0], ours.err
        return
    # Paddle's launcher stays with its servers, and nobody knows whether it still trains.
    assert ours.process.poll() is None
    for launch in launches:
        launch.signal(signal.SIGTERM)
        launch.finish(60)
