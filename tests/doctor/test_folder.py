"""The log folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from pdtriage.doctor.checks import folder
from pdtriage.record.writer import FolderLock

from .conftest import Machine


def test_a_folder_that_can_be_written(machine: Machine) -> None:
    logs = machine.folder / "log"
    assert machine.look("log-dir").seen.en.endswith("can be created")
    assert not logs.exists(), "looking leaves nothing behind"
    logs.mkdir()
    assert machine.look("log-dir").seen.en.endswith("can be written")
    assert list(logs.iterdir()) == []


def test_a_folder_below_a_file(machine: Machine) -> None:
    (machine.folder / "log").touch()
    assert machine.look("log-dir").status == "failed"
    assert machine.look("log-dir", f"--log_dir={machine.folder}/log/run1").status == "failed"


def test_a_folder_that_cannot_be_written(machine: Machine, tmp_path: Path) -> None:
    place = tmp_path / "sealed"
    place.mkdir(mode=0o555)
    if os.geteuid() != 0:
        assert machine.look("log-dir", f"--log_dir={place}/log").status == "failed"
        return
    # root may write everywhere but on a read-only file system
    mounted = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(place)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
        pytest.skip("root without the right to mount can write everywhere")
    try:
        found = machine.look("log-dir", f"--log_dir={place}/log")
        assert (found.status, "Read-only" in found.seen.en) == ("failed", True)
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_folder_in_use(machine: Machine) -> None:
    assert machine.look("log-dir-in-use").status == "ok"
    with contextlib.closing(FolderLock(str(machine.folder / "log"))):
        found = machine.look("log-dir-in-use")
        assert (found.status, f"pid {os.getpid()}" in found.seen.en) == ("failed", True)
    assert machine.look("log-dir-in-use").status == "ok"


@pytest.mark.root
@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("size=2g", "ok"),
        ("size=512m", "warning"),
        ("size=32m", "failed"),
        ("size=2g,nr_inodes=50", "failed"),
        ("size=2g,nr_inodes=5000", "warning"),
    ],
)
def test_room_on_the_disk(machine: Machine, tmp_path: Path, options: str, status: str) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
        pytest.skip("cannot mount")
    try:
        found = machine.look("disk", f"--log_dir={place}/deep/log")
        assert found.status == status
        assert ("files" in found.seen.en) == ("inodes" in options)
    finally:
        subprocess.run(["umount", place], check=True)


def test_room_by_numbers(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.look("disk").status == "ok"
    monkeypatch.setattr(folder, "FREE_WARNS_BELOW", 1 << 62)
    assert machine.look("disk").status == "warning"
    monkeypatch.setattr(folder, "FREE_FAILS_BELOW", 1 << 62)
    assert machine.look("disk").status == "failed"


def test_old_runs(machine: Machine) -> None:
    logs = machine.folder / "log"
    assert machine.look("old-runs").status == "ok"
    (logs / "pdtriage").mkdir(parents=True)
    (logs / "notes.txt").touch()
    assert machine.look("old-runs").status == "ok"
    (logs / "workerlog.0").touch()
    (logs / "serverlog.1").touch()
    (logs / "pdtriage" / "run-0001.jsonl").touch()
    found = machine.look("old-runs")
    assert found.status == "warning"
    assert "2 files, 1 run on record" in found.seen.en
    assert machine.look("old-runs", "--log_overwrite").status == "ok"
