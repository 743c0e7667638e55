"""A pod of a PaddleJob."""

from __future__ import annotations

import os
import subprocess

import pytest

from .conftest import Machine

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
OPERATOR = {
    "PADDLE_TRAINERS": "10.77.0.1,10.77.0.2",
    "POD_IP": "10.77.0.1",
    "PADDLE_TRAINER_ID": "0",
    "TRAINER_PORTS_NUM": "1",
    "PADDLE_TRAINERS_NUM": "2",
}


def test_only_in_a_pod(machine: Machine) -> None:
    assert machine.look("kubernetes-shm").status == "skipped"


def test_nothing_is_mounted(machine: Machine) -> None:
    machine.write("/proc/self/mounts", "overlay / overlay rw 0 0\n")
    found = machine.look("kubernetes-shm", environ=POD)
    assert (found.status, "medium: Memory" in found.advice.en) == ("failed", True)


def test_a_disk_is_mounted(machine: Machine) -> None:
    machine.write("/proc/self/mounts", "/dev/sda1 /dev/shm ext4 rw 0 0\n")
    assert machine.look("kubernetes-shm", environ=POD).status == "warning"


@pytest.mark.root
@pytest.mark.parametrize(("size", "status"), [("64m", "warning"), ("2g", "ok")])
def test_memory_is_mounted(machine: Machine, size: str, status: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    place = machine.root / "dev" / "shm"
    mounted = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
        pytest.skip("cannot mount")
    try:
        machine.write("/proc/self/mounts", f"shm /dev/shm tmpfs rw,size={size} 0 0\n")
        assert machine.look("kubernetes-shm", environ=POD).status == status
    finally:
        subprocess.run(["umount", place], check=True)


def test_variables_of_the_operator(machine: Machine) -> None:
    assert machine.look("operator-variables").status == "skipped"
    assert machine.look("operator-variables", environ=OPERATOR).status == "ok"
    half = {name: value for name, value in OPERATOR.items() if name != "POD_IP"}
    found = machine.look("operator-variables", environ=half)
    assert (found.status, "POD_IP not set" in found.seen.en) == ("warning", True)
    wrong = {**OPERATOR, "PADDLE_TRAINERS_NUM": "4"}
    assert machine.look("operator-variables", environ=wrong).status == "warning"
