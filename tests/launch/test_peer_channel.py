"""Which node has not been heard of, and for how long."""

from __future__ import annotations

import json
import time

import pytest

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.rendezvous import peer_channel
from pdtriage.launch.rendezvous.job_secret import JobSecret, exchange_of
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.rendezvous.peer_channel import FactsChannel, Message
from pdtriage.launch.supervise.events import PeerSilent

from ..running import wait_until


class Exchange:
    """Shows the key of node 1 until its lease has run out."""

    timeout = 1.0

    def __init__(self) -> None:
        self.there = True

    def put(self, key: str, value: str) -> bool:
        return bool(key and value)

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        said = json.dumps({"beat": 0, "state": "running", "version": 0, "replicas": 1})
        return {f"{prefix}1": said} if self.there else {}


def test_the_time_its_lease_took_to_run_out_is_counted() -> None:
    exchange, heard = Exchange(), list[Message]()
    cluster = Cluster("master", 0, ("h0", "h1"), (("h0:1",), ("h1:1",)), "h0:9")
    channel = FactsChannel(exchange, cluster, "j", heard.append, leased=True, lease_seconds=10.0)
    assert wait_until(lambda: channel.is_alive(1))
    exchange.there = False
    assert wait_until(lambda: any(isinstance(message, PeerSilent) for message in heard))
    channel.close()
    (silent,) = (message for message in heard if isinstance(message, PeerSilent))
    assert silent.seconds > 10
    assert silent.since < time.time() - 10


def test_where_the_exchange_is_gone_only_the_node_that_served_it_is_missed() -> None:
    hosts = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    server = KVServer(0, hosts[0])
    cluster = Cluster("ips", 0, hosts, tuple((f"{host}:1",) for host in hosts), "127.0.0.1:1")
    heard: tuple[list[Message], ...] = ([], [], [])
    channels = []
    for rank in range(3):
        own = cluster._replace(node_rank=rank)
        client = exchange_of(KVClient(hosts[0], server.port), None, f"launch {rank}", own)
        channels.append(FactsChannel(client, own, "j", heard[rank].append, address=hosts[0]))
    try:
        assert wait_until(lambda: all(channel.is_alive(0) for channel in channels[1:]))
        assert wait_until(lambda: channels[1].is_alive(2) and channels[2].is_alive(1))
        began = time.time()
        server.close()
        for messages in heard[1:]:
            assert wait_until(lambda said=messages: bool(said))  # type: ignore[misc]
    finally:
        for channel in channels:
            channel.close()
    for messages in heard[1:]:
        assert [type(message) for message in messages] == [PeerSilent]
        assert isinstance(messages[0], PeerSilent)
        assert (messages[0].node, messages[0].host) == (0, hosts[0])
        assert messages[0].since < began, "it was known to live before that, not after"
    assert heard[0] == []


@pytest.mark.parametrize("secret", [JobSecret("of this job"), None])
def test_a_node_that_died_before_its_first_word_is_missed(
    monkeypatch: pytest.MonkeyPatch, secret: JobSecret | None
) -> None:
    """It had met the others; without a secret it may be one of Paddle's, which has no words."""
    monkeypatch.setattr(peer_channel, "_UNHEARD", 0.5)
    hosts = ("127.0.0.1", "127.0.0.2")
    server = KVServer(0, hosts[0], secret)
    endpoints = tuple((f"{host}:1",) for host in hosts)
    cluster = Cluster("master", 0, hosts, endpoints, "127.0.0.1:1")
    heard: list[Message] = []
    client = exchange_of(KVClient(hosts[0], server.port, secret=secret), secret, "launch", cluster)
    began = time.time()
    channel = FactsChannel(client, cluster, "j", heard.append, host=server, address=hosts[0])
    try:
        if secret is not None:
            assert wait_until(lambda: any(isinstance(m, PeerSilent) for m in heard))
            (silent,) = (m for m in heard if isinstance(m, PeerSilent))
            assert silent.node == 1
            assert began <= silent.since <= time.time()
        else:
            time.sleep(3)
            assert heard == []
    finally:
        channel.close()
        server.close()
