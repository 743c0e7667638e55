"""What nodes announce of themselves at the rendezvous, and the ranks that follow by Paddle's rules.

Keys and values are those of Paddle's launcher, for trainers alone and for servers with trainers.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
from collections.abc import Callable, Mapping

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.addresses import free_ports, host_part, is_plain_endpoint, is_plain_name
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.ps_roles import Roles, cluster_of, counts_of
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

NODES = "nnodes"
"""Under this key a node says how many it waits for, which Paddle's launcher does not."""
_MOST_PROCESSES = 4_096
"""Of one node."""


class TrainerAnnouncement(NamedTuple):
    """A node that starts so many trainers."""

    flags: LaunchFlags
    processes: int
    dtype: str
    environ: Mapping[str, str]

    def content(self, address: str) -> dict[str, object]:
        candidate, *ports = free_ports(self.processes + 1, self.environ)
        return {
            "replicas": self.processes,
            "dtype": self.dtype,
            "candidate": f"{address}:{candidate}",
            "endpoints": ",".join(f"{address}:{number}" for number in ports),
        }

    def cluster(self, found: Mapping[str, str], own: str, size: int) -> Cluster:
        return cluster_of_peers(*rank_peers(found, own, self.flags, size))


class ServerAnnouncement:
    """A node with its own servers and trainers."""

    def __init__(self, flags: LaunchFlags, dtype: str, environ: Mapping[str, str]) -> None:
        self._flags = flags
        self._dtype = dtype
        self._environ = environ
        self._counts = counts_of(flags)
        self._roles: Roles | None = None

    def content(self, address: str) -> dict[str, object]:
        servers, trainers = self._counts
        gloo, *ports = free_ports(servers + trainers + 1, self._environ)
        endpoints = [f"{address}:{port}" for port in ports]
        return {
            "servers": endpoints[:servers],
            "trainers": endpoints[servers:],
            "dtype": self._dtype,
            "gloo_port": gloo,
        }

    def cluster(self, found: Mapping[str, str], own: str, size: int) -> Cluster:
        peers, rank = rank_peers(found, own, self._flags, size, _parse_server_node)
        servers = [_role_endpoints(peer, "servers") for peer in peers]
        trainers = [_role_endpoints(peer, "trainers") for peer in peers]
        self._roles = Roles(
            servers=tuple(endpoint for node in servers for endpoint in node),
            workers=tuple(endpoint for node in trainers for endpoint in node),
            gloo=f"{host_part(servers[0][0])}:{peers[0]['gloo_port']}",
            nodes=tuple(host_part(node[0]) for node in servers),
            node_rank=rank,
            own=frozenset((*servers[rank], *trainers[rank])),
            peer_list=tuple(peers),
        )
        return cluster_of(self._roles, "master")

    def roles(self) -> Roles:
        """What the nodes agreed on; they must have met."""
        assert self._roles is not None
        return self._roles


def rank_peers(
    found: Mapping[str, str],
    own: str,
    flags: LaunchFlags,
    size: int,
    parse: Callable[[str, str], dict[str, object]] | None = None,
) -> tuple[list[dict[str, object]], int]:
    """All nodes in rank order, and which of them we are; the rules are Paddle's."""
    parse = parse or parse_peer
    parsed = {key: parse(key, text) for key, text in found.items()}
    if flags.sort_ip:
        keys = sorted(parsed, key=lambda key: address_number(parsed[key]))
    elif flags.rank < 0:
        keys = sorted(parsed)
    else:
        keys = sorted(parsed, key=_rank_in_key)
        ranks = [_rank_in_key(key) for key in keys]
        if ranks != list(range(size)):
            raise UserError(
                Text(
                    f"The nodes were started with --rank {_some_of(ranks)}; {size} nodes need "
                    f"0 to {size - 1}, each once.",
                    f"各节点的 --rank 为 {_some_of(ranks)}；{size} 个节点应为 0 到 {size - 1}，"
                    "各一次。",
                ),
                Text(
                    "Give every node its own --rank, or none of them any.",
                    "请为每个节点指定不同的 --rank，或全部不指定。",
                ),
            )
    own_key = next(key for key in keys if found[key] == own)
    return [parsed[key] for key in keys], keys.index(own_key)


