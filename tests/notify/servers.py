"""Real servers on loopback: webhooks, a proxy that stands for every service of the world, SMTP.

Services whose host cannot be chosen are reached through a proxy: it takes `CONNECT` to any host,
answers with a certificate for that host, of an authority that only the test trusts, and keeps what
was sent. Nothing leaves the machine.
"""

from __future__ import annotations

import datetime
import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Sent(NamedTuple):
    host: str
    path: str
    body: Any


class Webhook(ThreadingHTTPServer):
    """Keeps what it is sent; answers `status` and `answer`, or nothing until it is closed."""

    daemon_threads = True

    def __init__(self, status: int = 200, answer: bytes = b"ok", silent: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.answer, self.silent = status, answer, silent
        self.sent: list[Sent] = []
        self.over = threading.Event()
        self.folder: Path | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.silent:
            self.server.over.wait()
            return
        self.server.sent.append(Sent(self.headers["Host"], self.path, json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        assert self.server.folder is not None
        host = self.path.partition(":")[0]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(self.server.folder, host))
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def webhook(status: int = 200, answer: bytes = b"ok", silent: bool = False) -> Iterator[Webhook]:
    with Webhook(status, answer, silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


@contextmanager
def world(folder: Path, answer: bytes = b"ok") -> Iterator[tuple[Webhook, dict[str, str]]]:
    """Every host there is, and the environment in which it is met."""
    with webhook(answer=answer) as server:
        server.folder = folder
        authority = _authority(folder)
        yield (
            server,
            {
                "HTTPS_PROXY": f"http://{server.address}",
                "NO_PROXY": "",
                "REQUESTS_CA_BUNDLE": str(authority),
            },
        )


def _authority(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("the world of a test")
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    built = _builder(name, name, key).add_extension(constraints, critical=True)
    certificate = built.sign(key, hashes.SHA256())
    (folder / "authority.key").write_bytes(_pem(key))
    file = folder / "authority.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return file


def _certificate(folder: Path, host: str) -> Path:
    authority = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())
    signing: Any = serialization.load_pem_private_key(
        (folder / "authority.key").read_bytes(), password=None
    )
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    built = _builder(_name(host), authority.subject, key).add_extension(names, critical=False)
    # Several connections to one host come at the same moment, each with a key of its own.
    file = folder / f"{host}-{threading.get_ident()}.pem"
    certificate = built.sign(signing, hashes.SHA256())
    file.write_bytes(_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
    return file


def _builder(subject: x509.Name, issuer: x509.Name, key: Any) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
    )


def _name(words: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, words)])


def _pem(key: Any) -> bytes:
    private: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private


class Mailbox(socketserver.ThreadingTCPServer):
    """As much of SMTP as a client needs to get rid of a letter."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Letters)
        self.letters: list[str] = []


class _Letters(socketserver.StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        self.wfile.write(b"220 mailbox\r\n")
        for line in self.rfile:
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.letters.append(b"".join(lines).decode())
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                return


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
