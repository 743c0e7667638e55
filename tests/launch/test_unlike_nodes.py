"""Nodes that were started differently are refused when they meet; a port that is not reached is
none of training's business."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.rendezvous import roll_call
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.rendezvous.roll_call import RollCall
from pdtriage.support.errors import UserError

from ..ports import free_port, free_run
from ..running import wait_until
from .conftest import NO_SECRET, SECRET, Launcher

HOSTS = ("127.0.0.1", "127.0.0.2")


def static(port: int, start: int, *hosts: str, own: int) -> tuple[str, ...]:
    lists = f"--ips={','.join(hosts)}"
    return (lists, f"--start_port={start}", f"--facts-port={port}", f"--host={HOSTS[own]}")


@pytest.mark.parametrize("second", [HOSTS[::-1], (*HOSTS, "127.0.0.3")], ids=["order", "more"])
def test_different_lists_are_refused_before_anything_starts(
    launcher: Launcher, tmp_path: Path, second: tuple[str, ...]
) -> None:
    port, start = free_port(), free_run(2)
    nodes = [
        launcher.start(
            *(*static(port, start, *hosts, own=own), "act.py", "0=sleep", "1=sleep", "2=sleep"),
            log_dir=tmp_path / f"n{own}",
            env=SECRET,
        )
        for own, hosts in enumerate((HOSTS, second))
    ]
    for node in nodes:
        assert node.finish(60).code == 2, node.err
        assert "was given the nodes" in node.err


def test_without_a_secret_they_are_refused_as_well_where_nothing_runs_yet(
    launcher: Launcher, tmp_path: Path
) -> None:
    port, start = free_port(), free_run(2)
    nodes = [
        launcher.start(
            *(*static(port, start, *hosts, own=own), "act.py"),
            log_dir=tmp_path / f"n{own}",
            env=NO_SECRET,
        )
        for own, hosts in enumerate((HOSTS, HOSTS[::-1]))
    ]
    # where one of two is so slow to start that the other is at work, that one goes on
    assert 2 in [node.finish(60).code for node in nodes]
    for node in nodes:
        assert "in another order" in node.err


def test_who_comes_late_and_differently_is_noticed_by_those_at_work(
    launcher: Launcher, tmp_path: Path
) -> None:
    port, start = free_port(), free_run(2)
    flags = (static(port, start, *HOSTS, own=0), static(port, start, *HOSTS[::-1], own=1))
    nodes = []
    for own in (0, 1):
        nodes.append(
            launcher.start(
                *(*flags[own], "act.py", "0=sleep", "1=sleep"),
                log_dir=tmp_path / f"n{own}",
                env=SECRET,
            )
        )
        if own == 0:
            nodes[0].wait_for_log("sleep")
    for node in nodes:
        assert node.finish(60).code == 2, node.err
        assert "in another order" in node.err
    assert not list(nodes[1].log_dir.glob("workerlog.*"))


def test_nodes_that_wait_for_unlike_numbers_of_nodes(launcher: Launcher, tmp_path: Path) -> None:
    """The first would train with the second, which would go on waiting for a third."""
    master = f"--master=127.0.0.1:{free_port()}"
    nodes = [
        launcher.start(master, f"--nnodes={count}", "act.py", log_dir=tmp_path / f"n{count}")
        for count in (2, 3)
    ]
    for node, own, other in zip(nodes, (2, 3), (3, 2), strict=True):
        assert node.finish(60).code == 2, node.err
        assert f"waits for {own} nodes in all, another one for {other}" in node.err
        assert not (node.log_dir / "workerlog.0").exists()


def test_two_nodes_with_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll_call, "_CLASH", 0.0)
    server = KVServer(0, HOSTS[0])
    cluster = Cluster("ips", 0, HOSTS, (("127.0.0.1:1",), ("127.0.0.2:1",)), "127.0.0.1:1")
    try:
        nodes = [RollCall(cluster, "j", server.port, launch) for launch in ("a", "b")]
        told = [[node.look() for node in nodes] for _ in range(4)][-1]
        for differs in told:
            assert differs is not None
            assert differs.text.en == "another node says, too, that it is node 0 (127.0.0.1)"
        nodes[0].leave()
        assert nodes[1].look() is None
    finally:
        server.close()


@pytest.mark.parametrize("goes", [False, True], ids=["stays", "goes"])
def test_nothing_starts_while_another_says_it_is_this_node(
    monkeypatch: pytest.MonkeyPatch, *, goes: bool
) -> None:
    """One that is about to end is waited for; one that stays is refused."""
    monkeypatch.setattr(roll_call, "_WAIT", 1.5)
    monkeypatch.setattr(roll_call, "_LINGER", 0.0)
    monkeypatch.setattr(roll_call, "_CLASH", 60.0 if goes else 3.0)
    server = KVServer(0, HOSTS[0])
    cluster = Cluster("ips", 0, HOSTS, (("127.0.0.1:1",), ("127.0.0.2:1",)), "127.0.0.1:1")
    other, own = (RollCall(cluster, "j", server.port, launch) for launch in ("a", "b"))
    turns = 0

    def wait(seconds: float) -> None:
        nonlocal turns
        turns += 1
        time.sleep(seconds)
        if goes and turns == 8:
            other.leave()
        elif not goes or turns < 8:
            other.look()

    try:
        other.look()
        if goes:
            own.gather(wait)
            assert turns >= 8
        else:
            with pytest.raises(UserError, match="another node says, too, that it is node 0"):
                own.gather(wait)
    finally:
        server.close()


def test_remains_of_an_earlier_start_are_not_compared() -> None:
    server = KVServer(0, HOSTS[0])
    try:
        own = Cluster("ips", 0, HOSTS, (("127.0.0.1:1",), ("127.0.0.2:1",)), "127.0.0.1:1")
        other = own._replace(node_rank=1, endpoints=(("127.0.0.1:1", "127.0.0.1:2"),) * 2)
        # its own server is not needed: node 0's is there
        before = RollCall(other, "j", server.port, "a")
        now = RollCall(own, "j", server.port, "b")
        before.look()
        assert [now.look() for _ in range(3)] == [None] * 3
        before.look()
        differs = now.look()
        assert differs is not None
        assert "starts 2 processes, this node 1" in differs.text.en
    finally:
        server.close()


def test_a_node_that_never_reaches_the_port_trains_and_says_so(
    launcher: Launcher, tmp_path: Path
) -> None:
    start = free_run(2)
    nodes = [
        launcher.start(
            *(*static(free_port(), start, *HOSTS, own=own), "act.py", "0=exit:0:1", "1=exit:0:1"),
            log_dir=tmp_path / f"n{own}",
            module="pdtriage run",
        )
        for own in (0, 1)
    ]
    notes = ("nothing was heard of node 1", "could not be reached")
    for node, told in zip(nodes, notes, strict=True):
        assert node.finish(60).code == 0, node.err
        assert any(told in note.en for note in node.record().notes)


def test_a_node_that_reaches_the_port_late_trains_all_the_same(
    launcher: Launcher, tmp_path: Path
) -> None:
    """Somebody else has it when the job starts: training does not wait for it to be free."""
    port, start, go = free_port(), free_run(2), tmp_path / "go"
    with socket.create_server((HOSTS[0], port)):
        nodes = [
            launcher.start(
                *(*static(port, start, *HOSTS, own=own), "act.py", "0=sleep", f"1=until:{go}:21"),
                log_dir=tmp_path / f"n{own}",
                module="pdtriage run",
            )
            for own in (0, 1)
        ]
        for node in nodes:
            node.wait_for_log("rank")
        time.sleep(6)
    client = KVClient(HOSTS[0], port)
    assert wait_until(client.is_ready)
    time.sleep(15)  # the nodes try again every few seconds, and then have met
    go.touch()
    for node in nodes:
        assert node.finish(90).code == 21, node.err
        assert "FAILED: rank 1" in node.err
        assert any("could not be reached for the first" in note.en for note in node.record().notes)
    assert "until it is free" in nodes[0].err
