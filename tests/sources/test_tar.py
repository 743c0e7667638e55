"""Tar archives, plain and compressed."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
from pathlib import Path

import pytest

from pdtriage.sources import Limits, find
from tests.sources.builders import (
    COMPRESSIONS,
    TRACEBACK,
    as_tar,
    as_zip,
    content,
    one,
    paths,
    told,
)

PACKINGS = {"": lambda plain: plain, **COMPRESSIONS}
TREE = {
    "log/workerlog.0": b"line\n" * 50_000,
    "log/notes.txt": b"nothing to see\n",
    "log/train.log": TRACEBACK,
    "log/workerlog.1": b"",
    "log/pic.png": b"\x89PNG\r\n" + bytes(2000),
}
LOGS = ["log/train.log", "log/workerlog.0", "log/workerlog.1"]


def put(tmp_path: Path, archive: bytes, name: str) -> Path:
    (tmp_path / name).write_bytes(archive)
    return tmp_path / name


@pytest.mark.parametrize("suffix", PACKINGS)
@pytest.mark.parametrize("named", [True, False])
def test_every_compression_by_name_and_by_content(tmp_path: Path, suffix: str, named: bool) -> None:
    name = f"a.tar{suffix}" if named else "download"

    found = find([put(tmp_path, PACKINGS[suffix](as_tar(TREE)), name)])

    assert paths(found) == [f"{name}/{log}" for log in LOGS]
    for source in found.sources:
        copy = pickle.loads(pickle.dumps(source))
        assert content(copy, 999) == TREE[source.file.path.removeprefix(f"{name}/")]
        assert copy.notes() == ()
        assert source.file.modified == 1_700_000_000
        assert source.file.folder == f"{name}/log"
    assert found.notes == ()


def test_short_names_of_compressed_tars(tmp_path: Path) -> None:
    put(tmp_path, gzip.compress(as_tar(TREE)), "logs.tgz")

    assert len(find([tmp_path]).sources) == 3


def test_what_finds_no_room_in_memory_is_unpacked_again(tmp_path: Path) -> None:
    tree = {f"workerlog.{n}": bytes(str(n * n), "ascii") * 30_000 for n in range(3)}
    archive = put(tmp_path, gzip.compress(as_tar(tree)), "a.tar.gz")

    found = find([archive], limits=Limits(held=10))

    assert len(found.sources) == 3
    for source in found.sources:
        assert len(pickle.dumps(source)) < 1000
        assert content(source) == tree[source.file.path.removeprefix("a.tar.gz/")]
        assert source.notes() == ()


@pytest.mark.parametrize("suffix", PACKINGS)
def test_cut_off_gives_what_is_there_and_a_note(tmp_path: Path, suffix: str) -> None:
    tree = {f"workerlog.{n}": b"".join(b"%d\n" % (n * m) for m in range(40_000)) for n in range(6)}
    whole = PACKINGS[suffix](as_tar(tree))

    found = find([put(tmp_path, whole[: len(whole) * 9 // 10], f"a.tar{suffix}")])

    assert len(found.sources) >= 2
    complete = [s for s in found.sources if content(s) == tree[s.file.path.rpartition("/")[2]]]
    assert len(complete) >= len(found.sources) - 1
    assert "Damaged or incomplete" in told(found)


def test_an_archive_of_nothing_is_not_damaged(tmp_path: Path) -> None:
    found = find([put(tmp_path, gzip.compress(as_tar({})), "a.tar.gz")])

    assert (found.sources, found.notes) == ((), ())


def test_junk_between_members(tmp_path: Path) -> None:
    plain = bytearray(as_tar({"workerlog.0": b"x", "workerlog.1": b"y"}))
    plain[1024:1536] = b"\xff" * 512

    found = find([put(tmp_path, bytes(plain), "a.tar")])

    assert paths(found) == ["a.tar/workerlog.0"]
    assert "Damaged or incomplete" in told(found)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_links_and_devices_are_not_followed(tmp_path: Path, suffix: str) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, kind, target in (
            ("workerlog.0", tarfile.SYMTYPE, "/etc/passwd"),
            ("workerlog.1", tarfile.LNKTYPE, "../../etc/passwd"),
            ("workerlog.2", tarfile.FIFOTYPE, ""),
            ("workerlog.3", tarfile.CHRTYPE, ""),
            ("../../../workerlog.4", tarfile.REGTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)

    found = find([put(tmp_path, PACKINGS[suffix](file.getvalue()), "a.tar")])

    assert paths(found) == ["a.tar/workerlog.4"]
    assert "a.tar/workerlog.0, a.tar/workerlog.1" in told(found)


def test_a_bomb_is_stopped(tmp_path: Path) -> None:
    tree = {"workerlog.0": b"x", "workerlog.1": b"\0" * (8 << 20), "workerlog.2": b"never"}
    archive = put(tmp_path, gzip.compress(as_tar(tree)), "a.tgz")

    found = find([archive], limits=Limits(expanded=1 << 20, ratio=10))

    assert "a.tgz/workerlog.0" in paths(found)
    assert "a.tgz/workerlog.2" not in paths(found)
    assert sum(len(content(s)) for s in found.sources) <= 1 << 20
    assert "a.tgz" in told(found)


@pytest.mark.parametrize(("length", "trusted"), [(1000, True), (2 << 20, False)])
def test_a_header_with_a_huge_extension(tmp_path: Path, length: int, trusted: bool) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("workerlog.0")
        member.pax_headers = {"comment": "x" * length}
        archive.addfile(member)

    found = find([put(tmp_path, file.getvalue(), "a.tar")])

    assert len(found.sources) == trusted
    assert bool(found.notes) != trusted


def test_archives_inside(tmp_path: Path) -> None:
    tree = {
        "n0.zip": as_zip({"workerlog.0": b"a"}),
        "n1.tgz": gzip.compress(as_tar({"stderr": b"b"})),
    }

    found = find([put(tmp_path, gzip.compress(as_tar(tree)), "all.tar.gz")])

    assert paths(found) == ["all.tar.gz/n0.zip/workerlog.0", "all.tar.gz/n1.tgz/stderr"]
    assert [content(s) for s in found.sources] == [b"a", b"b"]


def test_a_large_archive_nobody_asked_for_is_a_note(tmp_path: Path) -> None:
    archive = put(tmp_path, gzip.compress(as_tar(TREE)), "data.tar.gz")
    limits = Limits(unasked_archive=100)

    unasked = find([tmp_path], limits=limits)

    assert unasked.sources == ()
    assert "data.tar.gz" in told(unasked)
    assert len(find([archive], limits=limits).sources) == 3


def test_the_number_of_members_is_bounded(tmp_path: Path) -> None:
    tree = {f"workerlog.{n}": b"" for n in range(20)}
    for name, packed in (("a.tar", as_tar(tree)), ("a.zip", as_zip(tree))):
        found = find([put(tmp_path, packed, name)], limits=Limits(entries=5))
        assert len(found.sources) == 5
        assert "Too many entries" in told(found)


def test_a_sparse_member_that_claims_more_than_it_holds(tmp_path: Path) -> None:
    member = tarfile.TarInfo("workerlog.0")
    member.pax_headers = {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,1"}
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))

    found = find([put(tmp_path, file.getvalue(), "a.tar")])

    assert found.sources == ()
    assert "Expands far more" in told(found)


def test_one_archive_gives_one_log_and_can_be_read_twice(tmp_path: Path) -> None:
    source = one(find([put(tmp_path, gzip.compress(as_tar({"workerlog.7": b"abc"})), "x")]))

    assert [content(source), content(source), source.read_small(2)] == [b"abc", b"abc", b"ab"]
