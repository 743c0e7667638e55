"""Who wrote a log: role, global rank, host, endpoint and device, by the best evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pdtriage.jobs.launches import Member, NodeRun
from pdtriage.late import late
from pdtriage.model import Role

_NODE_NAME = late(
    r"(?:^|[/_.-])(?:node|host|machine|worker|trainer|pod|rank)[_.-]?(\d+)(?=$|[/_.-])"
)
_DEVICE_FLAGS = {
    "FLAGS_selected_gpus": "gpu",
    "FLAGS_selected_xpus": "xpu",
    "FLAGS_selected_npus": "npu",
    "FLAGS_selected_accelerators": "device",
}
_PORT = late(r":\d+$")


class Identity(NamedTuple):
    """Who wrote a file."""

    role: Role
    rank: int | None
    local_rank: int | None
    host: str | None
    endpoint: str | None
    device: str | None


def identify(member: Member, run: NodeRun, nodes: int) -> Identity:
    """From the run record, this run's environment block, then what endpoints and logs agree on."""
    local = member.log.index
    if member.process is not None:
        process = member.process
        host = host_of(process.endpoint) or (run.record.address if run.record else None)
        return Identity(
            member.log.role,
            process.rank,
            process.local_rank,
            host,
            process.endpoint,
            process.device,
        )
    values = member.values
    if values:
        endpoint = values.get("PADDLE_CURRENT_ENDPOINT") or _server_endpoint(values)
        return Identity(
            member.log.role,
            _own_rank(values, member.log.role, endpoint, local if nodes == 1 else None),
            local,
            host_of(endpoint) or values.get("POD_IP"),
            endpoint,
            _device(values),
        )
    if member.log.role != "worker":
        return Identity(
            member.log.role, local if nodes == 1 else None, local, _console_host(run), None, None
        )
    rank = _rank_without_environment(member, run, nodes)
    endpoints = run.endpoints
    endpoint = endpoints[rank] if rank is not None and rank < len(endpoints) else None
    return Identity("worker", rank, local, host_of(endpoint) or _console_host(run), endpoint, None)


def _own_rank(
    values: Mapping[str, str], role: Role, endpoint: str | None, fallback: int | None
) -> int | None:
    if role == "server":
        servers = values.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",")
        return servers.index(endpoint) if endpoint in servers else fallback
    told = _number(values.get("PADDLE_GLOBAL_RANK") or values.get("PADDLE_TRAINER_ID"))
    return fallback if told is None else told


def _server_endpoint(values: Mapping[str, str]) -> str | None:
    host, port = values.get("POD_IP"), values.get("PADDLE_PORT")
    return f"{host}:{port}" if host and port else None


def host_of(endpoint: str | None) -> str | None:
    """The host of `host:port`, brackets of IPv6 removed."""
    if not endpoint:
        return None
    host = endpoint.rsplit(":", 1)[0] if _PORT.search(endpoint) else endpoint
    return host.strip("[]") or None


def node_number(folder: str) -> int | None:
    """N of a folder called node-N or the like: the weakest evidence of all."""
    found = _NODE_NAME.findall(folder)
    return int(found[-1]) if found else None


def self_rank(member: Member) -> int | None:
    """The global rank that messages of the process itself give, when they agree."""
    told = {
        event.fields["self_rank"]
        for span in member.segment
        for event in span.events
        if "self_rank" in event.fields and event.fields["self_rank"].isdecimal()
    }
    return int(told.pop()) if len(told) == 1 else None


def _rank_without_environment(member: Member, run: NodeRun, nodes: int) -> int | None:
    told = self_rank(member)
    if told is not None:
        return told
    local = member.log.index
    if local is None:
        return 0 if nodes == 1 and len(run.members) == 1 and _world(run) == 1 else None
    if nodes not in run.first_ranks:
        run.first_ranks[nodes] = _offset_of_node(run, nodes)
    offset = run.first_ranks[nodes]
    return None if offset is None else offset + local


def _offset_of_node(run: NodeRun, nodes: int) -> int | None:
    """Global rank of this node's first process."""
    first = _number(run.console.values.get("PADDLE_TRAINER_ID"))
    if first is not None:
        return first
    for member in run.members:  # one process that knows its rank places its whole node
        told = self_rank(member)
        if told is not None and member.log.index is not None and told >= member.log.index:
            return told - member.log.index
    own = _console_host(run)
    for rank, endpoint in enumerate(run.endpoints if own else ()):
        if host_of(endpoint) == own:
            return rank
    if nodes > 1:
        number = node_number(run.node.folder)
        workers = sum(member.log.role == "worker" for member in run.members)
        return None if number is None else number * workers
    alone = _nnodes(run) == 1 and len({host_of(endpoint) for endpoint in run.endpoints}) <= 1
    return 0 if alone else None


def _nnodes(run: NodeRun) -> int:
    """How many nodes the launcher was told of; one unless it says otherwise."""
    values = run.console.values
    told = _number((values.get("--nnodes") or "1").split(":")[0]) or 1
    return max(told, len((values.get("--ips") or "x").split(",")), len(run.peers))


def _world(run: NodeRun) -> int | None:
    return run.console.world_size or _number(run.console.values.get("PADDLE_TRAINERS_NUM"))


def _console_host(run: NodeRun) -> str | None:
    values = run.console.values
    return host_of(values.get("PADDLE_CURRENT_ENDPOINT")) or values.get("POD_IP")


def _device(values: Mapping[str, str]) -> str | None:
    for flag, kind in _DEVICE_FLAGS.items():
        card = values.get(flag)
        if card:
            return f"{kind}:{card}"
    return None


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None
