"""Which ports a job will use, here and on the other nodes, and whether they can be reached."""

from __future__ import annotations

import contextlib
import errno
import http.client
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Literal

from pdtriage.doctor.context import Context
from pdtriage.launch.options.flags import DEFAULT_START_PORT
from pdtriage.launch.options.unsupported import PS_MODES
from pdtriage.launch.plan.addresses import address_towards, is_local, split_endpoint
from pdtriage.launch.plan.cluster import CLOUD_START_PORT
from pdtriage.support.fast_namedtuple import NamedTuple

PATIENCE = 2.0
"""Seconds to wait for an answer."""
_AT_ONCE = 64
_LONGEST = 1 << 20
_MOST_PORTS = 16
"""Ports tried on each peer; a job of more shows no new kind of trouble."""

Reach = Literal["listening", "free", "silent", "unreachable", "unknown-name"]
"""`free`: the host answered that nobody listens there, so packets go through."""


class Answer(NamedTuple):
    """What an HTTP server answered."""

    status: int
    body: bytes
    clock: float | None
    """Its wall clock, to the second."""


def fixed_ports(context: Context) -> list[int]:
    """Ports of this node's processes that flags or platform decide; none where they are chosen."""
    if context.mode in PS_MODES:
        return _servers_here(context)
    first = _first_port(context)
    return [] if first is None else list(range(first, first + context.processes))


def wanted_ports(context: Context) -> list[int]:
    """All ports this node listens on, with that of the exchange between the nodes."""
    return [*fixed_ports(context), *_exchange_port(context)]


def ports_of_peers(context: Context) -> list[tuple[str, int]]:
    """(host, port) this node will connect to."""
    if context.mode in PS_MODES:
        endpoints = (*_listed_endpoints(context), *_exchange_of_lists(context))
        return [(host, port) for host, port in endpoints if not is_local(host)]
    first = _first_port(context)
    found: list[tuple[str, int]] = []
    for rank, node in enumerate(context.node_addresses):
        if node == context.address:
            continue
        start = first or DEFAULT_START_PORT
        ports = range(start, start + min(context.processes, _MOST_PORTS))
        found += [(node, port) for port in ports]
        if rank == 0 and context.meeting == "ips" and context.flags.facts_port:
            found.append((node, context.flags.facts_port))
    return found


def one_of_each_peer(context: Context) -> list[tuple[str, int]]:
    """Where every other node can be tried once, as far as they are known."""
    given = context.flags.master or ""
    found: dict[str, int] = {}
    with contextlib.suppress(ValueError):
        found.update([split_endpoint(given)] if given and "://" not in given else [])
    # The last port of a node is that of the exchange, or of a trainer at whom nobody meets.
    for host, port in (*map(split_endpoint, context.peers), *reversed(ports_of_peers(context))):
        found.setdefault(host, port)
    return [(host, port) for host, port in found.items() if not is_local(host)][:_AT_ONCE]


_SILENT = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EHOSTDOWN)
"""The kernel asks for a neighbour for some seconds, and then says the same as without a route."""


def reach(host: str, port: int, patience: float = PATIENCE) -> Reach:
    try:
        with socket.create_connection((host, port), timeout=patience):
            return "listening"
    except ConnectionRefusedError:
        return "free"
    except socket.gaierror:
        return "unknown-name"
    except TimeoutError:
        return "silent"
    except OSError as error:
        return "silent" if error.errno in _SILENT and address_towards(host) else "unreachable"


def reach_all(
    endpoints: Sequence[tuple[str, int]], patience: float = PATIENCE
) -> dict[tuple[str, int], Reach]:
    if not endpoints:
        return {}
    with ThreadPoolExecutor(min(_AT_ONCE, len(endpoints))) as pool:
        found = pool.map(lambda endpoint: reach(endpoint[0], endpoint[1], patience), endpoints)
        return dict(zip(endpoints, found, strict=True))


def http_answer(
    host: str, port: int, path: str, body: bytes | None = None, patience: float = PATIENCE
) -> Answer | None:
    """GET (or POST, with a body); None when there is no answer that is HTTP."""
    connection = http.client.HTTPConnection(host, port, timeout=patience)
    try:
        connection.request("GET" if body is None else "POST", path, body)
        response = connection.getresponse()
        return Answer(response.status, response.read(_LONGEST), _stamp(response.getheader("Date")))
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _first_port(context: Context) -> int | None:
    """None where the launcher chooses free ports by itself."""
    flags = context.flags
    if context.meeting == "cloud":
        port = context.environ.get("PADDLE_PORT", "")
        default = CLOUD_START_PORT if flags.start_port is None else flags.start_port
        return int(port) if port.isdecimal() else default
    if context.meeting == "master":
        return None
    if context.meeting == "ips" and len(context.node_addresses) > 1:
        start = DEFAULT_START_PORT if flags.start_port is None else flags.start_port
        rank = context.node_rank
        if isinstance(rank, int):
            # A second pod on the same host takes the next ports.
            before = context.node_addresses[:rank].count(context.address)
            start += before * context.processes
        return start
    return flags.start_port


def _exchange_port(context: Context) -> list[int]:
    port = context.flags.facts_port
    static = context.meeting == "ips" or context.lists is not None
    hosted = static and context.node_total > 1 and context.node_rank == 0
    return [port] if hosted and port else []


def _exchange_of_lists(context: Context) -> list[tuple[str, int]]:
    """Node 0 serves the exchange between the nodes."""
    nodes, port = context.node_addresses, context.flags.facts_port
    return [(nodes[0], port)] if context.lists is not None and len(nodes) > 1 and port else []


def _servers_here(context: Context) -> list[int]:
    return [port for host, port in _listed_endpoints(context) if is_local(host)]


def _listed_endpoints(context: Context) -> list[tuple[str, int]]:
    """Endpoints of servers and trainers; on a single node those written with their ports."""
    if context.lists is not None and len(context.lists.nodes) > 1:
        return [split_endpoint(endpoint) for endpoint in context.lists.everybody]
    flags = context.flags
    text = ",".join((flags.servers, flags.trainers, flags.heter_workers, flags.coordinators))
    found: list[tuple[str, int]] = []
    for part in text.replace(";", ",").split(","):
        with contextlib.suppress(ValueError):
            found.append(split_endpoint(part.strip()))
    return found


def _stamp(text: str | None) -> float | None:
    if text is not None:
        with contextlib.suppress(ValueError):
            return parsedate_to_datetime(text).timestamp()
    return None
