"""Who wrote a log: role, global rank, host, endpoint and device, by the best evidence."""

from __future__ import annotations

from collections.abc import Mapping

from pdtriage.model import Role
from pdtriage.runs.node_run import Member, NodeRun
from pdtriage.runs.numbering import Numbering, Placement, host_of, self_rank, world_size

_DEVICE_FLAGS = {
    "FLAGS_selected_gpus": "gpu",
    "FLAGS_selected_xpus": "xpu",
    "FLAGS_selected_npus": "npu",
    "FLAGS_selected_accelerators": "device",
}

Identity = tuple[Role, int | None, int | None, str | None, str | None, str | None, int | None]
"""Role, global rank, local rank, host, endpoint, device and node of a process."""


class Identification:
    """Finds who wrote the logs of one run on one node; what all of them share is found once."""

    def __init__(self, run: NodeRun, nodes: int, ranks_elsewhere: frozenset[int]) -> None:
        """`ranks_elsewhere` are numbers of logs of other nodes that can only be ranks."""
        self._run = run
        self._alone = nodes < 2
        values = run.console.values
        self._host = host_of(values.get("PADDLE_CURRENT_ENDPOINT")) or values.get("POD_IP")
        """As the console tells it."""
        self._numbering = Numbering(run, nodes, ranks_elsewhere, self._host)

    def identify(self, member: Member) -> Identity:
        """Who wrote a log, by the run record, its environment, endpoints, and what the log says."""
        role, local, process = member.log.role, member.log.index, member.process
        node = self._run.number
        if process is not None:
            record = self._run.record
            host = host_of(process.endpoint) or (record.address if record else None)
            at = process.endpoint
            return role, process.rank, process.local_rank, host, at, process.device, node
        values = member.values
        alone = self._alone
        if values:
            endpoint = values.get("PADDLE_CURRENT_ENDPOINT") or _server_endpoint(values)
            rank = _own_rank(values, role, endpoint, local if alone else None)
            host = host_of(endpoint) or values.get("POD_IP")
            return role, rank, local, host, endpoint, _device(values), node
        if role != "worker":
            endpoint = self._server(local) if alone and role == "server" else None
            return role, local if alone else None, local, self._host, endpoint, None, node
        own = self._placement(member)
        node = own.node if node is None else node
        endpoints = self._run.endpoints
        if own.rank is None or own.rank >= len(endpoints):
            return role, own.rank, own.local_rank, self._host, None, None, node
        endpoint = endpoints[own.rank]
        host = host_of(endpoint) or self._host
        return role, own.rank, own.local_rank, host, endpoint, None, node

    def _placement(self, member: Member) -> Placement:
        index = member.log.index
        told = self_rank(member)
        if told is not None:
            return self._numbering.placement_of(told, index)
        if index is not None:
            return self._numbering.placement(index)
        alone = self._alone and len(self._run.members) == 1
        return Placement(0 if alone and world_size(self._run) == 1 else None, None)

    def _server(self, local: int | None) -> str | None:
        """Where a server listens by the console of the only node; its table lists them in order."""
        listed = self._run.console.values.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",")
        here = len({host_of(endpoint) for endpoint in listed}) == 1
        return listed[local] if here and local is not None and local < len(listed) else None


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


def _device(values: Mapping[str, str]) -> str | None:
    for flag, kind in _DEVICE_FLAGS.items():
        card = values.get(flag)
        if card:
            return f"{kind}:{card}"
    return None


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None
