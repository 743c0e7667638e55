"""Given a log in pieces, when read, then it is one text that knows where its pieces begin."""

from __future__ import annotations

import gzip
from pathlib import Path

from pdtriage.model import Seam
from pdtriage.sources import Source, find
from pdtriage.sources.chained import ChainedSource, join_pieces, pieces_of


def joined(folder: Path) -> list[Source]:
    return list(join_pieces(find([folder]).sources))


def names(sources: list[Source]) -> list[str]:
    return [Path(source.file.path).name for source in sources]


def test_pieces_are_read_from_the_oldest_on(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0.2.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "workerlog.0.1").write_bytes(b"thr")
    (tmp_path / "workerlog.0").write_bytes(b"ee\nfour\n")
    (tmp_path / "workerlog.1").write_bytes(b"alone\n")
    rotated, alone = joined(tmp_path)
    assert names([rotated, alone]) == ["workerlog.0", "workerlog.1"]
    assert not isinstance(alone, ChainedSource)
    assert isinstance(rotated, ChainedSource)
    for _ in range(2):  # any number of times
        assert b"".join(rotated.chunks(2)) == b"one\ntwo\nthree\nfour\n"
        begins = [(Path(s.path).name, s.line, s.offset) for s in rotated.seams]
        assert begins == [
            ("workerlog.0.2.gz", 0, 0),
            ("workerlog.0.1", 2, 8),
            ("workerlog.0", 2, 11),
        ]
    assert names(list(pieces_of(rotated))) == [path for path, _, _ in begins]
    assert all(isinstance(seam, Seam) and seam.modified for seam in rotated.seams)
    assert rotated.file.size is None  # nobody knows before it is unpacked
    assert rotated.plain is None


def test_logs_of_other_processes_folders_and_kinds_stay_apart(tmp_path: Path) -> None:
    for name in ("a/workerlog.0", "b/workerlog.0", "a/serverlog.0", "a/envlog.0", "a/envlog.0.1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("PADDLE_TRAINER_ID=0\n")
    assert not any(isinstance(source, ChainedSource) for source in joined(tmp_path))


def test_a_damaged_piece_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0.1.gz").write_bytes(gzip.compress(b"x" * 9999)[:20])
    (tmp_path / "workerlog.0").write_bytes(b"the rest\n")
    (rotated,) = joined(tmp_path)
    assert b"".join(rotated.chunks()).endswith(b"the rest\n")
    assert "workerlog.0.1.gz" in str(rotated.notes())


def test_a_console_is_joined_and_what_ranks_printed_is_not(tmp_path: Path) -> None:
    for name in ("nohup.out", "nohup.out.1", "stdout.0", "stdout.1"):
        (tmp_path / name).write_text(f"{name}\n")
    joined_now = joined(tmp_path)
    assert names(joined_now) == ["nohup.out", "stdout.0", "stdout.1"]
    assert b"".join(joined_now[0].chunks()) == b"nohup.out.1\nnohup.out\n"


def test_logs_of_two_launches_are_two(tmp_path: Path) -> None:
    for name in ("workerlog.0", "default.aaaaaa.0.log", "default.bbbbbb.0.log"):
        (tmp_path / name).write_text("epoch 0 step 1 loss 0.1\n")
    assert len(joined(tmp_path)) == 3
