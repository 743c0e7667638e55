"""How nodes agree on worlds: many members in one process, and a real etcd between them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, EtcdStore
from pdtriage.launch.elastic.generation import ElasticMember, Generation, Keys, view_of
from pdtriage.launch.elastic.generation_rules import ElasticTerms
from pdtriage.launch.elastic.membership import Membership
from pdtriage.launch.elastic.membership_events import (
    EtcdBack,
    EtcdSilent,
    Expelled,
    MembershipEvent,
    WorldChanges,
)
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.rendezvous.peer_channel import FactsChannel, Message
from pdtriage.launch.supervise.events import PeerSpoke
from pdtriage.record.schema import PeerFacts

from ..etcd import RealEtcd
from ..running import wait_until

TERMS = ElasticTerms(2, 3, first=0.8, again=0.4, join=0.3, lost=0.8, late=3.0)
TTL = 2
CALM = TERMS._replace(lost=3.0)
CALM_TTL = 6
"""Where nothing is to happen, although the machine may be busy for a while."""
PORTS = itertools.count(20000)
JOBS = (f"job-{number}" for number in itertools.count())


class CutEtcd(Etcd):
    """An etcd whose cable can be pulled for one node alone."""

    cut = False

    def _post(self, path: str, question: Mapping[str, object]) -> dict[str, Any]:
        if self.cut:
            raise EtcdAwayError("the cable is out")
        return super()._post(path, question)


class Node:
    """A launcher reduced to its membership."""

    def __init__(
        self,
        place: RealEtcd,
        job: str,
        pod: str,
        terms: ElasticTerms = TERMS,
        ttl: int = TTL,
        *,
        start: bool = True,
    ) -> None:
        self.etcd = CutEtcd(place.host, place.port, 0.6)
        self.events: list[MembershipEvent] = []
        self.member = Membership(
            self.etcd, Keys(job), pod, LaunchFlags(), terms, ttl, self.events.append
        )
        self.offer()
        if start:
            self.member.start()

    def offer(self) -> None:
        port = next(PORTS)
        ends = {"candidate": f"10.0.0.1:{port}", "endpoints": f"10.0.0.1:{port + 20000}"}
        speech = {"name": self.member.pod, "rank": -1, "replicas": 1, "dtype": "cpu", **ends}
        self.member.offer(speech)

    def world(self, seconds: float = 12.0) -> Generation:
        """Wait for a world with this node in it, and take part."""
        assert wait_until(lambda: self.member.offered_world() is not None, seconds), self.seen()
        generation = self.member.offered_world()
        assert generation is not None
        self.member.take(generation)
        return generation

    def again(self) -> None:
        """Stop as the world changes, and offer anew."""
        assert wait_until(lambda: bool(self.changes())), self.seen()
        self.events.clear()
        self.member.report_end("stopped")
        self.offer()

    def changes(self) -> list[str]:
        return [event.text.en for event in self.events if isinstance(event, WorldChanges)]

    def seen(self) -> object:
        return self.member.view, self.member.error, self.member.crashed

    def revision(self) -> int:
        return self.member.view.revision if self.member.view is not None else 0

    def generation(self) -> Generation:
        view = self.member.view
        assert view is not None
        assert view.generation is not None
        return view.generation


class Nodes:
    def __init__(self, place: RealEtcd) -> None:
        self.place = place
        self.job = next(JOBS)
        self.all: dict[str, Node] = {}

    def add(self, *pods: str, terms: ElasticTerms = TERMS, ttl: int = TTL) -> list[Node]:
        """One after the other, so that everybody knows who is the oldest."""
        for pod in pods:
            node = self.all[pod] = Node(self.place, self.job, pod, terms, ttl)
            assert wait_until(lambda node=node: node.member.view is not None), node.seen()
        return [self.all[pod] for pod in pods]

    def assert_calm(self, *members: Node) -> None:
        """Nothing happened to them, and they did look."""
        client = self.place.client()
        client.write({"/elsewhere": "a new revision"})
        revision = client.read("/elsewhere").revision
        for node in members:
            assert wait_until(lambda node=node: node.revision() >= revision), node.seen()
            assert node.member.crashed is None
            assert not node.changes()


@pytest.fixture
def nodes(etcd: RealEtcd) -> Iterator[Nodes]:
    several = Nodes(etcd)
    yield several
    for node in several.all.values():
        node.member.close()


def test_only_one_of_two_writes_that_saw_the_same_wins(etcd: RealEtcd) -> None:
    client = etcd.client()
    assert client.write({"/one/key": "a"}, unchanged={"/one/key": 0})
    assert not client.write({"/one/key": "b"}, unchanged={"/one/key": 0})
    entry = client.read("/one/").entries["/one/key"]
    assert client.write({"/one/key": "c"}, unchanged={"/one/key": entry.modified})
    assert not client.write({"/one/key": "d"}, unchanged={"/one/key": entry.modified})
    assert client.read("/one/key").entries["/one/key"].value == "c"


def test_a_node_that_looked_too_early_writes_nothing(nodes: Nodes) -> None:
    """Two nodes may both believe that it is their turn; the second write is refused."""
    keys, client = Keys(nodes.job), nodes.place.client()
    slow = Node(nodes.place, nodes.job, "a", start=False).member
    client.write({keys.members + pod: ElasticMember(pod, "ready", 0, {}).text() for pod in "abc"})
    seen = view_of(client.read(*keys.all()), keys)
    client.write({keys.generation: "somebody was faster"})
    assert slow._take_turn(seen, 0.0)
    assert client.read(keys.generation).entries[keys.generation].value == "somebody was faster"
    client.write({}, deletes=[keys.generation])
    assert slow._take_turn(seen, 0.0)
    assert client.read(keys.generation).entries, "it was as seen again"
    client.write({}, deletes=[keys.generation, f"{keys.members}c"])
    assert slow._take_turn(seen, 0.0)
    assert not client.read(keys.generation).entries, "not with a node that is gone"


def test_all_nodes_read_the_same_world(nodes: Nodes) -> None:
    worlds = [node.world() for node in nodes.add("c", "a", "b")]
    assert len({world.text() for world in worlds}) == 1
    assert worlds[0].pods == ("c", "a", "b"), "the oldest node is rank 0"
    assert (worlds[0].number, worlds[0].attempt) == (1, 0)


def test_a_node_that_joins_makes_a_new_world_and_the_old_ranks_stay_in_front(
    nodes: Nodes,
) -> None:
    first, second = nodes.add("m", "n")
    assert first.world().pods == second.world().pods == ("m", "n")
    (third,) = nodes.add("a")
    for node in (first, second):
        node.again()
    worlds = [node.world() for node in (first, second, third)]
    assert [world.pods for world in worlds] == [("m", "n", "a")] * 3
    assert (worlds[0].number, worlds[0].attempt, worlds[0].failures) == (2, 1, 0)


def test_no_world_below_the_least_number(nodes: Nodes) -> None:
    (alone,) = nodes.add("a")
    time.sleep(TERMS.first + 1.0)
    assert alone.member.offered_world() is None


def test_a_spare_waits_and_steps_in(nodes: Nodes) -> None:
    members = nodes.add("a", "b", "c", terms=CALM, ttl=CALM_TTL)
    for node in members:
        node.world()
    (spare,) = nodes.add("d", terms=CALM, ttl=CALM_TTL)
    time.sleep(1.0)
    nodes.assert_calm(*members)
    beats = nodes.place.client().read(Keys(nodes.job).heartbeats).entries
    assert {key[-1] for key in beats} == {"a", "b", "c"}, "a spare is not counted"
    members[1].member.close()
    for node in (members[0], members[2]):
        node.again()
    assert [node.world().pods for node in (members[0], members[2], spare)] == [("a", "c", "d")] * 3


def test_a_lost_lease_changes_nothing(nodes: Nodes) -> None:
    members = nodes.add("a", "b", "c", terms=CALM, ttl=CALM_TTL)
    before = {node.world().text() for node in members}.pop()
    lost = members[1].member.lease
    nodes.place.client().revoke(lost)
    assert wait_until(lambda: members[1].member.lease != lost)
    time.sleep(CALM.lost + 0.5)
    nodes.assert_calm(*members)
    assert members[2].generation().text() == before
    view = members[0].member.view
    assert view is not None
    assert set(view.members) == {"a", "b", "c"}


@pytest.mark.parametrize("how", ["restarted", "emptied"])
def test_an_etcd_that_is_away_for_longer_than_the_leases_changes_nothing(
    nodes: Nodes, how: str
) -> None:
    ttl = 4
    members = nodes.add("a", "b", "c", terms=CALM, ttl=ttl)
    before = {node.world().text() for node in members}.pop()
    place = nodes.place
    place.end()
    try:
        time.sleep(ttl)
        if how == "emptied":
            place.forget()
    finally:
        place.start()
    for node in members:
        assert wait_until(lambda node=node: any(isinstance(n, EtcdBack) for n in node.events))
        assert any(isinstance(event, EtcdSilent) for event in node.events)
    time.sleep(2.0)
    nodes.assert_calm(*members)
    assert wait_until(lambda: members[0].generation().text() == before)


def test_a_node_cut_off_alone_finds_the_others_re_formed(nodes: Nodes) -> None:
    members = nodes.add("a", "b", "c")
    for node in members:
        node.world()
    cut = members[0]
    cut.etcd.cut = True
    for node in members[1:]:
        node.again()
    assert [node.world().pods for node in members[1:]] == [("b", "c")] * 2
    assert not cut.changes(), "it cannot know yet, and trains on"
    cut.etcd.cut = False
    for node in members:
        node.again()
    worlds = [node.world() for node in members]
    assert [world.pods for world in worlds] == [("b", "c", "a")] * 3


def test_a_node_killed_without_a_word_is_missed_after_its_lease(nodes: Nodes) -> None:
    members = nodes.add("a", "b", "c")
    for node in members:
        node.world()
    members[0].etcd.cut = True
    assert wait_until(lambda: bool(members[1].changes()))
    assert members[1].generation().why == "lost"
    for node in members[1:]:
        node.again()
    assert [node.world().pods for node in members[1:]] == [("b", "c")] * 2


def test_once_a_node_has_finished_nobody_who_goes_restarts_the_job(nodes: Nodes) -> None:
    members = nodes.add("a", "b", "c")
    for node in members:
        node.world()
    members[0].member.report_end("over")
    assert wait_until(lambda: members[1].generation().finished == ("a",))
    members[0].member.close()
    members[2].etcd.cut = True
    time.sleep(TTL + TERMS.lost + 0.5)
    nodes.assert_calm(members[1])
    members[1].member.report_end("over")
    assert wait_until(lambda: members[1].generation().state == "ended"), members[1].seen()
    assert members[1].generation().why == "completed"


def test_a_thread_that_dies_tells_the_main_loop(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (node,) = nodes.add("a")

    def broken() -> bool:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(node.member, "_turn", broken)
    assert wait_until(lambda: bool(node.events))
    assert isinstance(node.events[0], Expelled)
    assert "ZeroDivisionError: a mistake" in node.events[0].text.zh


def test_a_generation_nobody_is_left_of_belongs_to_another_job(nodes: Nodes) -> None:
    for node in nodes.add("a", "b"):
        node.world()
    for node in nodes.all.values():
        node.member.close()
    worlds = [node.world() for node in nodes.add("x", "y")]
    assert [world.pods for world in worlds] == [("x", "y")] * 2
    assert (worlds[0].number, worlds[0].attempt) == (2, 0)


def test_nodes_of_another_size_are_not_taken_along(nodes: Nodes) -> None:
    (odd,) = nodes.add("z")
    wide = {"name": "z", "replicas": 8, "rank": -1, "candidate": "h:1", "endpoints": "h:2"}
    odd.member.offer(wide)
    time.sleep(0.5)
    several = nodes.add("a", "b")
    # The oldest decides, and no second node has its size.
    time.sleep(TERMS.first + 0.5)
    assert all(node.member.offered_world() is None for node in several)
    odd.member.close()
    assert [node.world().pods for node in several] == [("a", "b")] * 2


def test_facts_travel_over_etcd_and_are_written_only_when_they_change(
    nodes: Nodes,
) -> None:
    members = nodes.add("a", "b", "c")
    number = next(node.world().number for node in members)
    keys = Keys(nodes.job)
    heard: dict[int, list[Message]] = {0: [], 1: []}
    channels = []
    for rank, node in enumerate(members[:2]):
        member = node.member
        base, lease = f"{keys.facts}{number}", lambda member=member: member.lease
        exchange = EtcdStore(nodes.place.client(), base, lease)
        cluster = Cluster("master", rank, ("h0", "h1"), (("h0:1",), ("h1:1",)), "h0:9")
        channels.append(FactsChannel(exchange, cluster, "j", heard[rank].append, leased=True))
    assert wait_until(lambda: all(c.is_alive(1 - i) for i, c in enumerate(channels)))
    quiet = nodes.place.client().read(keys.facts)
    time.sleep(1.5)
    assert nodes.place.client().read(keys.facts).entries == quiet.entries
    channels[0].publish("failed", PeerFacts(rank=0, code=9))
    assert wait_until(lambda: any(isinstance(m, PeerSpoke) for m in heard[1]))
    told = next(m for m in heard[1] if isinstance(m, PeerSpoke) and m.facts.failed)
    assert (told.node, told.facts.code) == (0, 9)
    for channel in channels:
        channel.close()
