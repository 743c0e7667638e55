"""Doctors on several nodes: loopback addresses stand for machines, packets and servers are real."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pdtriage.doctor import Context, Finding
from pdtriage.doctor.context import Wishes
from pdtriage.doctor.ports import reach
from pdtriage.launch.plan.addresses import address_towards, is_loopback, own_address
from pdtriage.launch.rendezvous.kv import KVClient, KVServer

from ..etcd import RealEtcd
from ..ports import free_port
from .conftest import Machine, judged

PATIENT = Wishes(wait=10)


def together(check: str, *contexts: Context) -> list[Finding]:
    """What each doctor says when they all look at the same time."""
    with ThreadPoolExecutor(len(contexts)) as pool:
        return list(pool.map(lambda context: judged(check, context), contexts))


def on(
    machine: Machine,
    address: str,
    *words: str,
    clock: Callable[[], float] | None = None,
) -> Context:
    return machine.context(f"--host={address}", *words, wishes=PATIENT, clock=clock)


def test_one_node_has_nobody_to_agree_with(machine: Machine) -> None:
    assert machine.look("nodes-agree").status == "skipped"
    assert machine.look("clocks").status == "skipped"


def test_nobody_else_answers(machine: Machine) -> None:
    words = ("--ips=127.0.0.1,127.0.0.2", "--host=127.0.0.1", f"--facts_port={free_port()}")
    found = machine.look("nodes-agree", *words)
    assert (found.status, "--wait" in found.seen.en) == ("skipped", True)
    assert machine.look("clocks", *words).status == "skipped"


def test_three_nodes_agree(machine: Machine) -> None:
    words = ("--ips=127.0.0.1,127.0.0.2,127.0.0.3", f"--facts_port={free_port()}")
    contexts = [on(machine, f"127.0.0.{n}", *words, "--nproc_per_node=2") for n in (1, 2, 3)]
    began = time.monotonic()
    for found in together("nodes-agree", *contexts):
        assert found.status == "ok"
        assert found.seen.en.startswith("3 of 3")
    assert time.monotonic() - began < 5, "nobody waits longer than it takes"
    assert [found.status for found in together("clocks", *contexts)] == ["ok"] * 3


def test_the_order_of_ips_differs(machine: Machine) -> None:
    port = f"--facts_port={free_port()}"
    first = on(machine, "127.0.0.1", "--ips=127.0.0.1,127.0.0.2", port)
    second = on(machine, "127.0.0.2", "--ips=127.0.0.2,127.0.0.1", port)
    for found in together("nodes-agree", first, second):
        assert found.status == "failed"
        assert "127.0.0.2,127.0.0.1" in found.seen.en


def test_card_counts_differ(machine: Machine) -> None:
    words = ("--ips=127.0.0.1,127.0.0.2", f"--facts_port={free_port()}")
    first = on(machine, "127.0.0.1", *words, "--nproc_per_node=2")
    second = on(machine, "127.0.0.2", *words, "--nproc_per_node=4")
    here, there = together("nodes-agree", first, second)
    assert here.status == there.status == "failed"
    assert "here 2; 127.0.0.2: 4" in here.seen.en
    assert "本机 4；127.0.0.1: 2" in there.seen.zh


def test_a_clock_is_off(machine: Machine) -> None:
    words = ("--nnodes=2", "--master=127.0.0.1:9", f"--facts_port={free_port()}")
    right = on(machine, "127.0.0.1", *words)
    wrong = on(machine, "127.0.0.2", *words, clock=lambda: time.time() + 300)
    here, there = together("clocks", right, wrong)
    assert (here.status, "127.0.0.2 +300 s" in here.seen.en) == ("warning", True)
    assert (there.status, "127.0.0.1 -300 s" in there.seen.en) == ("warning", True)


def test_two_nodes_claim_the_same_rank(machine: Machine) -> None:
    words = ("--nnodes=2", "--master=127.0.0.1:9", f"--facts_port={free_port()}", "--rank=1")
    both = [on(machine, f"127.0.0.{n}", *words) for n in (1, 2)]
    for found in together("nodes-agree", *both):
        assert (found.status, "claims to be node 1" in found.seen.en) == ("failed", True)


def test_a_launch_that_waits_is_heard(machine: Machine) -> None:
    """Its node has told how many processes it starts, in the words of Paddle's launcher."""
    server = KVServer(0, "127.0.0.1")
    try:
        told = {"name": "abc", "replicas": 8, "dtype": "cpu", "candidate": "10.77.0.9:35000"}
        assert KVClient("127.0.0.1", server.port).put("/default/info/abc/-1", json.dumps(told))
        words = ("--nnodes=2", f"--master=127.0.0.1:{server.port}", f"--facts_port={free_port()}")
        found = machine.look("nodes-agree", *words, "--nproc_per_node=2")
        assert (found.status, "10.77.0.9: 8" in found.seen.en) == ("failed", True)
        assert machine.look("nodes-agree", *words, "--nproc_per_node=8").status == "ok"
        waiting = KVClient("127.0.0.1", server.port).get_prefix("/default/info")
        assert waiting is not None
        assert len(waiting) == 1, "a doctor does not count as a node"
        assert machine.look("clocks", *words).status == "ok"
        off = machine.look("clocks", *words, clock=lambda: time.time() - 60)
        assert (off.status, "+60 s" in off.seen.en) == ("warning", True)
    finally:
        server.close()


