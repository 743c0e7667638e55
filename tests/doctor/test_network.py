"""Addresses and ports, with real listeners and real packets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.launch.rendezvous.kv import KVServer

from ..ports import free_port
from .conftest import Machine

HERE = ("--ips=127.0.0.1,127.0.0.2", "--host=127.0.0.1")


def test_nodes(machine: Machine) -> None:
    assert machine.look("nodes").seen.en == "1 node"
    assert machine.look("nodes", *HERE).seen.en == "2 nodes"
    assert machine.look("nodes", "--nnodes=2:4").seen.en == "2:4 nodes"
    assert machine.look("nodes", "--nnodes=4:2").status == "failed"


def test_own_address(machine: Machine) -> None:
    assert machine.look("own-address").status == "skipped"
    found = machine.look("own-address", "--ips=10.77.0.1,10.77.0.2", "--host=10.77.0.2")
    assert (found.status, "node 1 of 2" in found.seen.en) == ("ok", True)
    assert machine.look("own-address", "--ips=10.77.0.1,10.77.0.2").status == "failed"
    assert machine.look("own-address", "--ips=10.77.0.1,127.0.0.1").status == "failed"
    assert machine.look("own-address", *HERE).status == "warning"


def test_own_address_by_the_platform(machine: Machine) -> None:
    cloud = {
        "PADDLE_TRAINERS": "10.77.0.1,10.77.0.2",
        "POD_IP": "10.77.0.2",
        "PADDLE_TRAINER_ID": "1",
        "TRAINER_PORTS_NUM": "1",
        "PADDLE_TRAINERS_NUM": "2",
    }
    assert machine.look("own-address", environ=cloud).status == "ok"
    wrong = {**cloud, "PADDLE_TRAINER_ID": "2"}
    assert machine.look("own-address", environ=wrong).status == "failed"


def test_ports(machine: Machine, listener: int) -> None:
    assert machine.look("ports").seen.en == "free ones will be chosen"
    port = free_port()
    assert machine.look("ports", f"--start_port={port}").status == "ok"
    taken = machine.look("ports", f"--start_port={listener}")
    assert taken.status == "failed"
    assert str(listener) in taken.seen.en
    assert machine.look("ports", "--start_port=65535", "--nproc_per_node=2").status == "failed"


def test_who_has_the_port(machine: Machine, tmp_path: Path) -> None:
    """The real /proc, and a process that was left over."""
    machine.root = Path("/")
    script = "import socket; s = socket.create_server(('', 0)); print(s.getsockname()[1], flush=1);"
    left_over = subprocess.Popen(
        [sys.executable, "-c", script + "input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with left_over:
        assert left_over.stdout is not None
        port = left_over.stdout.readline().strip()
        found = machine.look("ports", f"--start_port={port}", f"--log_dir={tmp_path}")
        left_over.kill()
    assert f"pid {left_over.pid}" in found.seen.en


def test_ports_of_an_ips_job(machine: Machine, listener: int) -> None:
    port = free_port()
    words = (*HERE, f"--start_port={port}", f"--facts_port={listener}")
    found = machine.look("ports", *words)
    assert found.status == "warning", "without the exchange the job still runs"
    assert str(listener) in found.seen.en
    words = (*HERE, f"--start_port={listener}", f"--facts_port={port}")
    assert machine.look("ports", *words).status == "failed"


def test_ports_of_servers(machine: Machine, listener: int) -> None:
    servers = f"--servers=127.0.0.1:{listener},192.0.2.1:80"
    found = machine.look("ports", servers, f"--workers=127.0.0.1:{free_port()}")
    assert (found.status, str(listener) in found.seen.en) == ("failed", True)


def test_fixed_ports_that_outgoing_connections_may_take(machine: Machine) -> None:
    machine.write("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")
    assert machine.look("port-range").status == "skipped"
    assert machine.look("port-range", "--start_port=6070").status == "ok"
    found = machine.look("port-range", "--start_port=40000", "--nproc_per_node=2")
    assert (found.status, "40000-40001" in found.seen.en) == ("warning", True)
    machine.write("/proc/sys/net/ipv4/ip_local_reserved_ports", "80,40000-40007\n")
    found = machine.look("port-range", "--start_port=40000", "--nproc_per_node=2")
    assert found.status == "ok"


def test_master(machine: Machine, listener: int) -> None:
    words = ("--nnodes=2", "--master")
    assert machine.look("master").status == "skipped"
    assert machine.look("master", *words, "nonsense").status == "failed"
    assert machine.look("master", *words, f"127.0.0.1:{free_port()}").status == "ok"
    other = machine.look("master", *words, f"127.0.0.1:{listener}")
    assert (other.status, "not the rendezvous" in other.seen.en) == ("failed", True)
    server = KVServer(0, "127.0.0.1")
    try:
        found = machine.look("master", *words, f"127.0.0.1:{server.port}")
        assert (found.status, "is up" in found.seen.en) == ("ok", True)
    finally:
        server.close()


def test_a_name_nobody_knows(machine: Machine) -> None:
    words = ("--ips=127.0.0.1,node7.invalid", "--host=127.0.0.1", "--start_port=6070")
    found = machine.look("peers", *words)
    assert (found.status, "cannot be resolved" in found.seen.en) == ("failed", True)
    assert machine.look("peers").status == "skipped"


def test_peers_that_can_be_reached(machine: Machine) -> None:
    found = machine.look("peers", *HERE, "--nproc_per_node=2")
    assert (found.status, "127.0.0.2" in found.seen.en) == ("ok", True)


@pytest.fixture
def lonely() -> Iterator[str]:
    """A network namespace with a cable whose other end goes nowhere."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    name = f"pdtdoc{os.getpid() % 100_000}"
    cable = f"c{os.getpid() % 100_000}"
    made = [
        ("netns", "add", name),
        ("-n", name, "link", "set", "lo", "up"),
        ("-n", name, "link", "add", f"{cable}a", "type", "veth", "peer", "name", f"{cable}b"),
        ("-n", name, "addr", "add", "10.77.32.1/24", "dev", f"{cable}a"),
        ("-n", name, "link", "set", f"{cable}a", "up"),
        ("-n", name, "link", "set", f"{cable}b", "up"),
        ("-n", name, "route", "add", "unreachable", "10.77.33.0/24"),
    ]
    try:
        for words in made:
            subprocess.run(["ip", *words], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        pytest.skip(f"cannot make a network namespace: {error}")
    yield name
    subprocess.run(["ip", "netns", "del", name], check=True, capture_output=True)


@pytest.mark.root
def test_a_host_that_is_down_is_silent_also_where_the_kernel_gives_up_first(lonely: str) -> None:
    """Nobody has that address: after some seconds the kernel says that there is no such host."""
    code = "from pdtriage.doctor.ports import reach; print(reach('10.77.32.2', 6170, 50))"
    words = ["ip", "netns", "exec", lonely, sys.executable, "-c", code]
    told = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    assert told.stdout == "silent\n"


@pytest.mark.root
@pytest.mark.parametrize(
    ("peer", "word"), [("10.77.32.2", "does not answer"), ("10.77.33.2", "no way to")]
)
def test_peers_that_cannot_be_reached(lonely: str, tmp_path: Path, peer: str, word: str) -> None:
    words = [f"--ips=10.77.32.1,{peer}", f"--log_dir={tmp_path}/log", "--wait=0"]
    told = subprocess.run(
        ["ip", "netns", "exec", lonely, sys.executable, "-m", "pdtriage", "doctor", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert told.returncode == 1
    line = next(line for line in told.stdout.splitlines() if " peers " in line)
    assert line.startswith("failed")
    assert word in line
