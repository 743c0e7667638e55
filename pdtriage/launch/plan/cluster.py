"""Who takes part in the job: nodes, their addresses and the endpoints of all trainers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal

from pdtriage.launch.options.flags import DEFAULT_START_PORT, LaunchFlags
from pdtriage.launch.plan.addresses import (
    address_towards,
    free_ports,
    is_local,
    is_loopback,
    is_taken,
    loopback_among_nodes,
    own_address,
    refuse_taken,
    split_endpoint,
)
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

Meeting = Literal["alone", "ips", "cloud", "master"]
CLOUD_START_PORT = 6170
_SHOWN = 16
CLOUD_VARIABLES = ("PADDLE_TRAINERS", "POD_IP", "PADDLE_TRAINER_ID", "TRAINER_PORTS_NUM")


class Cluster(NamedTuple):
    """The whole job as one node knows it."""

    meeting: Meeting
    node_rank: int
    nodes: tuple[str, ...]
    """Address of every node in rank order; one that occurs twice holds two pods."""
    endpoints: tuple[tuple[str, ...], ...]
    """Endpoints of the trainers, node by node."""
    master: str
    """Where the trainers meet (`PADDLE_MASTER`)."""
    peer_list: tuple[Mapping[str, object], ...] = ()
    """What the nodes told each other, as Paddle's pod file shows it; empty without rendezvous."""
    notes: tuple[Text, ...] = ()
    listed: tuple[str, ...] = ()
    """All trainers in rank order, where a node may hold any number of them."""

    @property
    def address(self) -> str:
        return self.nodes[self.node_rank]

    @property
    def own_endpoints(self) -> tuple[str, ...]:
        return self.endpoints[self.node_rank]

    @property
    def all_endpoints(self) -> tuple[str, ...]:
        return self.listed or tuple(endpoint for node in self.endpoints for endpoint in node)

    @property
    def ranks_by_node(self) -> tuple[range, ...]:
        """Empty where a node may hold any of the trainers."""
        if self.listed:
            return ()
        ends = list(itertools.accumulate(map(len, self.endpoints), initial=0))
        return tuple(range(first, last) for first, last in itertools.pairwise(ends))

    @property
    def first_rank(self) -> int:
        return sum(len(node) for node in self.endpoints[: self.node_rank])


def how_to_meet(flags: LaunchFlags, environ: Mapping[str, str]) -> tuple[Meeting, LaunchFlags]:
    """How the nodes find each other, and the flags as platform variables correct them."""
    if is_cloud(environ):
        return "cloud", flags
    flags = _by_platform(flags, environ)
    if flags.ips and not flags.master:
        return "ips", flags
    if node_count(flags)[1] > 1:
        return "master", flags
    return "alone", flags


def is_cloud(environ: Mapping[str, str]) -> bool:
    """PaddleCloud, or a PaddleJob of paddle-operator, with more than one node."""
    return (
        all(environ.get(name) for name in CLOUD_VARIABLES)
        and environ.get("PADDLE_TRAINERS_NUM", "1") != "1"
    )


def node_count(flags: LaunchFlags) -> tuple[int, int]:
    """(least, most) nodes of `--nnodes 2` or `--nnodes 2:4`."""
    low, colon, high = flags.nnodes.partition(":")
    try:
        least = int(low)
        most = int(high) if colon else least
    except ValueError:
        least = most = 0
    if least > most > 0:
        raise UserError(
            Text(
                f"--nnodes {flags.nnodes}: the least, {least}, is more than the most, {most}.",
                f"--nnodes {flags.nnodes}：最少节点数 {least} 大于最多节点数 {most}。",
            ),
            Text(
                f"Write least:most, --nnodes {most}:{least}.",
                f"应写成 最少:最多，即 --nnodes {most}:{least}。",
            ),
        )
    if not 1 <= least <= most:
        raise UserError(
            Text(f"--nnodes cannot be {flags.nnodes!r}.", f"--nnodes 不能是 {flags.nnodes!r}。"),
            Text(
                "It takes a number, or a range such as 2:4.", "它的值应为数字，或 2:4 这样的范围。"
            ),
        )
    return least, most


def alone(flags: LaunchFlags, processes: int, environ: Mapping[str, str]) -> Cluster:
    """One node: free ports, unless a first port was asked for."""
    address = own_address(flags.host)
    if flags.start_port is not None:
        ports = _ports_from(flags.start_port, processes)
        refuse_taken(ports)
        master = free_ports(1, environ)[0]
    else:
        master, *rest = free_ports(processes + 1, environ)
        ports = tuple(rest)
    return Cluster(
        "alone",
        0,
        (address,),
        (tuple(f"{address}:{port}" for port in ports),),
        f"{address}:{master}",
    )


