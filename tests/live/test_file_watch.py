"""Growing files: appended, cut, moved away, come late; with and without events."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pdtriage.live import file_watch
from pdtriage.live.file_watch import FolderWatch, Pace, Tail

from ..running import wait_until


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_only_what_was_appended_is_read(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"old run\n")
    tail = Tail(str(log), log.stat().st_size)
    assert tail.read() == b""
    append(log, b"step 1\n")
    append(log, b"step 2\n")
    assert tail.read() == b"step 1\nstep 2\n"
    assert tail.read() == b""


def test_a_file_that_comes_late(tmp_path: Path) -> None:
    tail = Tail(str(tmp_path / "workerlog.3"))
    assert tail.read() == b""
    append(tmp_path / "workerlog.3", b"here\n")
    assert tail.read() == b"here\n"
    assert tail.generation == 0


def test_a_file_that_is_cut_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"a long line of the first part\n")
    tail = Tail(str(log))
    tail.read()
    log.write_bytes(b"short\n")
    assert tail.read() == b"short\n"
    assert (tail.generation, tail.position) == (1, 6)


def test_a_rotated_file_is_read_to_its_end_first(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"first\n")
    tail = Tail(str(log))
    tail.read()
    writer = log.open("ab")
    log.rename(tmp_path / "workerlog.0.1")
    tail.check_name()
    log.write_bytes(b"new file\n")
    writer.write(b"last of the old\n")
    writer.close()
    tail.check_name()
    assert tail.read() == b"last of the old\n"
    assert tail.read() == b"new file\n"
    assert tail.generation == 1


def test_a_writer_whose_file_was_renamed_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "workerlog.0"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"one\n")
        tail = Tail(str(path))
        assert tail.read() == b"one\n"
        path.rename(tmp_path / "workerlog.0.1")
        path.touch()  # as logrotate does with `create`
        tail.check_name()
        assert tail.read() == b""
        writer.write(b"two\n")
        assert tail.read() == b"two\n"
        assert tail.generation == 0
    path.write_bytes(b"three\n")
    assert tail.read() == b"three\n"
    assert tail.generation == 1


def test_pieces_are_limited(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"x" * 1000)
    tail = Tail(str(log))
    assert [len(tail.read(400)) for _ in range(4)] == [400, 400, 200, 0]


def test_events_tell_of_new_moved_and_deleted_files(tmp_path: Path) -> None:
    watch = FolderWatch(str(tmp_path))
    try:
        assert watch.has_events
        assert watch.is_due()
        assert not watch.is_due()
        for act in (
            lambda: (tmp_path / "workerlog.0").write_bytes(b""),
            lambda: (tmp_path / "workerlog.0").rename(tmp_path / "workerlog.0.1"),
            lambda: (tmp_path / "workerlog.0.1").unlink(),
        ):
            act()
            assert wait_until(watch.is_due, 3)
    finally:
        watch.close()


def test_what_is_written_is_no_event(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"")
    watch = FolderWatch(str(tmp_path))
    try:
        watch.is_due()
        for _ in range(50):
            append(log, b"line\n")
        time.sleep(0.3)
        assert not watch.is_due()
    finally:
        watch.close()


def test_without_events_the_folder_is_looked_at_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watch, "LOOK_WITHOUT_EVENTS", 0.1)
    watch = FolderWatch(str(tmp_path), events=False)
    assert not watch.has_events
    assert watch.is_due()
    assert not watch.is_due()
    assert wait_until(watch.is_due, 2)


def test_a_folder_that_cannot_be_watched_is_looked_at(tmp_path: Path) -> None:
    assert not FolderWatch(str(tmp_path / "missing")).has_events


def test_the_pace_slows_down_when_nothing_comes() -> None:
    pace = Pace()
    assert pace.pause(news=True) == file_watch.BUSY
    assert [pace.pause(news=False) for _ in range(12)][-1] == file_watch.IDLE
    assert pace.pause(news=True) == file_watch.BUSY


def test_what_is_put_in_place_of_a_log_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret\n")
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"mine\n")
    tail = Tail(str(log))
    assert tail.read() == b"mine\n"
    log.unlink()
    log.symlink_to("secret")
    tail.check_name()
    assert tail.read() == b""
    assert tail.read() == b""


def test_a_pipe_in_place_of_a_log_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "workerlog.0")
    assert Tail(str(tmp_path / "workerlog.0")).read() == b""
