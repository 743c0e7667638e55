"""The server of the key-value protocol: one thread, whatever strangers on the network do.

A connection is one request. Connections, their time, the keys and all that is under way are
bounded; where a bound is met, whoever takes most has to go, and that is never a node of the job.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import resource
import selectors
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING

from pdtriage.launch.plan.start_refusals import out_of_threads
from pdtriage.launch.rendezvous.announcements import is_announcement

if TYPE_CHECKING:
    from pdtriage.launch.rendezvous.job_secret import JobSecret

PROOF = "X-Pdtriage-Proof"
"""Header that shows that who asks knows the secret of the job."""
SEEN_AS = "X-Pdtriage-Seen-As"
"""Header that tells who asks by which address it came; Paddle's own server has none."""
MAX_VALUE = 1 << 20
MAX_KEYS = 16_384
MAX_KEY = 1_024
MAX_STORED = 64 << 20
"""Bytes of all keys and values together."""
MAX_ANSWER = 96 << 20
MAX_UNDER_WAY = 128 << 20
"""Bytes of questions and answers that are not yet through."""
MAX_CONNECTIONS = 256
_MAX_HEAD = 16 << 10
_MAX_PER_ROUND = 64
"""Connections taken at once, so that those that are open have their turn."""
_ASKING = 5.0
"""Seconds for a question, from the first byte to the last."""
_ANSWERING = 20.0
_PER_KEY = 200
"""Bytes that a key takes beside its letters."""
_SWEEP = 0.5
_MEETING = "/info/"
"""Part of the keys under which nodes announce themselves."""
_OURS = "/pdtriage/"
"""Part of the keys that nodes of Paddle's launcher do not know; what stands there has beats."""
_ABSENT = 10.0
"""Seconds after which a node that waits for others and does not write any more is gone; nodes of
Paddle's launcher and ours write at least every second."""