def from_ips(flags: LaunchFlags, processes: int, environ: Mapping[str, str]) -> Cluster:
    """`--ips`: every node computes the same list, nobody has to meet."""
    nodes = tuple(part.strip() for part in (flags.ips or "").split(",") if part.strip())
    if not nodes:
        raise UserError(
            Text("--ips names no node.", "--ips 中没有任何节点。"),
            Text("Write --ips=192.168.0.1,192.168.0.2.", "请写成 --ips=192.168.0.1,192.168.0.2。"),
        )
    _refuse_mixed_loopback(nodes)
    node_rank = own_rank(flags, nodes)
    start = DEFAULT_START_PORT if flags.start_port is None else flags.start_port
    cluster = _static("ips", nodes, node_rank, start, processes)
    own = tuple(split_endpoint(endpoint)[1] for endpoint in cluster.own_endpoints)
    movable = len(nodes) == 1 and flags.start_port is None
    if movable and (flags.legacy or any(is_taken(port) for port in own)):
        # Nobody else has to know the ports of a single node.
        return alone(flags._replace(host=nodes[0]), processes, environ)._replace(meeting="ips")
    refuse_taken(own)
    return cluster


def from_cloud(flags: LaunchFlags, processes: int, environ: Mapping[str, str]) -> Cluster:
    """PaddleCloud: the platform's variables say who takes part."""
    nodes = tuple(part.strip() for part in environ["PADDLE_TRAINERS"].split(",") if part.strip())
    node_rank = _cloud_number(environ, "PADDLE_TRAINER_ID")
    ports_each = _cloud_number(environ, "TRAINER_PORTS_NUM")
    if not 0 <= node_rank < len(nodes):
        raise UserError(
            Text(
                f"PADDLE_TRAINER_ID={node_rank}, but PADDLE_TRAINERS names {len(nodes)} nodes.",
                f"PADDLE_TRAINER_ID={node_rank}，但 PADDLE_TRAINERS 只有 {len(nodes)} 个节点。",
            ),
            Text("Correct the platform's variables.", "请修正平台设置的环境变量。"),
        )
    notes: tuple[Text, ...] = ()
    if flags.ips and flags.ips != ",".join(nodes):
        notes = (
            Text(
                f"--ips={some_of(flags.ips.split(','))} is ignored: "
                f"PADDLE_TRAINERS={some_of(nodes)} counts",
                f"忽略 --ips={some_of(flags.ips.split(','))}：以 "
                f"PADDLE_TRAINERS={some_of(nodes)} 为准",
            ),
        )
    listed = environ.get("DISTRIBUTED_TRAINER_ENDPOINTS", "")
    if listed:
        cluster = _listed_cloud(nodes, node_rank, ports_each, processes, listed)
    else:
        start = CLOUD_START_PORT if flags.start_port is None else flags.start_port
        port = environ.get("PADDLE_PORT", "")
        if port.isdigit() and ports_each >= processes:
            start = int(port)
        cluster = _static("cloud", nodes, node_rank, start, processes)
    refuse_taken(tuple(split_endpoint(endpoint)[1] for endpoint in cluster.own_endpoints))
    return cluster._replace(notes=notes)


def _by_platform(flags: LaunchFlags, environ: Mapping[str, str]) -> LaunchFlags:
    """The cluster that a platform names in the environment, by the rules of Paddle's launcher."""
    for variable in ("DISTRIBUTED_TRAINER_ENDPOINTS", "PADDLE_TRAINER_ENDPOINTS"):
        listed = [part for part in environ.get(variable, "").split(",") if part]
        if not listed:
            continue
        hosts = list(dict.fromkeys(part.rpartition(":")[0] or part for part in listed))
        master = listed[0] if ":" in listed[0] else f"{listed[0]}:6768"
        by_flags = environ.get("PADDLE_LAUNCH_WITH_ARGS", "0") not in ("", "0")
        note = Text(
            f"environment variable {variable} names {len(hosts)} node(s), master {master}",
            f"环境变量 {variable} 给出 {len(hosts)} 个节点，master 为 {master}",
        )
        return flags._replace(
            master=None if by_flags else master,
            nnodes=str(len(hosts)),
            notes=(*flags.notes, note),
        )
    return flags


def _static(
    meeting: Meeting, nodes: tuple[str, ...], node_rank: int, start: int, processes: int
) -> Cluster:
    endpoints = []
    for position, node in enumerate(nodes):
        # A second pod on the same host takes the next ports.
        shift = nodes[:position].count(node) * processes
        endpoints.append(tuple(f"{node}:{port}" for port in _ports_from(start + shift, processes)))
    return Cluster(meeting, node_rank, nodes, tuple(endpoints), endpoints[0][0])


