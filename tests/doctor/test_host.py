"""Shared memory, limits, memory, clock, proxies and the container."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.doctor.checks import host

from .conftest import Machine

TWO = ("--ips=10.77.0.1,10.77.0.2", "--host=10.77.0.1")


@pytest.fixture
def mount(machine: Machine) -> Iterator[Path]:
    """A place for a real file system of a given size."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    place = machine.root / "dev" / "shm"
    yield place
    subprocess.run(["umount", place], check=False, capture_output=True)


def mount_memory(place: Path, size: str) -> None:
    options = f"size={size}"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=False, capture_output=True
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount: {done.stderr.decode().strip()}")


@pytest.mark.root
@pytest.mark.parametrize(
    ("size", "status"), [("2g", "ok"), ("512m", "ok"), ("64m", "warning"), ("8m", "failed")]
)
def test_shared_memory(machine: Machine, mount: Path, size: str, status: str) -> None:
    mount_memory(mount, size)
    assert machine.look("shm", "--nproc_per_node=2").status == status


@pytest.mark.root
def test_shared_memory_that_is_used_up(machine: Machine, mount: Path) -> None:
    mount_memory(mount, "600m")
    assert machine.look("shm", "--nproc_per_node=1").status == "ok"
    with (mount / "left_over").open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, 590 << 20)
    found = machine.look("shm", "--nproc_per_node=1")
    assert (found.status, "10 MiB of 600 MiB free" in found.seen.en) == ("failed", True)