def cluster_of_peers(peers: list[dict[str, object]], rank: int) -> Cluster:
    """The cluster that announcements of nodes make; nodes may start different numbers of processes,
    as under Paddle's launcher."""
    nodes = tuple(str(peer["candidate"]).rpartition(":")[0] for peer in peers)
    return Cluster(
        "master",
        rank,
        nodes,
        tuple(_endpoints(peer) for peer in peers),
        str(peers[0]["candidate"]),
        tuple(peers),
    )


def is_announcement(text: str) -> bool:
    """Whether a node of any kind may have written it; anybody may write at a rendezvous without a
    secret, and nodes neither count nor wait for what nobody can have meant."""
    for parse in (parse_peer, _parse_server_node):
        with contextlib.suppress(UserError):
            parse("", text)
            return True
    return False


def announced_nodes(text: str) -> int | None:
    """How many nodes the one that wrote this waits for, itself among them."""
    try:
        count = json.loads(text).get(NODES)
    except (ValueError, AttributeError, RecursionError):
        return None
    return count if isinstance(count, int) else None


def announced_host(text: str) -> str:
    """The address of the node that wrote this; `is_announcement` was asked before."""
    for parse in (parse_peer, _parse_server_node):
        with contextlib.suppress(UserError):
            return host_part(str(parse("", text)["candidate"]))
    return "?"


def parse_peer(key: str, text: str) -> dict[str, object]:
    try:
        peer = json.loads(text)
        _check_endpoints([peer["candidate"], *_endpoints(peer)])
        _check_names(peer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _not_understood(key) from None
    fields = ("name", "rank", "replicas", "dtype", "candidate", "endpoints")
    return {name: peer.get(name) for name in fields}


def _not_understood(key: str) -> UserError:
    return UserError(
        Text(
            f"What a node wrote at the rendezvous cannot be understood ({key[:80]!r}).",
            f"无法理解某节点在汇合服务上写入的内容（{key[:80]!r}）。",
        ),
        Text(
            "Check that only nodes of this job use this --master and --job_id.",
            "请确认只有本任务的节点使用该 --master 与 --job_id。",
        ),
    )


def _check_endpoints(listed: object) -> None:
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_PROCESSES:
        raise ValueError
    if not all(is_plain_endpoint(endpoint) for endpoint in listed):
        raise ValueError


def _check_names(peer: Mapping[str, object]) -> None:
    """What a peer calls itself comes into logs and variables of this node."""
    for name in ("name", "dtype"):
        if name in peer and not is_plain_name(peer[name]):
            raise ValueError(name)
    for name in ("rank", "replicas"):
        if not isinstance(peer.get(name, 0), int):
            raise ValueError(name)


def _endpoints(peer: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(peer["endpoints"]).split(","))


def _rank_in_key(key: str) -> int:
    last = key.rpartition("/")[2]
    try:
        return int(last)
    except ValueError:
        return -1


def address_number(peer: Mapping[str, object]) -> tuple[int, str]:
    host = str(peer["candidate"]).rpartition(":")[0]
    try:
        return int(ipaddress.ip_address(host)), host
    except ValueError:
        return 0, host


def _some_of(ranks: list[int]) -> str:
    return ", ".join(str(rank) for rank in ranks[:16])


def _parse_server_node(key: str, text: str) -> dict[str, object]:
    try:
        peer = json.loads(text)
        for name in ("servers", "trainers"):
            _check_endpoints(peer[name])
        _check_endpoints([f"gloo:{peer['gloo_port']}"])
        _check_names(peer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _not_understood(key) from None
    fields = ("name", "rank", "servers", "trainers", "dtype", "gloo_port")
    return {name: peer.get(name) for name in fields} | {"candidate": peer["servers"][0]}


def _role_endpoints(peer: Mapping[str, object], name: str) -> tuple[str, ...]:
    listed = peer[name]
    assert isinstance(listed, list)
    return tuple(listed)
