"""Pieces of one log, oldest and newest."""

from __future__ import annotations

import gzip
from pathlib import Path

from pdtriage.sources import find
from tests.sources.builders import TRACEBACK, content, told, write_tree


def rotation(folder: Path) -> dict[str, int]:
    return {s.file.path.rpartition("/")[2]: s.file.rotation for s in find([folder]).sources}


def test_numbers_stay_what_they_are(tmp_path: Path) -> None:
    names = ["workerlog.0", "workerlog.0.1", "workerlog.0.2.gz", "workerlog.0.10", "workerlog.1"]
    write_tree(tmp_path, {name: gzip.compress(b"x") for name in names})

    assert rotation(tmp_path) == dict(zip(names, (0, 1, 2, 10, 0), strict=True))
    assert {s.file.index for s in find([tmp_path]).sources} == {0, 1}


def test_dates_become_numbers_newest_first(tmp_path: Path) -> None:
    names = ["workerlog.0", "workerlog.0-20240102", "workerlog.0.2024-01-01", "workerlog.0.old"]
    write_tree(tmp_path, dict.fromkeys(names, b"x"))

    assert rotation(tmp_path) == dict(zip(names, (0, 1, 2, 3), strict=True))


def test_rotated_console_output(tmp_path: Path) -> None:
    write_tree(tmp_path, {"train.log": TRACEBACK, "train.log.1": TRACEBACK, "train.log.bak": b"-"})

    assert rotation(tmp_path) == {"train.log": 0, "train.log.1": 1}


def test_a_packed_copy_beside_the_file_is_left_out(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b"abc\ndef\n", "workerlog.0.gz": gzip.compress(b"abc\n")})

    found = find([tmp_path])

    assert [content(s) for s in found.sources] == [b"abc\ndef\n"]
    assert "workerlog.0.gz" in told(found)


def test_a_packed_file_of_an_earlier_run_is_an_older_piece(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b"new\n", "workerlog.0.gz": gzip.compress(b"old\n")})

    found = find([tmp_path])

    assert [(content(s), s.file.rotation) for s in found.sources] == [(b"new\n", 0), (b"old\n", 1)]
    assert found.notes == ()
