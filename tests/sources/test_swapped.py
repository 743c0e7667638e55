"""Files are looked at when they are open: what was put in their place since is not read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.sources import find
from pdtriage.sources.head_tail import stretches_of
from tests.running import clean_environment
from tests.sources.builders import content, one

SECRET = b"-----BEGIN PRIVATE KEY-----\n"
TAIL = b"Traceback (most recent call last):\nOSError: [Errno 5] Input/output error\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "log").mkdir()
    (tmp_path / "log/workerlog.0").write_bytes(b"step 1\n" * 1000)
    return tmp_path / "log"


@pytest.mark.parametrize("named", [False, True], ids=["found", "named"])
def test_a_link_in_place_of_the_log(log: Path, named: bool) -> None:
    place = log / "workerlog.0"
    source = one(find([place if named else log]))
    place.unlink()
    place.symlink_to("../secret")
    assert content(source) == b""
    assert "was not followed" in source.notes()[0].en
    assert source.plain is None
    assert stretches_of(source, 0, None, 1 << 20).parts[0].content == b""


def test_a_link_in_place_of_a_folder_on_the_way(log: Path) -> None:
    (log / "node0").mkdir()
    (log / "workerlog.0").rename(log / "node0/workerlog.0")
    (log.parent / "private").mkdir()
    (log.parent / "private/workerlog.0").write_bytes(SECRET)
    source = one(find([log]))
    (log / "node0").rename(log / "moved")
    (log / "node0").symlink_to("../private")
    assert content(source) == b""
    assert "was not followed" in source.notes()[0].en


def test_a_pipe_in_place_of_the_log_is_not_waited_for(log: Path) -> None:
    source = one(find([log]))
    (log / "workerlog.0").unlink()
    os.mkfifo(log / "workerlog.0")
    assert content(source) == b""
    assert "is no log file" in source.notes()[0].en


def test_a_link_the_user_names_is_followed(log: Path) -> None:
    (log.parent / "current").symlink_to("log")
    (log.parent / "current.log").symlink_to("log/workerlog.0")
    for asked in ("current", "current.log"):
        assert content(one(find([log.parent / asked]))) == b"step 1\n" * 1000


def test_a_log_that_grows_while_it_is_read_is_not_chased(log: Path) -> None:
    source = one(find([log]))
    grown = 0
    with (log / "workerlog.0").open("ab", buffering=0) as writer:
        writer.write(b"step 2\n" * 100_000)
        whole = writer.tell()
        for piece in source.chunks(1 << 16):
            writer.write(piece)
            grown += len(piece)
    assert grown == whole


def test_a_file_without_a_name_is_read_as_it_was_passed(tmp_path: Path) -> None:
    script = f"exec 3<>x; printf '{TAIL.decode()}' >&3; exec < x; rm x; exec {sys.executable} -m "
    done = subprocess.run(
        ["sh", "-c", script + "pdtriage analyze /dev/stdin"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "errno 5" in done.stdout, done.stderr


def test_holes_are_not_read(log: Path) -> None:
    """As they are left where a log is emptied while its writer goes on at its old place."""
    with (log / "workerlog.0").open("ab") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(TAIL)
    source = one(find([log]))
    text = content(source)
    assert text.startswith(b"step 1\n")
    assert text.endswith(TAIL)
    assert len(text) < 1 << 20
    last = stretches_of(source, 0, None, 1 << 16).parts[-1]
    assert last.content == text[last.offset :], "places are those of the text that was read"
