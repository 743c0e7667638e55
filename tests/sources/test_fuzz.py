"""Arbitrary bytes never raise and never run away."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdtriage.sources import Limits, find
from pdtriage.sources.archives.tar import ForwardReader
from pdtriage.sources.display_path import member_parts, natural_key, printable
from pdtriage.sources.find.recognise import archive_by_content, read_name, recognise
from pdtriage.sources.find.rotation import rotations, without_rotation
from tests.sources.builders import COMPRESSIONS, TWO_NODES, as_tar, as_zip, zst

SMALL = Limits(expanded=1 << 18, ratio=5, held=1 << 18, in_memory=1 << 20, entries=1000)
TREE = {name: text[-3000:] for name, text in TWO_NODES.items()}
SEEDS = (
    as_zip(TREE),
    as_zip(TREE, zipfile.ZIP_LZMA),
    as_zip(TREE, zipfile.ZIP_BZIP2),
    as_tar(TREE),
    zst(as_tar(TREE)),
    *(pack(as_tar(TREE)) for pack in COMPRESSIONS.values()),
    gzip.compress(b"text\n" * 1000),
    as_zip({"in.zip": as_zip(TREE), "in.tar.gz": gzip.compress(as_tar(TREE))}),
)
patiently = settings(max_examples=250, deadline=5000, suppress_health_check=[HealthCheck.too_slow])


@patiently
@given(name=st.text(), head=st.binary(max_size=4000), folder=st.text(), asked=st.booleans())
def test_recognise(name: str, head: bytes, folder: str, asked: bool) -> None:
    told = recognise(name, head, folder, asked)
    assert told is not None or not asked
    archive_by_content(head, head)


@patiently
@given(st.from_regex(r"(?:workerlog|train\.log|dmesg|console)[.\-0-9a-z]{0,30}(?:\.gz)?"))
def test_names(name: str) -> None:
    stem, piece = without_rotation(name)
    assert name.startswith(stem)
    assert read_name(name).piece == read_name(name + ".gz").piece
    assert rotations([piece])[0] == (1 if piece.date or piece.old else piece.number)


@patiently
@given(st.text(), st.text())
def test_shown_names_are_safe(one: str, two: str) -> None:
    for part in member_parts(f"{one}/{two}"):
        assert part not in ("", ".", "..")
        assert "/" not in part
        assert part.encode("utf-8")
        assert not any(ord(char) < 32 or ord(char) == 127 for char in part)
    assert printable(printable(one)) == printable(one)
    assert sorted([one, two], key=natural_key) == sorted([two, one], key=natural_key)


@settings(patiently, max_examples=80)
@given(st.binary(max_size=3000))
def test_arbitrary_bytes_under_any_name(content: bytes) -> None:
    for name in ("workerlog.0", "a.zip", "a.tar", "a.tar.gz", "x.gz", "train.log"):
        read_all(content, name)


@patiently
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=12),
    st.floats(0, 1),
    st.booleans(),
)
def test_archives_with_damage(
    seed: bytes, hits: list[tuple[float, int]], cut: float, shorten: bool
) -> None:
    damaged = bytearray(seed)
    for place, value in hits:
        damaged[int(place * (len(damaged) - 1))] = value
    read_all(bytes(damaged[: int(cut * len(damaged))] if shorten else damaged), "download")


@patiently
@given(
    st.lists(st.binary(max_size=9), max_size=9),
    st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), max_size=20),
)
def test_reading_forward_is_reading(pieces: list[bytes], moves: list[tuple[int, int]]) -> None:
    """As in memory, with single steps back after a read."""
    whole, stream = io.BytesIO(b"".join(pieces)), ForwardReader(iter(pieces))
    moved = 0
    for step, length in moves:
        target = whole.tell() + (max(step, 0) if not moved else step)
        if target <= len(whole.getvalue()):
            assert stream.seek(target) == whole.seek(target)
        moved = len(wanted := whole.read(length))
        assert stream.read(length) == wanted
        assert stream.tell() == whole.tell()


def read_all(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        for found in (
            find([Path(folder) / name], limits=SMALL),
            find([folder], limits=SMALL),
            find(["-"], io.BytesIO(content), limits=SMALL),
        ):
            for source in found.sources:
                given = sum(len(piece) for piece in source.chunks(4096))
                assert given <= max(SMALL.expanded, len(content) * SMALL.ratio)
                assert all(note.en and note.zh for note in source.notes())
