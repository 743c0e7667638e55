"""The HTTP key-value protocol of Paddle's master, as server and as client.

POST or PUT stores the body under the path, GET answers with a JSON object of all keys that begin
with the path (404 for none), DELETE removes one key; `/healthy` always holds `ok`.
"""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from pdtriage.launch.rendezvous.kv_server import (
    MAX_ANSWER,
    MAX_VALUE,
    PROOF,
    SEEN_AS,
    KVServer,
    request_text,
)

if TYPE_CHECKING:
    from pdtriage.launch.rendezvous.job_secret import JobSecret

__all__ = ["MAX_VALUE", "KVClient", "KVServer"]

_SAFE = "/~!$&'()*+,;=:@-._"


class KVClient:
    """Talks to such a server; every call is one short connection, because Paddle's server
    serves one connection at a time."""

    def __init__(
        self, host: str, port: int, timeout: float = 3.0, secret: JobSecret | None = None
    ) -> None:
        self.refused = False
        """The server takes nothing from those who do not know the secret of its job."""
        self.occupied = False
        """Nodes have met there already, and this one is not among them."""
        self.seen_as: str | None = None
        """Our address, as the server sees it; None of a server that is not ours."""
        self.is_paddles = False
        """The server is that of Paddle's own launcher."""
        self._secret = secret
        self.host = host
        self.port = port
        self.timeout = timeout

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port}"

    def put(self, key: str, value: str) -> bool:
        status, _ = self._ask("POST", key, value.encode())
        return status == 200

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        """All keys below `prefix`; None when the server cannot be reached or talks nonsense."""
        status, body = self._ask("GET", prefix)
        if status == 404:
            return {}
        if status != 200:
            return None
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        return {key: value for key, value in found.items() if isinstance(value, str)}

    def delete(self, key: str) -> bool:
        status, _ = self._ask("DELETE", key)
        return status == 200

    def is_ready(self) -> bool:
        return (self.get_prefix("/healthy") or {}).get("/healthy") == "ok"

    def _ask(self, method: str, key: str, body: bytes | None = None) -> tuple[int, bytes]:
        """(status, body); status 0 when there is no answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        if method == "POST":
            self.occupied = False  # also where nobody is there any more to say so
        try:
            path = quote(key, safe=_SAFE)
            proof = {}
            if self._secret is not None:
                proof[PROOF] = self._secret.may(request_text(method, path, body or b""))
            connection.request(method, path, body, proof)
            response = connection.getresponse()
            self.refused = response.status == http.client.FORBIDDEN
            self.seen_as = response.getheader(SEEN_AS)
            self.is_paddles = response.status == http.client.OK and self.seen_as is None
            if method == "POST":
                self.occupied = response.status == http.client.CONFLICT
            return response.status, response.read(MAX_ANSWER)
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()
