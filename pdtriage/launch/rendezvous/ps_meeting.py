"""Nodes of a parameter-server job that meet at `--master`, in the words of Paddle's launcher."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.addresses import free_ports, host_of, split_endpoint
from pdtriage.launch.plan.cluster import Cluster, node_count
from pdtriage.launch.plan.ps_roles import Roles, cluster_of, counts_of
from pdtriage.launch.rendezvous.peers import not_understood, rank_peers
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text


def needs_meeting(flags: LaunchFlags, mode: str) -> bool:
    """Whether the nodes have to tell each other where their servers and trainers are."""
    if flags.servers or flags.trainers or flags.heter_workers or node_count(flags)[1] < 2:
        return False
    if mode == "ps-heter" or flags.coordinator_num:
        raise UserError(
            Text(
                f"{node_count(flags)[1]} nodes cannot agree on heter trainers or coordinators by "
                "numbers alone.",
                f"{node_count(flags)[1]} 个节点无法仅凭数量协商异构训练节点或协调节点。",
            ),
            Text(
                "Name all processes on every node: --servers, --workers and --heter_workers.",
                "请在每个节点上写出全部进程：--servers、--workers 与 --heter_workers。",
            ),
        )
    return True


class ServingSpeech:
    """A node with its own servers and trainers."""

    def __init__(self, flags: LaunchFlags, dtype: str, environ: Mapping[str, str]) -> None:
        self._flags = flags
        self._dtype = dtype
        self._environ = environ
        self._counts = counts_of(flags)
        self._roles: Roles | None = None

    def tell(self, address: str) -> dict[str, object]:
        servers, trainers = self._counts
        gloo, *ports = free_ports(servers + trainers + 1, self._environ)
        endpoints = [f"{address}:{port}" for port in ports]
        return {
            "servers": endpoints[:servers],
            "trainers": endpoints[servers:],
            "dtype": self._dtype,
            "gloo_port": gloo,
        }

    def understand(self, found: Mapping[str, str], own: str, size: int) -> Cluster:
        peers, rank = rank_peers(found, own, self._flags, size, _parse)
        servers = [_endpoints(peer, "servers") for peer in peers]
        trainers = [_endpoints(peer, "trainers") for peer in peers]
        self._roles = Roles(
            servers=tuple(endpoint for node in servers for endpoint in node),
            workers=tuple(endpoint for node in trainers for endpoint in node),
            gloo=f"{host_of(servers[0][0])}:{peers[0]['gloo_port']}",
            nodes=tuple(host_of(node[0]) for node in servers),
            node_rank=rank,
            own=frozenset((*servers[rank], *trainers[rank])),
            peer_list=tuple(peers),
        )
        return cluster_of(self._roles, "master")

    def roles(self) -> Roles:
        """What the nodes agreed on; they must have met."""
        assert self._roles is not None
        return self._roles


def _parse(key: str, text: str) -> dict[str, object]:
    try:
        peer = json.loads(text)
        for name in ("servers", "trainers"):
            for endpoint in peer[name]:
                split_endpoint(endpoint)
        if not peer["servers"] or not peer["trainers"]:
            raise ValueError(key)
        int(peer["gloo_port"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise not_understood(key) from None
    fields = ("name", "rank", "servers", "trainers", "dtype", "gloo_port")
    return {name: peer.get(name) for name in fields} | {"candidate": peer["servers"][0]}


def _endpoints(peer: Mapping[str, object], name: str) -> tuple[str, ...]:
    listed = peer[name]
    assert isinstance(listed, list)
    return tuple(listed)
