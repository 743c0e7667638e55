"""The four conditions, against a real etcd where there is one."""

from __future__ import annotations

import pytest

from ..etcd import RealEtcd
from ..ports import free_port
from .conftest import Machine

RANGE = "--nnodes=2:4"


def test_other_jobs_are_not_asked(machine: Machine) -> None:
    for check in ("elastic-etcd", "elastic-job-id", "elastic-range", "elastic-timeout"):
        assert machine.look(check).status == "skipped"


def test_no_etcd(machine: Machine, listener: int) -> None:
    found = machine.look("elastic-etcd", RANGE)
    assert (found.status, "no etcd is named" in found.seen.en) == ("failed", True)
    assert machine.look("elastic-etcd", RANGE, "--master=etcd://nonsense").status == "failed"
    secret = machine.look("elastic-etcd", RANGE, "--master=etcd://me:pw@127.0.0.1:2379")
    assert (secret.status, "user and a password" in secret.seen.en) == ("failed", True)
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
        (("--np=2",), "ok"),
        (("--nnodes=2", "--master=etcd://h:2379"), "ok"),
        (("--nnodes=2:2",), "ok"),
        (("--np=x:3",), "failed"),
        (("--nnodes=3:2",), "failed"),
    ],
)
def test_range(machine: Machine, words: tuple[str, ...], status: str) -> None:
    found = machine.look("elastic-range", *words)
    assert found.status == status
    fixed = status == "ok" and words[0] not in (RANGE, "--np=2:3")
    assert ("replaced, not added" in found.seen.en) == fixed


@pytest.mark.parametrize(
    ("seconds", "status"),
    [("30", "ok"), ("120", "ok"), ("300", "warning"), ("3600", "failed"), ("0", "failed")],
)
def test_timeout(machine: Machine, seconds: str, status: str) -> None:
    assert machine.look("elastic-timeout", RANGE, f"--elastic_timeout={seconds}").status == status
    found = machine.look("elastic-timeout", RANGE, environ={"PADDLE_ELASTIC_TIMEOUT": seconds})
    assert found.status == status


def test_a_real_etcd(machine: Machine, etcd: RealEtcd) -> None:
    words = (RANGE, "--job_id=bert-7")
    for place in (f"--master={etcd.url}", f"--elastic_server=127.0.0.1:{etcd.port}"):
        found = machine.look("elastic-etcd", *words, place)
        assert found.status == "ok"
        assert found.seen.en.startswith("etcd 3.")
        assert machine.look("elastic-job-id", *words, place).status == "ok"
    etcd.client().write({"/paddle/bert-7/heartbeat/a": "1", "/pdtriage/bert-7/members/b": "1"})
    found = machine.look("elastic-job-id", *words, f"--master={etcd.url}")
    assert (found.status, "2 key(s)" in found.seen.en) == ("warning", True)
    other = machine.look("elastic-job-id", RANGE, "--job_id=bert", f"--master={etcd.url}")
    assert other.status == "ok", "a name that only begins the same is another job"
