"""Nodes of an `--ips` job compare what they were told: nobody else can see that it differs.

Every node writes its list, its place in it and its number of processes where the node with the
lowest address serves, whatever the order of the lists. Only who still writes counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import time
from collections.abc import Callable, Sequence
from math import inf

from pdtriage.launch.plan.cluster import Cluster, some_of
from pdtriage.launch.rendezvous.job_secret import JobSecret
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.record.fields import Json, count, decode_message, text
from pdtriage.record.schema import named_node
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

_POLL = 0.25
_LONGEST = 400
_WAIT = 3.0
"""Seconds to wait for the others before anything is started; they may come any time later."""
_LINGER = 2.0
"""Seconds that a node which refuses stays for the others to read why."""
_CLASH = 12.0
"""Seconds after which two nodes that say they are the same are no remains of an earlier start."""
_FRESH = 3.0
"""Seconds without a new word after which a node is not there any more."""


class Unlike(NamedTuple):
    """How another node's list of nodes, or number of processes, differs from ours."""

    node: int
    processes: int
    text: Text


class RollCall:
    """Compares what each node of an `--ips` job was told of the nodes and their processes."""

    def __init__(
        self, cluster: Cluster, job: str, port: int, launch: str, secret: JobSecret | None = None
    ) -> None:
        self._cluster = cluster
        self._processes = 0 if cluster.listed else len(cluster.own_endpoints)
        lowest = min(cluster.nodes, key=_in_order)
        self._client = KVClient(lowest, port, 1.0, secret)
        self._server: KVServer | None = None
        if cluster.address == lowest and cluster.node_rank != 0:
            # Node 0 of the list serves anyway.
            with contextlib.suppress(OSError):
                self._server = KVServer(port, lowest, secret)
        self._prefix = f"/{job}/pdtriage/info/"
        self._key = f"{self._prefix}{launch}"
        self._claim = {
            "list": _digest(cluster.nodes),
            "set": _digest(sorted(cluster.nodes)),
            "shown": some_of(cluster.nodes),
            "address": cluster.address,
            "rank": cluster.node_rank,
            "processes": self._processes,
        }
        self._every = max(_POLL, len(cluster.nodes) / 64)
        self._beat = 0
        self._beats: dict[str, tuple[int, float]] = {}
        """The last beat of each, and when it was new."""
        self._clash: float | None = None
        self.here: set[int] = set()
        """Nodes that were told the same."""

    def gather(self, wait: Callable[[float], None]) -> None:
        """Wait a moment for the others; raises `UserError` where they were told something else.

        Whoever says that it is this very node is waited for: it may be about to end.
        """
        deadline = time.monotonic() + _WAIT
        while self._clash is not None or (
            time.monotonic() < deadline and len(self.here) < len(self._cluster.nodes) - 1
        ):
            differs = self.look()
            if differs is not None:
                end = time.monotonic() + _LINGER
                while time.monotonic() < end:
                    self.look()
                    wait(self._every)
                raise _refusal(differs)
            wait(min(self._every, _WAIT))

    def look(self) -> Unlike | None:
        """Write down that this node is here, and compare it with all that are."""
        self._beat += 1
        if not self._client.put(self._key, json.dumps({**self._claim, "beat": self._beat})):
            self._clash = None  # nobody can say so
            return None
        found = self._client.get_prefix(self._prefix) or {}
        clash, self._clash = self._clash, None
        differences = [
            self._compare(claim, clash)
            for key, other in found.items()
            if key != self._key and (claim := decode_message(other)) and self._is_alive(key, claim)
        ]
        return next(filter(None, differences), None)

    def leave(self) -> None:
        """The job ends here: who starts it again must not be compared with this node."""
        self._client.delete(self._key)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def _is_alive(self, key: str, claim: Json) -> bool:
        beat, moment = count(claim, "beat") or 0, time.monotonic()
        before, new_at = self._beats.get(key, (beat, -inf))
        self._beats[key] = (beat, moment if beat != before else new_at)
        return moment - self._beats[key][1] < _FRESH + self._every

    def _compare(self, claim: Json, clash: float | None) -> Unlike | None:
        """`clash`: since when another one has said that it is this node."""
        rank, processes = count(claim, "rank"), count(claim, "processes") or 0
        if rank is None:
            return None
        where = named_node(rank, text(claim, "address")[:_LONGEST])
        if text(claim, "list") != self._claim["list"]:
            reordered = text(claim, "set") == self._claim["set"]
            theirs = text(claim, "shown")[:_LONGEST]
            own = some_of(self._cluster.nodes)
            return Unlike(rank, processes, _other_list(where, theirs, own, reordered))
        if processes and self._processes and processes != self._processes:
            return Unlike(rank, processes, _other_size(where, processes, self._processes))
        if rank != self._cluster.node_rank:
            self.here.add(rank)
            return None
        moment = time.monotonic()
        self._clash = clash or moment
        return Unlike(rank, processes, _twice(where)) if moment - self._clash > _CLASH else None


def _in_order(address: str) -> tuple[int, int, str]:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return 0, 0, address
    return parsed.version, int(parsed), ""


def _refusal(differs: Unlike) -> UserError:
    return UserError(
        Text(
            f"The nodes were started differently: {differs.text.en}.",
            f"各节点的启动参数不一致：{differs.text.zh}。",
        ),
        Text(
            "Start all nodes with the same --ips, in the same order, and the same number of cards.",
            "请用相同且顺序一致的 --ips 以及相同数量的卡启动所有节点。",
        ),
    )


def _other_list(where: Text, theirs: str, own: str, reordered: bool) -> Text:
    en = " in another order" if reordered else ""
    zh = "（顺序不同）" if reordered else ""
    return Text(
        f"{where.en} was given the nodes {theirs}{en}, this one {own}",
        f"{where.zh}的节点列表为 {theirs}{zh}，本节点为 {own}",
    )


def _digest(nodes: Sequence[str]) -> str:
    """Lists may be long, and every node reads those of all others."""
    return hashlib.sha256(",".join(nodes).encode()).hexdigest()[:16]


def _other_size(where: Text, theirs: int, own: int) -> Text:
    return Text(
        f"{where.en} starts {theirs} processes, this node {own}: use the same number of cards on "
        "every node",
        f"{where.zh}启动 {theirs} 个进程，本节点 {own} 个：各节点的卡数必须一致",
    )


def _twice(where: Text) -> Text:
    return Text(
        f"another node says, too, that it is {where.en}", f"另一个节点也自称是{where.zh}".rstrip()
    )