def test_doctors_meet_at_a_rendezvous_that_is_up(machine: Machine) -> None:
    """Also where --facts-port cannot be used."""
    server = KVServer(0, "127.0.0.1")
    try:
        words = ("--nnodes=2", f"--master=127.0.0.1:{server.port}")
        both = [on(machine, f"127.0.0.{n}", *words, f"--facts_port={n}") for n in (1, 2)]
        for found in together("nodes-agree", *both):
            assert found.seen.en.startswith("2 of 2")
        left = KVClient("127.0.0.1", server.port).get_prefix("/default")
        assert left == {}, "doctors leave nothing behind"
    finally:
        server.close()


def test_the_port_of_the_rendezvous_is_never_opened(machine: Machine) -> None:
    """A launch on another node that waits for node 0 must not take a doctor for it."""
    port = free_port()
    words = ("--nnodes=2", f"--master=127.0.0.1:{port}", f"--facts_port={free_port()}")
    context = machine.context(*words, wishes=Wishes(wait=1))
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(judged, "nodes-agree", context)
        seen = set()
        while not looking.done():
            seen.add(reach("127.0.0.1", port))
            time.sleep(0.05)
    assert seen == {"free"}


def test_a_node_is_named_as_others_reach_it(machine: Machine) -> None:
    """Where its own name resolves to a loopback address, the way to the master decides."""
    words = ("--nnodes=2", "--master=127.0.0.2:9")
    assert machine.context(*words, "--host=node1.example").address == "node1.example"
    if is_loopback(own_address(None)):
        assert machine.context(*words).address == address_towards("127.0.0.2")
    else:
        assert machine.context(*words).address == own_address(None)


def test_nonsense_from_a_stranger_is_not_heard(machine: Machine) -> None:
    server = KVServer(0, "127.0.0.1")
    try:
        client = KVClient("127.0.0.1", server.port)
        for name, text in (("a", "[]"), ("b", "{"), ("c", "\x1b]0;owned\x07")):
            assert client.put(f"/default/pdtriage-doctor/{name}", text)
        words = ("--nnodes=2", f"--master=127.0.0.1:{server.port}", f"--facts_port={free_port()}")
        assert machine.look("nodes-agree", *words).status == "skipped"
    finally:
        server.close()


def test_doctors_meet_at_an_etcd(machine: Machine, etcd: RealEtcd) -> None:
    """In both generations of flags, and nothing is left there."""
    place = f"{etcd.host}:{etcd.port}"
    ways = (
        (f"--master=etcd://{place}", "--nnodes=3", "--job_id=bert-7"),
        (f"--elastic_server={place}", "--np=3", "--job_id=bert-7"),
        (f"--master=etcd://{place}", "--nnodes=3", "--job_id=bert-7"),
    )
    contexts = [on(machine, f"127.0.0.{n}", *words) for n, words in enumerate(ways, 1)]
    for found in together("nodes-agree", *contexts):
        assert (found.status, found.seen.en[:6]) == ("ok", "3 of 3")
    assert [found.status for found in together("clocks", *contexts)] == ["ok"] * 3
    assert not etcd.client().read("/").entries


def test_what_differs_between_nodes_of_an_etcd(machine: Machine, etcd: RealEtcd) -> None:
    words = (f"--master={etcd.url}", "--nnodes=2", "--job_id=bert-7")
    ours = on(machine, "127.0.0.1", *words, "--nproc_per_node=2")
    theirs = on(machine, "127.0.0.2", *words, "--nproc_per_node=3", clock=lambda: time.time() + 60)
    found = together("nodes-agree", ours, theirs)[0]
    assert (found.status, "127.0.0.2: 3" in found.seen.en) == ("failed", True)
    found = judged("clocks", ours)
    assert (found.status, "127.0.0.2 +60 s" in found.seen.en) == ("warning", True)


def test_an_etcd_that_is_away_is_no_place(machine: Machine) -> None:
    words = (f"--master=etcd://127.0.0.1:{free_port()}", "--nnodes=2", "--job_id=bert-7")
    assert machine.look("nodes-agree", *words).status == "skipped"
    assert machine.look("nodes-agree", "--master=etcd://x", "--nnodes=2").status == "skipped"
