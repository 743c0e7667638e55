"""Who wrote a log: role, global rank, host, endpoint and device, by the best evidence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pdtriage.model import Role
from pdtriage.runs.node_runs import Member, NodeRun
from pdtriage.support.lazy_regex import lazy_compile

_NODE_NAME = lazy_compile(
    r"(?:^|[/_.-])(?:node|host|machine|worker|trainer|pod|rank)[_.-]?(\d+)(?=$|[/_.-])"
)
_ADDRESS = lazy_compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_DEVICE_FLAGS = {
    "FLAGS_selected_gpus": "gpu",
    "FLAGS_selected_xpus": "xpu",
    "FLAGS_selected_npus": "npu",
    "FLAGS_selected_accelerators": "device",
}

Identity = tuple[Role, int | None, int | None, str | None, str | None, str | None]
"""Role, global rank, local rank, host, endpoint and device of a process."""


class Identification:
    """Who wrote the logs of one run on one of `nodes`; what all of them share is found once."""

    def __init__(self, run: NodeRun, nodes: int) -> None:
        self._run = run
        self._nodes = nodes
        values = run.console.values
        self._host = host_of(values.get("PADDLE_CURRENT_ENDPOINT")) or values.get("POD_IP")
        """As the console tells it."""

    def identify(self, member: Member) -> Identity:
        """From the run record, this run's environment block, then what endpoints and logs say."""
        role, local, process = member.log.role, member.log.index, member.process
        if process is not None:
            record = self._run.record
            host = host_of(process.endpoint) or (record.address if record else None)
            return role, process.rank, process.local_rank, host, process.endpoint, process.device
        values = member.values
        alone = self._nodes == 1
        if values:
            endpoint = values.get("PADDLE_CURRENT_ENDPOINT") or _server_endpoint(values)
            rank = _own_rank(values, role, endpoint, local if alone else None)
            host = host_of(endpoint) or values.get("POD_IP")
            return role, rank, local, host, endpoint, _device(values)
        if role != "worker":
            endpoint = self._server(local) if alone and role == "server" else None
            return role, local if alone else None, local, self._host, endpoint, None
        rank = self._rank_without_environment(member)
        endpoints = self._run.endpoints
        if rank is None or rank >= len(endpoints):
            return role, rank, local, self._host, None, None
        endpoint = endpoints[rank]
        return role, rank, local, host_of(endpoint) or self._host, endpoint, None

    def _server(self, local: int | None) -> str | None:
        """Where a server listens by the console of the only node; its table lists them in order."""
        listed = self._run.console.values.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",")
        here = len({host_of(endpoint) for endpoint in listed}) == 1
        return listed[local] if here and local is not None and local < len(listed) else None

    @cached_property
    def _self_ranks(self) -> dict[Member, int]:
        """Global ranks of those that say so themselves."""
        members = self._run.members
        return {m: rank for m in members if (rank := self_rank(m)) is not None}

    @cached_property
    def _first_rank(self) -> int | None:
        """Global rank of this node's first process."""
        run = self._run
        first = first_rank_by_console(run)
        if first is not None:
            return first
        for (
            member,
            told,
        ) in self._self_ranks.items():  # one that knows its rank places its whole node
            if member.log.index is not None and told >= member.log.index:
                return told - member.log.index
        # people name the folder of a node by its address
        named = _ADDRESS.search(run.node.folder) if not self._host else None
        here = named[0] if named else self._host
        for rank, endpoint in enumerate(run.endpoints if here else ()):
            if host_of(endpoint) == here:
                return rank
        if self._nodes > 1:
            number = node_number(run.node.folder)
            workers = sum(member.log.role == "worker" for member in run.members)
            return None if number is None else number * workers
        alone = _nnodes(run) == 1 and len({host_of(endpoint) for endpoint in run.endpoints}) <= 1
        return 0 if alone else None

    def _rank_without_environment(self, member: Member) -> int | None:
        told = self._self_ranks.get(member)
        if told is not None:
            return told
        local = member.log.index
        if local is not None:
            first = self._first_rank
            return None if first is None else first + local
        alone = self._nodes == 1 and len(self._run.members) == 1
        return 0 if alone and _world(self._run) == 1 else None


def first_rank_by_console(run: NodeRun) -> int | None:
    """Global rank of a node's first process, as its console tells it."""
    values = run.console.values
    first = _number(values.get("PADDLE_TRAINER_ID"))
    node = _number(values.get("--rank"))
    started = run.console.first("started")
    replicas = _number(started.fields.get("replicas")) if started else None
    if first is not None or node is None or replicas is None or _nnodes(run) == 1:
        return first
    return node * replicas  # nodes are rarely unequal


def is_one_node(run: NodeRun) -> bool:
    """As the launcher's configuration tells it."""
    return _nnodes(run) == 1


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
    host, colon, port = endpoint.rpartition(":")
    return (host if colon and port.isdecimal() else endpoint).strip("[]") or None


def node_number(folder: str) -> int | None:
    """N of a folder called node-N or the like: the weakest evidence of all."""
    found = _NODE_NAME.findall(folder)
    return int(found[-1]) if found else None


def self_rank(member: Member) -> int | None:
    """The global rank that messages of the process itself give, when they agree."""
    told = set()
    for span in member.segment:
        for event in span.events:
            number = event.fields.get("self_rank")
            if number and number.isdecimal():
                told.add(number)
    return int(told.pop()) if len(told) == 1 else None


def _nnodes(run: NodeRun) -> int:
    """How many nodes the launcher was told of; one unless it says otherwise."""
    values = run.console.values
    told = _number((values.get("--nnodes") or "1").split(":")[0]) or 1
    return max(told, len((values.get("--ips") or "x").split(",")), len(run.peers))


def _world(run: NodeRun) -> int | None:
    return run.console.world_size or _number(run.console.values.get("PADDLE_TRAINERS_NUM"))


def _device(values: Mapping[str, str]) -> str | None:
    for flag, kind in _DEVICE_FLAGS.items():
        card = values.get(flag)
        if card:
            return f"{kind}:{card}"
    return None


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None
