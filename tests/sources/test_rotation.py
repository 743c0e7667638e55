"""Pieces of one log, oldest and newest."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pdtriage.sources import find
from pdtriage.sources.find.rotation import Piece, without_rotation
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


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("workerlog.0_20260101", Piece(date="20260101")),
        ("workerlog.0.2026-01-01.log", Piece(date="20260101")),
        ("workerlog.0_2026_01_01-12.30.txt", Piece(date="202601011230")),
        ("workerlog.0.20260101T123000Z", Piece(date="20260101123000")),
        ("workerlog.0.1767225600", Piece(date="1767225600")),
        ("workerlog.0.3.log", Piece(number=3)),
        ("workerlog.0_old", Piece(old=True)),
        ("workerlog.0.backup", Piece(old=True)),
    ],
)
def test_names_that_people_give(name: str, piece: Piece) -> None:
    assert without_rotation(name) == ("workerlog.0", piece)
