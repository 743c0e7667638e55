"""A real SFTP server on loopback, for one folder and one user."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko

USER, PASSWORD = "ada", "s3cret-w0rd"


@contextmanager
def sftp_server(folder: Path) -> Iterator[tuple[int, paramiko.PKey]]:
    """Its port and its host key."""
    key = paramiko.RSAKey.generate(2048)
    listening = socket.create_server(("127.0.0.1", 0))
    transports: list[paramiko.Transport] = []

    class Files(_Files):
        root = folder

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transports.append(transport)
            transport.add_server_key(key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
            try:
                transport.start_server(server=_Door())
            except (paramiko.SSHException, EOFError):
                continue  # who does not trust the key hangs up

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listening.getsockname()[1], key
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for transport in transports:
            transport.close()


class _Door(paramiko.ServerInterface):
    def check_auth_password(self, username: str, password: str) -> int:
        good = (username, password) == (USER, PASSWORD)
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_channel_request(self, _kind: str, _channel: int) -> int:
        return paramiko.OPEN_SUCCEEDED


class _Files(paramiko.SFTPServerInterface):
    root: Path

    def list_folder(self, path: str) -> list[paramiko.SFTPAttributes] | int:
        entries = []
        for entry in os.scandir(self._real(path)):
            found = paramiko.SFTPAttributes.from_stat(entry.stat(follow_symlinks=False))
            found.filename = entry.name
            entries.append(found)
        return entries

    def stat(self, path: str) -> paramiko.SFTPAttributes | int:
        try:
            return paramiko.SFTPAttributes.from_stat(os.stat(self._real(path)))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    lstat = stat

    def open(
        self, path: str, _flags: int, _attributes: paramiko.SFTPAttributes
    ) -> paramiko.SFTPHandle | int:
        try:
            file = open(self._real(path), "rb")  # noqa: SIM115 - the handle closes it
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        handle = paramiko.SFTPHandle()
        handle.readfile = file  # type: ignore[attr-defined]
        return handle

    def _real(self, path: str) -> Path:
        return self.root / self.canonicalize(path).lstrip("/")
