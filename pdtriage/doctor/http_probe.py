"""Trying addresses and ports in bounded time, many at once."""

from __future__ import annotations

import contextlib
import errno
import http.client
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Literal

from pdtriage.support.fast_namedtuple import NamedTuple

PATIENCE = 2.0
_AT_ONCE = 64
_LONGEST = 1 << 20

Reach = Literal["listening", "free", "silent", "unreachable", "unknown-name"]
"""`free`: the host answered that nobody listens there, so packets go through."""


class Answer(NamedTuple):
    """What an HTTP server said."""

    status: int
    body: bytes
    clock: float | None
    """Its wall clock, to the second."""


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
        return "silent" if error.errno == errno.ETIMEDOUT else "unreachable"


def reach_all(
    endpoints: Sequence[tuple[str, int]], patience: float = PATIENCE
) -> dict[tuple[str, int], Reach]:
    if not endpoints:
        return {}
    with ThreadPoolExecutor(min(_AT_ONCE, len(endpoints))) as pool:
        found = pool.map(lambda endpoint: reach(endpoint[0], endpoint[1], patience), endpoints)
        return dict(zip(endpoints, found, strict=True))


def ask(
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


def _stamp(text: str | None) -> float | None:
    if text is not None:
        with contextlib.suppress(ValueError):
            return parsedate_to_datetime(text).timestamp()
    return None
