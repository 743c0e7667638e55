"""The HTTP key-value protocol of Paddle's master, as server and as client.

POST or PUT stores the body under the path, GET answers with a JSON object of all keys that begin
with the path (404 for none), DELETE removes one key; `/healthy` always holds `ok`.
"""

from __future__ import annotations

import http.client
import http.server
import json
import socket
import threading
from urllib.parse import quote

MAX_VALUE = 1 << 20
MAX_KEYS = 16_384
MAX_KEY = 1_024
_SAFE = "/~!$&'()*+,;=:@-._"


class KVServer:
    """A store for the nodes of one job, served by daemon threads."""

    def __init__(self, port: int, address: str = "") -> None:
        self._server = _Store((address, port), _Requests)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class KVClient:
    """Talks to such a server; every call is one short connection, because Paddle's server
    serves one connection at a time."""

    def __init__(self, host: str, port: int, timeout: float = 3.0) -> None:
        self.host = host
        self.port = port
        self.timeout = timeout

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
        try:
            connection.request(method, quote(key, safe=_SAFE), body)
            response = connection.getresponse()
            return response.status, response.read(MAX_KEYS * 4096)
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


class _Store(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], handler: type[_Requests]) -> None:
        self.values: dict[str, bytes] = {"/healthy": b"ok"}
        self.lock = threading.Lock()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # HTTPServer would look up the host's name, which may take seconds.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up in the middle is its own business."""


class _Requests(http.server.BaseHTTPRequestHandler):
    server: _Store
    timeout = 10

    def do_GET(self) -> None:
        with self.server.lock:
            found = {
                key: value.decode("utf-8", "replace")
                for key, value in self.server.values.items()
                if key.startswith(self.path)
            }
        self._answer(200 if found else 404, json.dumps(found).encode() if found else b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_VALUE or len(self.path) > MAX_KEY:
            self._answer(413)
            return
        value = self.rfile.read(int(length))
        with self.server.lock:
            full = len(self.server.values) >= MAX_KEYS and self.path not in self.server.values
            if not full:
                self.server.values[self.path] = value
        self._answer(507 if full else 200)

    do_PUT = do_POST  # noqa: N815 (the name is the method of the protocol)

    def do_DELETE(self) -> None:
        with self.server.lock:
            known = self.server.values.pop(self.path, None) is not None
        self._answer(200 if known else 404)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not worth a line."""

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json; charset=utf8")
        self.end_headers()
        self.wfile.write(body)
