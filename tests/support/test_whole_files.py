"""Reports and bundles are there whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.support import whole_files
from pdtriage.support.whole_files import whole_file, whole_text
from tests.running import clean_environment

LONG = b"x" * (1 << 20)
INTERRUPTED = """
import os, signal, sys
from pdtriage.support.whole_files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"new" * 100_000)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["nameless", "named"])
def report(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Once as Linux can, once as any other system."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE")
    return tmp_path / "report.json"


def test_it_has_its_name_when_it_is_whole(report: Path) -> None:
    with whole_text(report) as stream:
        stream.write("first 报告")
        assert not report.exists()
    with whole_text(report) as stream:
        stream.write("second")
        assert report.read_text() == "first 报告"
    assert report.read_text() == "second"
    assert os.listdir(report.parent) == [report.name]


def test_a_full_disk_leaves_the_old_one(report: Path) -> None:
    report.write_text("old")
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, most[1]))
    try:
        with pytest.raises(OSError, match="too large"), whole_file(report) as file:
            file.write(LONG)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert report.read_text() == "old"
    assert os.listdir(report.parent) == [report.name]


def test_an_error_leaves_none(report: Path) -> None:
    def interrupted() -> None:
        with whole_file(report) as file:
            file.write(LONG)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(report.parent) == []


def test_a_kill_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "report.json")],
        env=clean_environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


def test_mode_and_links_stay(report: Path) -> None:
    report.write_text("old")
    report.chmod(0o640)
    (report.parent / "link").symlink_to(report.name)
    with whole_file(report.parent / "link") as file:
        file.write(b"new")
    assert (report.parent / "link").is_symlink()
    assert report.read_text() == "new"
    assert report.stat().st_mode & 0o777 == 0o640
    with whole_file(report, 0o600) as file:
        file.write(b"newer")
    assert report.stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_is_written_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_a_file_that_is_a_mount_of_its_own_is_written_into(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report.write_text("old")
    inode = report.stat().st_ino

    def busy(source: str, target: str) -> None:
        raise OSError(16, "Device or resource busy", source, None, target)

    monkeypatch.setattr(whole_files.os, "replace", busy)
    with whole_file(report) as file:
        file.write(b"new")
    assert (report.read_text(), report.stat().st_ino) == ("new", inode)
    assert os.listdir(report.parent) == [report.name]