def _listed_cloud(
    nodes: tuple[str, ...], node_rank: int, ports_each: int, processes: int, listed: str
) -> Cluster:
    all_endpoints = [part.strip() for part in listed.split(",")]
    if len(all_endpoints) != len(nodes) * ports_each or ports_each < processes:
        raise UserError(
            Text(
                f"DISTRIBUTED_TRAINER_ENDPOINTS has {len(all_endpoints)} entries; {len(nodes)} "
                f"nodes with {processes} processes each and TRAINER_PORTS_NUM={ports_each} need "
                f"{len(nodes) * max(ports_each, processes)}.",
                f"DISTRIBUTED_TRAINER_ENDPOINTS 有 {len(all_endpoints)} 项；{len(nodes)} 个节点、"
                f"每节点 {processes} 个进程且 TRAINER_PORTS_NUM={ports_each} 时应有 "
                f"{len(nodes) * max(ports_each, processes)} 项。",
            ),
            Text("Correct the platform's variables.", "请修正平台设置的环境变量。"),
        )
    endpoints = tuple(
        tuple(all_endpoints[node * ports_each : node * ports_each + processes])
        for node in range(len(nodes))
    )
    return Cluster("cloud", node_rank, nodes, endpoints, endpoints[0][0])


def _ports_from(start: int, count: int) -> tuple[int, ...]:
    return tuple(range(start, start + count))


def _cloud_number(environ: Mapping[str, str], name: str) -> int:
    try:
        return int(environ[name])
    except ValueError:
        raise UserError(
            Text(f"{name}={environ[name]} is not a number.", f"{name}={environ[name]} 不是数字。"),
            Text("Correct the platform's variables.", "请修正平台设置的环境变量。"),
        ) from None


def _refuse_mixed_loopback(nodes: tuple[str, ...]) -> None:
    loopback = [node for node in nodes if is_loopback(node)]
    if loopback and len(loopback) != len(nodes):
        remedy = Text(
            "Write in --ips the address by which the other nodes reach it.",
            "请在 --ips 中写其他节点能访问到的地址。",
        )
        raise loopback_among_nodes(loopback[0], remedy)


def own_rank(flags: LaunchFlags, nodes: tuple[str, ...], named: str = "--ips") -> int:
    """Which node of the list this machine is; raises `UserError` where that cannot be told."""
    if flags.rank >= 0 and (flags.host is None or flags.host in nodes):
        if flags.rank >= len(nodes):
            raise UserError(
                Text(
                    f"--rank={flags.rank}, but {named} names only {len(nodes)} nodes.",
                    f"--rank={flags.rank}，但 {named} 只有 {len(nodes)} 个节点。",
                ),
                Text("Ranks begin at 0.", "序号从 0 开始。"),
            )
        return flags.rank
    if flags.host is not None:
        if flags.host not in nodes:
            raise _not_listed(flags.host, nodes, named)
        return nodes.index(flags.host)
    if len(nodes) == 1 and is_local(nodes[0]):
        return 0
    own = own_address(None)
    here = [node for node in dict.fromkeys(nodes) if node == own or is_local(node)]
    if own in here and nodes.count(own) == 1:
        return nodes.index(own)
    if len(here) == 1 and nodes.count(here[0]) == 1:
        return nodes.index(here[0])
    if not here:
        # Many hosts resolve their own name to a loopback address, which no list can hold.
        outward = address_towards(None) if is_loopback(own) else None
        raise _not_listed(outward or own, nodes, named)
    raise UserError(
        Text(
            f"Several entries of {named} are this machine: {', '.join(here)}.",
            f"{named} 中有多项属于本机：{', '.join(here)}。",
        ),
        Text("Say which one with --host or --rank.", "请用 --host 或 --rank 指明是哪一项。"),
    )


def some_of(nodes: Sequence[str]) -> str:
    """All of them, unless that would fill the screen."""
    shown = ",".join(nodes[:_SHOWN])
    return shown if len(nodes) <= _SHOWN else f"{shown},… ({len(nodes)})"


def _not_listed(address: str, nodes: tuple[str, ...], named: str) -> UserError:
    return UserError(
        Text(
            f"This host ({address}) is not in {named}={some_of(nodes)}.",
            f"本机（{address}）不在 {named}={some_of(nodes)} 中。",
        ),
        Text(
            "Add its address to the list on every node, or name the one it has with --host.",
            "请在所有节点的列表中加上本机地址，或用 --host 指明本机地址。",
        ),
    )