class KVServer:
    """A store for the nodes of one job, served by one daemon thread."""

    def __init__(self, port: int, address: str = "", secret: JobSecret | None = None) -> None:
        """With a `secret`, nobody else is answered, but that the server is there. An OSError says
        that the port is taken, or with EAGAIN that there is no thread to serve it."""
        self.store = _Store(is_open=secret is None)
        self._secret = secret
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind((address, port))
            self._listener.listen(1024)
        except OSError:
            self._listener.close()
            raise
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._most = min(MAX_CONNECTIONS, _descriptors() // 4)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._open: dict[int, _Connection] = {}
        """By descriptor, the oldest first."""
        self._thread = threading.Thread(target=self._serve, name="kv-server", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._release()
            raise out_of_threads() from None

    def end_meeting(self, prefix: str, found: Mapping[str, str] | None = None) -> None:
        """All nodes are here: who comes now belongs to another start of the job. `found` is what
        they wrote, which nobody can change any more where everybody may write."""
        if self._secret is None:
            self.store.fixed = {key: _part(key, text) for key, text in (found or {}).items()}
        self.store.closed.add(prefix)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join()

    def _serve(self) -> None:
        swept = time.monotonic()
        try:
            while True:
                for key, _ in self._selector.select(_SWEEP):
                    if key.fileobj is self._woken:
                        return
                    if key.fileobj is self._listener:
                        self._accept()
                    elif (connection := self._open.get(key.fd)) is not None:
                        self._go_on(connection)
                if time.monotonic() - swept > _SWEEP:
                    swept = time.monotonic()
                    for late in [c for c in self._open.values() if c.until < swept]:
                        self._drop(late)
        finally:
            self._release()

    def _release(self) -> None:
        for connection in list(self._open.values()):
            self._drop(connection)
        self._selector.close()
        for own in (self._listener, self._wake, self._woken):
            own.close()

    def _accept(self) -> None:
        for _ in range(_MAX_PER_ROUND):
            try:
                accepted, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:
                # Out of descriptors, perhaps: those of strangers are the first to go.
                if self._open:
                    self._drop(self._oldest_of_the_busiest())
                else:
                    time.sleep(0.05)
                return
            if len(self._open) >= self._most:
                self._drop(self._oldest_of_the_busiest())
            accepted.setblocking(False)
            connection = _Connection(accepted, str(address[0]), self.store, self._secret)
            self._open[accepted.fileno()] = connection
            self._selector.register(accepted, selectors.EVENT_READ)

    def _oldest_of_the_busiest(self) -> _Connection:
        """The oldest connection of the address that holds most: one stranger cannot shut out the
        others."""
        ((busiest, _),) = Counter(c.address for c in self._open.values()).most_common(1)
        return next(c for c in self._open.values() if c.address == busiest)

    def _go_on(self, connection: _Connection) -> None:
        try:
            answering = connection.answering
            done = connection.go_on()
        except BlockingIOError:
            return
        except OSError:
            done = True
        if done:
            self._drop(connection)
            return
        if connection.answering and not answering:
            self._selector.modify(connection.socket, selectors.EVENT_WRITE)
        while sum(c.size for c in self._open.values()) > MAX_UNDER_WAY:
            self._drop(max(self._open.values(), key=lambda c: c.size))

    def _drop(self, connection: _Connection) -> None:
        if self._open.pop(connection.socket.fileno(), None) is not None:
            self._selector.unregister(connection.socket)
        connection.socket.close()


class _Store:
    """Keys, each with its part of an answer, so that an answer only has to be joined."""

    def __init__(self, *, is_open: bool) -> None:
        """`is_open` to strangers, too."""
        self._is_open = is_open
        self._parts: dict[str, bytes] = {}
        self._stored = 0
        self._written: dict[str, float] = {}
        """When a node last announced itself, by key."""
        self._newcomer: dict[str, float] = {}
        """When a node announced itself that was not there before, by what such keys begin with."""
        self.refused = 0
        """Questions of those who do not know the secret."""
        self.turned_away: deque[str] = deque(maxlen=1)
        """The last address from which a node wanted to take part and did not know it."""
        self.closed: set[str] = set()
        """Where nodes have met already."""
        self.fixed: dict[str, bytes] = {}
        """What they wrote there: who reads it late must see the same nodes. Set from another
        thread, which must not touch anything else."""
        self._restored = False
        self.put("/healthy", b"ok")

    def put(self, key: str, value: bytes) -> HTTPStatus:
        text = value.decode("utf-8", "replace")
        part = _part(key, text)
        if self.fixed.get(key, part) != part:
            return HTTPStatus.CONFLICT
        before = self._parts.get(key)
        size = _size(part) - (_size(before) if before is not None else 0)
        if before is None and self._is_closed(key):
            return HTTPStatus.CONFLICT
        full = before is None and len(self._parts) >= MAX_KEYS
        if full or not self._has_room(key, size):
            return HTTPStatus.INSUFFICIENT_STORAGE
        self._parts[key] = part
        self._stored += size
        if _MEETING in key:
            self._written[key] = time.monotonic()
            if before is None and not (self._is_open and not is_announcement(text)):
                self._newcomer[_meeting_of(key)] = self._written[key]
        return HTTPStatus.OK

    def _has_room(self, key: str, size: int) -> bool:
        """Made, if need be, by forgetting what takes more than this does: a stranger's megabytes
        keep no node out."""
        while self._stored + size > MAX_STORED:
            largest = max(self._parts, key=lambda known: len(self._parts[known]))
            if (
                largest == key
                or largest in self.fixed
                or len(self._parts[largest]) + _PER_KEY <= size
            ):
                return False
            self._forget(largest)
        return True

    def find(self, prefix: str) -> bytes | None:
        self._forget_absent()
        self._restore_fixed()
        found = [
            part
            for key, part in self._parts.items()
            if key.startswith(prefix) and self._is_present(key)
        ]
        return b"{" + b", ".join(found) + b"}" if found else None

    def _restore_fixed(self) -> None:
        """Somebody may have changed it between the last look of the last node and the end."""
        if not self.fixed or self._restored:
            return
        self._restored = True
        for key, part in self.fixed.items():
            self._forget(key)
            self._parts[key] = part
            self._stored += _size(part)

    def _is_present(self, key: str) -> bool:
        """A node that waits for others writes again and again, until it has seen them all: who has
        not written since the last one came may be gone, and completes no meeting."""
        written = self._written.get(key)
        if written is None or _OURS in key:
            return True
        return written >= self._newcomer.get(_meeting_of(key), written)

    def _is_closed(self, key: str) -> bool:
        return any(key.startswith(prefix) for prefix in self.closed)

    def _forget_absent(self) -> None:
        """Forgets nodes that were killed while they waited: they must not count when they come
        again."""
        moment = time.monotonic()
        gone = [key for key, since in self._written.items() if moment - since > _ABSENT]
        for key in gone:
            if self._is_closed(key):
                del self._written[key]
            else:
                self._forget(key)

    def delete(self, key: str) -> HTTPStatus:
        return HTTPStatus.CONFLICT if key in self.fixed else self._forget(key)

    def _forget(self, key: str) -> HTTPStatus:
        self._written.pop(key, None)
        part = self._parts.pop(key, None)
        if part is None:
            return HTTPStatus.NOT_FOUND
        self._stored -= _size(part)
        return HTTPStatus.OK


class _Connection:
    """A connection with one request, as far as it has come."""

    def __init__(
        self, accepted: socket.socket, address: str, store: _Store, secret: JobSecret | None
    ) -> None:
        self.socket = accepted
        self.address = address
        self.until = time.monotonic() + _ASKING
        self.answering = False
        self._store = store
        self._secret = secret
        self._asked = bytearray()
        self._head = _Head("", "", 0, "")
        self._body_at = 0
        self._answer = memoryview(b"")

    @property
    def size(self) -> int:
        return len(self._asked) + len(self._answer)

    def go_on(self) -> bool:
        """Read or write what can be; whether that was the end."""
        if self.answering:
            self._answer = self._answer[self.socket.send(self._answer) :]
            return not self._answer
        received = self.socket.recv(64 << 10)
        if not received:
            return True
        self._asked += received
        if not self._body_at and not self._read_head():
            return False
        if len(self._asked) - self._body_at >= self._head.length and not self.answering:
            self._finish()
        return False

    def _read_head(self) -> bool:
        """Whether it is there, or has been answered as nonsense."""
        end = self._asked.find(b"\r\n\r\n", 0, _MAX_HEAD)
        if end < 0:
            if len(self._asked) > _MAX_HEAD:
                self._say(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return False
        self._body_at = end + 4
        head = _head(bytes(self._asked[:end]))
        if head is None:
            self._say(HTTPStatus.BAD_REQUEST)
        elif head.length > MAX_VALUE or len(head.key) > MAX_KEY:
            self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._head = head
        return True

    def _finish(self) -> None:
        method, key, length = self._head.method, self._head.key, self._head.length
        if not self._is_allowed():
            self._store.refused += 1
            if method != "GET" and _MEETING in key:
                self._store.turned_away.append(self.address)
            self._say(HTTPStatus.FORBIDDEN)
        elif method == "GET":
            found = self._store.find(key)
            self._say(HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK, found or b"")
        elif method in ("POST", "PUT"):
            body = bytes(self._asked[self._body_at : self._body_at + length])
            self._say(self._store.put(key, body))
        elif method == "DELETE":
            self._say(self._store.delete(key))
        else:
            self._say(HTTPStatus.NOT_IMPLEMENTED)

    def _is_allowed(self) -> bool:
        head = self._head
        if self._secret is None or (head.method, head.key) == ("GET", "/healthy"):
            return True
        body = bytes(self._asked[self._body_at : self._body_at + head.length])
        right = self._secret.may(request_text(head.method, head.key, body))
        return hmac.compare_digest(right.encode(), head.proof.encode("utf-8", "replace"))

    def _say(self, status: HTTPStatus, body: bytes = b"") -> None:
        head = (
            f"HTTP/1.0 {status.value} {status.phrase}\r\n"
            f"Date: {formatdate(usegmt=True)}\r\n"
            f"Content-Length: {len(body)}\r\n"
            f"{SEEN_AS}: {self.address}\r\n"
            "Content-Type: application/json; charset=utf8\r\n\r\n"
        )
        self._asked = bytearray()
        self._answer = memoryview(head.encode() + body)
        self.answering = True
        self.until = time.monotonic() + _ANSWERING


class _Head:
    __slots__ = ("key", "length", "method", "proof")

    def __init__(self, method: str, key: str, length: int, proof: str) -> None:
        self.proof = proof
        self.method = method
        self.key = key
        self.length = length


def request_text(method: str, path: str, body: bytes) -> str:
    """All of a question, for a proof of who asks it."""
    return f"{method} {path} {hashlib.sha256(body).hexdigest()}"


def _head(raw: bytes) -> _Head | None:
    """Method, key and length of the body; None for what is no HTTP."""
    first, *rest = raw.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[1].startswith("/") or not words[2].startswith("HTTP/1."):
        return None
    length, proof = "0", ""
    for line in rest:
        name, colon, value = line.partition(":")
        if colon and name.lower() == "content-length":
            length = value.strip()
        elif colon and name.lower() == PROOF.lower():
            proof = value.strip()
    if not (length.isascii() and length.isdigit() and len(length) < 12):
        return None
    # As Python's own server does it: two slashes at the beginning would name another host.
    return _Head(words[0], "/" + words[1].lstrip("/"), int(length), proof)


def _meeting_of(key: str) -> str:
    return key.partition(_MEETING)[0]


def _part(key: str, text: str) -> bytes:
    """One key and its text, as they stand in an answer of JSON."""
    return f"{_json(key)}: {_json(text)}".encode()


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _size(part: bytes) -> int:
    return len(part) + _PER_KEY


def _descriptors() -> int:
    """How many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else max(soft, 64)
