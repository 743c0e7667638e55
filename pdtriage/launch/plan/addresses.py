"""Addresses and ports of this node."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Mapping

from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_DEFAULT_RANGE = (35100, 64000)
_TRIES = 2000
_LONGEST_ENDPOINT = 300
_PLAIN_ENDPOINT = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[?[0-9A-Fa-f:.]+\]?):[0-9]{1,5}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


def own_address(host: str | None) -> str:
    """`--host`/`POD_IP` as given (it may be a name), else what the host's name resolves to."""
    if host:
        return host
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def address_towards(host: str | None) -> str | None:
    """Our address on the way to `host` (None: to anywhere); nothing is sent to find out."""
    target = host or "192.0.2.1"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return None


def is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("localhost", "::1")


def is_local(address: str) -> bool:
    """Whether one can listen on `address` here."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((address, 0))
                return True
        except OSError:
            continue
    return False


def is_port(number: int) -> bool:
    return 0 < number < 65536


def is_taken(port: int) -> bool:
    """Whether somebody listens on `port` of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Like the listeners of Paddle: connections in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return True
        return False


def free_ports(count: int, environ: Mapping[str, str]) -> tuple[int, ...]:
    """`count` ports nobody uses, from `PORT_RANGE` as in Paddle; `FLAGS_FIXED_PORT` fixes them."""
    fixed = environ.get("FLAGS_FIXED_PORT", "")
    if fixed.isdigit():
        ports = tuple(range(int(fixed), int(fixed) + count))
        refuse_taken(ports)
        return ports
    low, high = _port_range(environ.get("PORT_RANGE", ""))
    found: list[int] = []
    port = low + int.from_bytes(os.urandom(4), "big") % (high - low + 1)
    for _ in range(min(_TRIES + count, high - low + 1)):
        if _can_bind(port):
            found.append(port)
            if len(found) == count:
                return tuple(found)
        port = low if port >= high else port + 1
    raise UserError(
        Text(
            f"There are not {count} free ports between {low} and {high}.",
            f"{low} 到 {high} 之间没有 {count} 个空闲端口。",
        ),
        Text("Widen PORT_RANGE (first:last).", "请放宽 PORT_RANGE（起始:结束）。"),
    )


def refuse_taken(ports: tuple[int, ...]) -> None:
    for port in ports:
        if not is_port(port):
            raise UserError(
                Text(f"{port} is not a port.", f"{port} 不是合法端口。"),
                Text("Lower --start_port.", "请调小 --start_port。"),
            )
        if is_taken(port):
            raise UserError(
                Text(f"Port {port} is taken.", f"端口 {port} 已被占用。"),
                Text(
                    f"End what uses it (`ss -ltnp 'sport = :{port}'`), or choose another "
                    "--start_port on every node.",
                    f"请结束占用它的进程（`ss -ltnp 'sport = :{port}'`），或在所有节点上换一个 "
                    "--start_port。",
                ),
            )


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """('10.0.0.1', 6070) from '10.0.0.1:6070' or 'http://10.0.0.1:6070'; raises ValueError."""
    host, colon, port = endpoint.removeprefix("http://").rstrip("/").rpartition(":")
    if not colon or not host:
        raise ValueError(endpoint)
    number = int(port)
    if not is_port(number):
        raise ValueError(endpoint)
    return host.strip("[]"), number


def is_plain_endpoint(text: object) -> bool:
    """Whether it is `host:port` and nothing else: what others name goes into files and variables,
    where a line break or an escape would be a line of its own."""
    return (
        isinstance(text, str)
        and len(text) <= _LONGEST_ENDPOINT
        and _PLAIN_ENDPOINT.fullmatch(text) is not None
        and is_port(int(text.rpartition(":")[2]))
    )


def is_plain_name(text: object) -> bool:
    """Whether it can be the name of a pod or a kind of device."""
    return isinstance(text, str) and _PLAIN_NAME.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """Whether it is a number, which means the same on every node, and no name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
        return True
    return False


def loopback_among_nodes(address: str, remedy: Text) -> UserError:
    """The refusal of a loopback address in a list that all nodes read."""
    return UserError(
        Text(
            f"{address} means a different machine on every node.",
            f"{address} 在每个节点上都指向它自己。",
        ),
        remedy,
    )


def host_part(endpoint: str) -> str:
    return endpoint.rpartition(":")[0]


def port_of(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])


def _can_bind(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Reset instead of TIME_WAIT, so that the port is free again at once.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def _port_range(text: str) -> tuple[int, int]:
    low, colon, high = text.partition(":")
    if colon and low.isdigit() and high.isdigit() and 0 < int(low) <= int(high) < 65536:
        return int(low), int(high)
    return _DEFAULT_RANGE
