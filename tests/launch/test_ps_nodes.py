"""Parameter-server jobs over several nodes: network namespaces, and pods on one machine."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from pdtriage.launch.happenings import PeerSpoke
from pdtriage.launch.network import free_ports
from pdtriage.launch.ps_lifetime import LOST_AFTER, Lifetime
from pdtriage.pipeline import analyze

from .conftest import Launch, Launcher, wait_until
from .test_namespaces import ADDRESSES, Nodes
from .test_namespaces import nodes as nodes

NET = "ps_net.py"
SERVERS = ",".join(f"{address}:36170" for address in ADDRESSES)
WORKERS = ",".join(f"{address}:{port}" for address in ADDRESSES for port in (36171, 36172))
LISTS = (f"--servers={SERVERS}", f"--workers={WORKERS}")


def trained(launch: Launch, rank: int, local_rank: int = 0) -> bool:
    return f"trained {rank} of" in launch.log(local_rank)


@pytest.mark.root
def test_servers_wait_for_the_trainers_of_the_other_node(nodes: Nodes) -> None:
    """Node 0 is ready long before node 1, whose trainers still need its server."""
    short, long = (nodes.start(i, *LISTS, NET, f"steps={steps}") for i, steps in ((0, 2), (1, 30)))
    for local in (0, 1):
        assert wait_until(lambda local=local: trained(short, local, local), 20), short.log(local)
    assert long.finish(60).code == 0, long.err
    assert short.finish(20).code == 0, short.err
    assert all(trained(long, 2 + local, local) for local in (0, 1))
    for launch in (short, long):
        assert [d.role for d in launch.record().deaths if d.stopped] == ["server"]


@pytest.mark.root
@pytest.mark.parametrize("culprit", [("server", 1), ("worker", 3), ("heter", 0)])
def test_both_nodes_blame_the_same_process(nodes: Nodes, culprit: tuple[str, int]) -> None:
    role, rank = culprit
    heter = f"--heter_workers={ADDRESSES[1]}:36180"
    words = (*LISTS, heter, NET, "steps=0", f"{role}:{rank}=exit:21:1.5")
    launches = [nodes.start(i, *words, module="pdtriage run") for i in (0, 1)]
    for launch in launches:
        assert launch.finish(60).code == 21, launch.err
        assert f"host {ADDRESSES[1]}" in launch.err
        name = {"worker": "rank 3 of 4", "heter": "heter worker 0"}.get(role, f"{role} {rank}")
        assert f"FAILED: {name}" in launch.err
    together = analyze(*(launch.log_dir for launch in launches))
    assert [(cause.role, cause.rank) for cause in together.root_causes] == [culprit]


@pytest.mark.root
def test_a_node_with_servers_only(nodes: Nodes) -> None:
    words = (f"--servers={ADDRESSES[0]}:36170", f"--workers={ADDRESSES[1]}:36171", NET)
    serving, training = (nodes.start(i, *words) for i in (0, 1))
    for launch in (serving, training):
        assert launch.finish(40).code == 0, launch.err
    assert trained(training, 0)
    assert [death.role for death in serving.record().deaths] == ["server"]


@pytest.mark.root
def test_without_an_exchange_the_own_trainers_decide(nodes: Nodes) -> None:
    """As in Paddle; here the other node never comes, and nobody can know."""
    workers = ",".join(f"{address}:36171" for address in ADDRESSES)
    lists = (f"--servers={ADDRESSES[0]}:36170", f"--workers={workers}")
    launch = nodes.start(0, "--facts-port=0", *lists, NET).finish(30)
    assert launch.code == 0, launch.err
    assert "node 1 does not tell whether its trainers have finished" in launch.err
    assert "not heard of node 1" in launch.record().notes[0]


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


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_how_long_servers_are_needed() -> None:
    clock, told, heard = Clock(), [], {1}
    life = Lifetime(
        [7, 8],
        [1, 2],
        is_heard=lambda node: node in heard,
        on_trained=lambda: told.append("trained"),
        clock=clock,
    )
    life.ended(7)
    assert not told
    life.ended(8)
    assert told == ["trained"]
    assert not life.is_over()
    assert life.next_look() == 100.0 + LOST_AFTER
    clock.time += LOST_AFTER
    assert not life.is_over(), "node 1 still trains"
    life.hear(PeerSpoke(1, {"state": "running"}))
    assert not life.is_over()
    life.hear(PeerSpoke(1, {"state": "trained"}))
    assert life.is_over(), "node 2 was never heard of"


def test_servers_without_trainers_and_without_word_stay() -> None:
    assert not Lifetime([], [1]).is_over()
    assert not Lifetime([], [1], is_heard=lambda _: False, clock=time.monotonic).is_over()
    life = Lifetime([5], [1])
    life.ended(5)
    assert life.is_over(), "as Paddle: own trainers decide"
