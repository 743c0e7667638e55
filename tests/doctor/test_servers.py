"""The doctor before a parameter-server job: its lists, its ports, and all nodes together."""

from __future__ import annotations

import pytest

from ..launch.test_namespaces import ADDRESSES, Nodes
from ..launch.test_namespaces import nodes as nodes
from ..ports import free_port
from .conftest import Machine, judged

LISTS = ("--servers=192.0.2.1:6170,192.0.2.2:6170", "--workers=192.0.2.1:6171,192.0.2.2:6171")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--servers=127.0.0.1:6170", "--workers=127.0.0.1:6170"), "given to 2 processes"),
        (("--run_mode=ps-heter", "--server_num=1", "--worker_num=1"), "--heter_worker_num"),
        (("--servers=10.0.0.1:6170,127.0.0.1:6170", "--workers=10.0.0.1:6171"), "on every node"),
        (("--server_num=2", "--servers=127.0.0.1:6170", "--worker_num=1"), "names 1, but"),
    ],
)
def test_what_a_launch_would_refuse(machine: Machine, words: tuple[str, ...], says: str) -> None:
    found = machine.look("nodes", *words)
    assert (found.status, says in found.seen.en + found.advice.en) == ("failed", True)


def test_own_address_in_the_lists(machine: Machine) -> None:
    found = machine.look("own-address", *LISTS, "--host=192.0.2.2")
    assert (found.status, found.seen.en) == ("ok", "192.0.2.2 is node 1 of 2")
    found = machine.look("own-address", *LISTS, "--host=192.0.2.3")
    assert (found.status, "is not in --servers/--workers" in found.seen.en) == ("failed", True)
    assert machine.look("own-address", "--server_num=1", "--worker_num=1").status == "skipped"


def test_who_runs_here_is_counted(machine: Machine) -> None:
    assert machine.context(*LISTS, "--host=192.0.2.2").processes == 2
    numbers = ("--server_num=2", "--worker_num=3", "--heter_worker_num=1")
    assert machine.context(*numbers).processes == 6
    found = machine.look("devices", *numbers)
    assert (found.status, found.seen.en) == ("ok", "CPU, 6 processes")
    met = ("--master=192.0.2.1:6768", "--nnodes=2", "--server_num=1", "--trainer_num=2")
    assert machine.context(*met).processes == 3


def test_ports_that_count_on(machine: Machine, listener: int) -> None:
    """Without ports in the lists every node knows them all the same."""
    words = ("--servers=192.0.2.1,192.0.2.2", "--workers=192.0.2.1,192.0.2.2")
    there = machine.context(*words, "--host=192.0.2.2", f"--start_port={free_port()}")
    assert judged("nodes", there).status == "ok"
    own = ("--servers=127.0.0.1", "--workers=127.0.0.1")
    assert machine.look("ports", *own).status == "ok"
    taken = machine.look("ports", "--servers=127.0.0.1:6170", f"--workers=127.0.0.1:{listener}")
    assert (taken.status, str(listener) in taken.seen.en) == ("failed", True)


@pytest.mark.root
@pytest.mark.parametrize("same", [True, False])
def test_doctors_of_two_nodes_compare_their_lists(nodes: Nodes, same: bool) -> None:
    first = ",".join(f"{address}:26170" for address in ADDRESSES)
    second = first if same else ",".join(f"{address}:26175" for address in ADDRESSES)
    workers = ",".join(f"{address}:26171" for address in ADDRESSES)
    doctors = [
        nodes.start(i, f"--servers={servers}", f"--workers={workers}", module="pdtriage doctor")
        for i, servers in enumerate((first, second))
    ]
    for doctor in doctors:
        doctor.finish(60)
        if same:
            assert doctor.code == 0, doctor.out
            assert "2 of 2" in doctor.out
        else:
            assert doctor.code == 1, doctor.out
            assert "the lists of servers and trainers differ" in doctor.out