def test_more_processes_need_more_shared_memory(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SHM_PER_PROCESS", 1 << 60)
    found = machine.look("shm", "--nproc_per_node=1")
    assert found.status == "warning"
    assert "--shm-size=" in found.advice.en


def test_no_shared_memory(machine: Machine) -> None:
    (machine.root / "dev" / "shm").rmdir()
    assert machine.look("shm").status == "failed"


@pytest.mark.parametrize(
    ("files", "words", "status"),
    [
        ("unlimited", (), "ok"),
        ("1024", ("--nproc_per_node=8",), "ok"),
        ("1024", ("--nproc_per_node=8", *TWO), "warning"),
        ("4096", ("--nproc_per_node=8", *TWO), "ok"),
        ("512", (), "warning"),
        ("128", (), "failed"),
    ],
)
def test_open_files(machine: Machine, files: str, words: tuple[str, ...], status: str) -> None:
    machine.limits(files=files)
    assert machine.look("open-files", *words).status == status


@pytest.mark.parametrize(
    ("most", "now", "status"),
    [
        ("max", "12", "ok"),
        ("4096", "12", "ok"),
        ("140", "100", "warning"),
        ("104", "100", "failed"),
    ],
)
def test_processes_of_the_cgroup(machine: Machine, most: str, now: str, status: str) -> None:
    machine.write("/proc/self/cgroup", "0::/job\n")
    machine.write("/sys/fs/cgroup/job/pids.max", f"{most}\n")
    machine.write("/sys/fs/cgroup/job/pids.current", f"{now}\n")
    assert machine.look("processes").status == status


def test_processes_of_the_user(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    machine.write("/proc/7/status", "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nThreads:\t95\n")
    machine.write("/proc/8/status", "Name:\tother\nUid:\t0\t0\t0\t0\nThreads:\t900\n")
    machine.limits(processes="100")
    found = machine.look("processes")
    assert (found.status, "room for 5" in found.seen.en) == ("failed", True)
    machine.limits(processes="10000")
    assert machine.look("processes").status == "ok"


def test_memory_of_the_cgroup(machine: Machine) -> None:
    assert machine.look("memory").seen.en == "62.5 GiB, no limit of a cgroup"
    machine.write("/proc/self/cgroup", "0::/pod/box\n")
    machine.write("/sys/fs/cgroup/pod/memory.max", f"{4 << 30}\n")
    machine.write("/sys/fs/cgroup/pod/memory.current", f"{3 << 30}\n")
    machine.write("/sys/fs/cgroup/pod/memory.stat", f"anon 5\ninactive_file {2 << 30}\n")
    assert machine.look("memory", "--nproc_per_node=2").status == "ok"
    machine.write("/sys/fs/cgroup/pod/memory.stat", "inactive_file 0\n")
    found = machine.look("memory", "--nproc_per_node=2")
    assert (found.status, "4 GiB, 1 GiB are left" in found.seen.en) == ("warning", True)


def test_memory_of_the_first_cgroups(machine: Machine) -> None:
    machine.write("/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/docker/abc\n")
    folder = "/sys/fs/cgroup/memory"  # in a container the own group is the root of what is seen
    machine.write(f"{folder}/memory.limit_in_bytes", f"{2 << 30}\n")
    machine.write(f"{folder}/memory.usage_in_bytes", f"{1 << 30}\n")
    assert machine.look("memory", "--nproc_per_node=2").status == "warning"
    machine.write(f"{folder}/memory.limit_in_bytes", "9223372036854771712\n")
    assert machine.look("memory", "--nproc_per_node=2").status == "ok"


def test_clock_that_was_never_set(machine: Machine) -> None:
    found = machine.look("clock", clock=lambda: 86400.0)
    assert (found.status, "1970-01-02" in found.seen.en) == ("warning", True)
    assert machine.look("clock").status == "ok"


@pytest.mark.parametrize(("state", "status"), [(True, "ok"), (False, "warning"), (None, "skipped")])
def test_clock_of_several_nodes(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, state: bool | None, status: str
) -> None:
    monkeypatch.setattr(host, "clock_is_synchronised", lambda: state)
    assert machine.look("clock", *TWO).status == status


def test_the_kernel_is_asked_for_its_clock(machine: Machine) -> None:
    assert machine.look("clock", *TWO).status in ("ok", "warning")


def test_proxies(machine: Machine) -> None:
    proxy = {"http_proxy": "http://me:secret@proxy.example:3128"}
    found = machine.look("proxies", *TWO, environ=proxy)
    assert found.status == "warning"
    assert "unset http_proxy" in found.advice.en
    assert "secret" not in found.seen.en
    assert "***@proxy.example:3128" in found.seen.en
    assert machine.look("proxies", environ=proxy).status == "ok"
    exempt = {**proxy, "no_proxy": "localhost,10.77.0.2"}
    assert machine.look("proxies", *TWO, environ=exempt).status == "ok"
    assert machine.look("proxies", *TWO).status == "ok"
    bare = machine.look("proxies", *TWO, environ={"ALL_PROXY": "me:secret@proxy.example:1"})
    assert (bare.status, "secret" in bare.seen.en) == ("warning", False)


def test_container_with_a_network_of_its_own(machine: Machine) -> None:
    machine.network("lo", 1, 1)
    machine.network("eth0", 24, 25)
    assert machine.look("container-network", *TWO).status == "ok", "not in a container"
    machine.write("/.dockerenv", "")
    found = machine.look("container-network", "--ips=10.77.0.1,nowhere.invalid", "--host=10.77.0.1")
    assert (found.status, "--net=host" in found.advice.en) == ("warning", True)
    assert "no way from it to nowhere.invalid" in found.seen.en
    known = machine.look("container-network", "--nnodes=2")
    assert (known.status, "not known yet" in known.seen.en) == ("ok", True)
    assert machine.look("container-network").status == "skipped"
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert machine.look("container-network", *TWO, environ=pod).status == "ok"


def test_container_on_the_network_of_the_host(machine: Machine) -> None:
    machine.write("/proc/1/cgroup", "0::/system.slice/docker-abc.scope\n")
    machine.network("eth0", 2, 2)
    machine.network("veth1", 24, 3)
    assert machine.look("container-network", *TWO).status == "ok"


def test_container_without_a_network(machine: Machine) -> None:
    machine.write("/run/.containerenv", "")
    machine.network("lo", 1, 1)
    assert machine.look("container-network", *TWO).status == "failed"
