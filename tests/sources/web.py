"""A web server on loopback that behaves as badly as it is told to."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit

PIECE = 1 << 16


@dataclass
class Web:
    tree: Mapping[str, bytes]
    ranges: bool = True
    etags: bool = True
    busy: int = 0
    """How many requests for a file are answered with 503 first."""
    breaks: Mapping[str, int] = field(default_factory=dict)
    """After how many bytes the first answers for a file break off."""
    broken: int = 1
    """How many answers for such a file break off."""
    delay: float = 0.0
    refused: frozenset[str] = frozenset()
    port: int = 0
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(method, path) of every request."""
    sent: Counter[str] = field(default_factory=Counter)
    """Bytes of every file that went out."""
    begins: list[int] = field(default_factory=list)
    """Where in its file each answer with a body began."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(web: Web) -> Iterator[Web]:
    class Handler(_Handler):
        pass

    Handler.web = web
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    web.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    web: Web
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        web = self.web
        path = unquote(urlsplit(self.path).path)
        with web.lock:
            web.asked[self.command, path] += 1
            turn = web.asked[self.command, path]
        name = path.lstrip("/")
        if name in web.refused:
            self._short(403)
        elif name in web.tree:
            if turn <= web.busy:
                self._short(503)
            else:
                self._file(name, body, turn)
        elif any(other.startswith(name.rstrip("/") + "/") or not name for other in web.tree):
            self._page(name, body)
        else:
            self._short(404)

    def _short(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _page(self, folder: str, body: bool) -> None:
        base = folder.rstrip("/") + "/" if folder else ""
        below = {name[len(base) :] for name in self.web.tree if name.startswith(base)}
        names = sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in below})
        rows = "".join(f'<a href="{quote(name)}">{name}</a><br>' for name in names)
        page = f'<a href="?C=N;O=D">Name</a><a href="../">up</a>{rows}'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if body:
            self.wfile.write(page)

    def _file(self, name: str, body: bool, turn: int) -> None:
        web, content = self.web, self.web.tree[name]
        begin, end, wanted = 0, len(content), self.headers.get("Range")
        if wanted and web.ranges:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last) + 1 if last else end, end)
        self.send_response(206 if wanted and web.ranges else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Last-Modified", formatdate(1_700_000_000, usegmt=True))
        if web.etags:
            self.send_header("ETag", f'"{len(content)}-{hash(content)}"')
        if wanted and web.ranges:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        self.end_headers()
        if body:
            with web.lock:
                web.begins.append(begin)
            time.sleep(web.delay)
            breaks = name in web.breaks and turn <= web.broken
            self._send(
                name, content[begin : begin + web.breaks[name]] if breaks else content[begin:end]
            )
            self.close_connection = breaks

    def _send(self, name: str, content: bytes) -> None:
        """In small pieces through a small buffer: what nobody reads does not count as sent."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        try:
            for start in range(0, len(content), PIECE):
                piece = content[start : start + PIECE]
                with self.web.lock:  # before it leaves: whoever has read it may ask at once
                    self.web.sent[name] += len(piece)
                self.wfile.write(piece)
            self.wfile.flush()
        except OSError:
            return  # the other side has seen enough
