"""Which ports a job will use, here and on the other nodes."""

from __future__ import annotations

import contextlib

from pdtriage.doctor.context import Situation
from pdtriage.launch.options.flags import DEFAULT_START_PORT
from pdtriage.launch.options.unsupported import PS_MODES
from pdtriage.launch.plan.addresses import is_local, split_endpoint
from pdtriage.launch.plan.cluster import CLOUD_START_PORT

_MOST_PORTS = 16
"""Ports tried on each peer; a job of more shows no new kind of trouble."""


def fixed_ports(situation: Situation) -> list[int]:
    """Ports of this node's processes that flags or platform decide; none where they are chosen."""
    if situation.mode in PS_MODES:
        return _servers_here(situation)
    first = _first_port(situation)
    return [] if first is None else list(range(first, first + situation.processes))


def wanted_ports(situation: Situation) -> list[int]:
    """All ports this node listens on, with that of the exchange between the nodes."""
    return [*fixed_ports(situation), *_exchange_port(situation)]


def ports_of_peers(situation: Situation) -> list[tuple[str, int]]:
    """(host, port) this node will connect to."""
    if situation.mode in PS_MODES:
        exchange = _exchange_of_lists(situation)
        return [place for place in (*_listed(situation), *exchange) if not is_local(place[0])]
    first = _first_port(situation)
    found: list[tuple[str, int]] = []
    for rank, node in enumerate(situation.node_addresses):
        if node == situation.address:
            continue
        ports = range(
            first or DEFAULT_START_PORT, (first or DEFAULT_START_PORT) + _count(situation)
        )
        found += [(node, port) for port in ports]
        if rank == 0 and situation.meeting == "ips" and situation.flags.facts_port:
            found.append((node, situation.flags.facts_port))
    return found


def _count(situation: Situation) -> int:
    return min(situation.processes, _MOST_PORTS)


def _first_port(situation: Situation) -> int | None:
    """None where the launcher chooses free ports by itself."""
    flags = situation.flags
    if situation.meeting == "cloud":
        port = situation.environ.get("PADDLE_PORT", "")
        default = CLOUD_START_PORT if flags.start_port is None else flags.start_port
        return int(port) if port.isdecimal() else default
    if situation.meeting == "master":
        return None
    if situation.meeting == "ips" and len(situation.node_addresses) > 1:
        start = DEFAULT_START_PORT if flags.start_port is None else flags.start_port
        rank = situation.node_rank
        if isinstance(rank, int):
            # A second pod on the same host takes the next ports.
            before = situation.node_addresses[:rank].count(situation.address)
            start += before * situation.processes
        return start
    return flags.start_port


def _exchange_port(situation: Situation) -> list[int]:
    port = situation.flags.facts_port
    static = situation.meeting == "ips" or situation.lists is not None
    hosted = static and situation.node_total > 1 and situation.node_rank == 0
    return [port] if hosted and port else []


def _exchange_of_lists(situation: Situation) -> list[tuple[str, int]]:
    """Node 0 serves the exchange between the nodes."""
    nodes, port = situation.node_addresses, situation.flags.facts_port
    return [(nodes[0], port)] if situation.lists is not None and len(nodes) > 1 and port else []


def _servers_here(situation: Situation) -> list[int]:
    return [port for host, port in _listed(situation) if is_local(host)]


def _listed(situation: Situation) -> list[tuple[str, int]]:
    """Endpoints of servers and trainers; on a single node those written with their ports."""
    if situation.lists is not None and len(situation.lists.nodes) > 1:
        return [split_endpoint(endpoint) for endpoint in situation.lists.everybody]
    flags = situation.flags
    text = ",".join((flags.servers, flags.trainers, flags.heter_workers, flags.coordinators))
    found: list[tuple[str, int]] = []
    for part in text.replace(";", ",").split(","):
        with contextlib.suppress(ValueError):
            found.append(split_endpoint(part.strip()))
    return found
