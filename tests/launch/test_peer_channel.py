"""How long a node has not been heard of, where its key hangs on a lease."""

from __future__ import annotations

import json
import time

from pdtriage.launch.plan.cluster import Cluster
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
