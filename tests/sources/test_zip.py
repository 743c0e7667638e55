"""Zip archives: honest ones, broken ones, hostile ones."""

from __future__ import annotations

import gzip
import io
import pickle
import shutil
import struct
import subprocess
import warnings
import zipfile
from pathlib import Path

import pytest

from pdtriage.sources import Limits, find
from tests.sources.builders import TRACEBACK, as_tar, as_zip, content, one, paths, told, write_tree

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def put(tmp_path: Path, archive: bytes, name: str = "a.zip") -> Path:
    (tmp_path / name).write_bytes(archive)
    return tmp_path / name


@pytest.mark.parametrize("method", METHODS)
def test_every_usual_method(tmp_path: Path, method: int) -> None:
    tree = {"log/workerlog.0": b"line\n" * 30_000, "log/workerlog.1": b"", "x.jpg": b"\xff\xd8"}
    found = find([put(tmp_path, as_zip(tree, method))])

    assert paths(found) == ["a.zip/log/workerlog.0", "a.zip/log/workerlog.1"]
    for source in found.sources:
        copy = pickle.loads(pickle.dumps(source))
        assert content(copy, 999) == tree[source.file.path.removeprefix("a.zip/")]
        assert copy.notes() == ()
        assert len(pickle.dumps(source)) < 2000
        assert source.file.folder == "a.zip/log"
        assert source.plain is None


def test_recognised_by_content_when_named(tmp_path: Path) -> None:
    archive = put(tmp_path, as_zip({"workerlog.0": b"x"}), name="download")

    assert paths(find([archive])) == ["download/workerlog.0"]


def test_names_made_on_windows_and_in_china(tmp_path: Path) -> None:
    raw = "日志\\node1\\workerlog.0".encode("gb18030")
    archive = as_zip({"X" * len(raw): b"x"}).replace(b"X" * len(raw), raw)

    assert one(find([put(tmp_path, archive)])).file.path == "a.zip/日志/node1/workerlog.0"


def test_names_that_lead_outside_are_only_shown(tmp_path: Path) -> None:
    tree = {"../../workerlog.0": b"a", "/etc/workerlog.1": b"b", "C:\\x\\workerlog.2": b"c"}

    found = find([put(tmp_path, as_zip(tree))])

    assert paths(found) == ["a.zip/etc/workerlog.1", "a.zip/workerlog.0", "a.zip/x/workerlog.2"]
    assert [p.name for p in tmp_path.iterdir()] == ["a.zip"]


def test_of_equal_names_the_last_is_read(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("workerlog.0", b"first")
        archive.writestr("workerlog.0", b"second")

    found = find([put(tmp_path, file.getvalue())])

    assert content(one(found)) == b"second"
    assert "More than once" in told(found)


@pytest.mark.skipif(shutil.which("zip") is None, reason="needs the zip command")
def test_encrypted_members_are_a_note(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b"x", "workerlog.1": b"y"})
    subprocess.run(["zip", "-q", "-P", "pw", "a.zip", "workerlog.0"], cwd=tmp_path, check=True)
    subprocess.run(["zip", "-q", "a.zip", "workerlog.1"], cwd=tmp_path, check=True)

    found = find([tmp_path / "a.zip"])

    assert paths(found) == ["a.zip/workerlog.1"]
    assert "Encrypted, skipped; unpack with the password first: a.zip/workerlog.0" in told(found)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_upload_that_stopped_gives_what_arrived(tmp_path: Path, streamed: bool) -> None:
    tree = {f"log/workerlog.{n}": b"%d line\n" % n * 5000 for n in range(4)}
    whole = _streamed(tree) if streamed else as_zip(tree)
    last = whole.rindex(b"PK\x03\x04")

    found = find([put(tmp_path, whole[: last + 80])])

    assert paths(found) == [f"a.zip/log/workerlog.{n}" for n in range(4)]
    for source in found.sources[:3]:
        assert content(source) == tree[source.file.path.removeprefix("a.zip/")]
        assert source.notes() == ()
    assert len(content(found.sources[3])) < len(tree["log/workerlog.3"])
    assert found.sources[3].notes()
    assert "Damaged or incomplete archive" in told(found)


def test_a_wrong_checksum_is_a_note(tmp_path: Path) -> None:
    archive = as_zip({"workerlog.0": b"honest"}, zipfile.ZIP_STORED).replace(b"honest", b"forged")

    source = one(find([put(tmp_path, archive)]))

    assert content(source) == b"forged"
    assert source.notes()


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_archives_without_a_byte(tmp_path: Path, name: str) -> None:
    found = find([put(tmp_path, b"", name)])

    assert found.sources == ()
    assert "Damaged or incomplete archive" in told(found)


def test_a_member_that_expands_too_far_is_read_in_part_as_a_gz_is(tmp_path: Path) -> None:
    text = b"step 1, loss 0.5\n" * (1 << 18)
    limits = Limits(expanded=1 << 20, ratio=10)
    archive = put(tmp_path, as_zip({"workerlog.0": text, "workerlog.1": text}))
    (tmp_path / "workerlog.0.gz").write_bytes(gzip.compress(text))

    found = find([archive], limits=limits)
    packed = one(find([tmp_path / "workerlog.0.gz"], limits=limits))

    assert content(one(found)) == text[: 1 << 20]
    assert content(packed) == text[: len(content(packed))]
    assert (1 << 19) < len(content(packed)) <= 1 << 20
    assert "Expands far more than a log does, reading was stopped early: a.zip/worker" in told(
        found
    )


def test_a_member_that_lies_about_its_size_gives_no_more_than_it_said(tmp_path: Path) -> None:
    size = 4 << 20
    archive = as_zip({"workerlog.0": b"\0" * size})
    archive = archive.replace(struct.pack("<L", size), struct.pack("<L", 100))

    source = one(find([put(tmp_path, archive)]))

    assert len(content(source)) == 100
    assert source.notes()


@pytest.mark.parametrize("inside", ["cut-off zip", "zip", "tar.gz", "gz"])
def test_hundreds_of_archives_in_one_share_what_it_may_become(tmp_path: Path, inside: str) -> None:
    """Each is small, and a hundred times as large unpacked, as all of them are once more in the
    outer one: what is unpacked in all is bounded by what lies on the disk."""
    log = b"step 1, loss 0.5\n" * (1 << 16)
    inner = {
        "cut-off zip": _streamed({"workerlog.0": log}).partition(b"PK\x01\x02")[0][:-16],
        "zip": as_zip({"workerlog.0": log}),
        "tar.gz": gzip.compress(as_tar({"workerlog.0": log})),
        "gz": gzip.compress(log),
    }[inside]
    name = "workerlog.0.gz" if inside == "gz" else "log." + inside.rpartition(" ")[2]
    outer = put(tmp_path, as_zip({f"node{n}/{name}": inner for n in range(200)}))
    limits = Limits(ratio=20, expanded=2 << 20, archives=8 << 20)

    found = find([outer], limits=limits)
    given = [content(source) for source in found.sources]

    most = limits.archives + limits.ratio * outer.stat().st_size
    assert 200 * len(log) > 10 * most
    assert most // 4 < sum(map(len, given)) <= most
    assert all(log.startswith(text) for text in given)
    notes = [told(found), *(note.en for source in found.sources for note in source.notes())]
    assert any("reading was stopped early: a.zip/node" in note for note in notes)


def test_looking_for_the_ends_of_members_is_bounded_as_well(tmp_path: Path) -> None:
    """Members nobody asks for are unpacked, too, where only that tells where the next begins."""
    photos = {f"photo{n}.jpg": b"\0" * (1 << 20) for n in range(10)}
    streamed = _streamed({**photos, "workerlog.0": b"step 1\n"})
    cut_off = streamed[: streamed.index(b"PK\x01\x02")]
    outer = put(tmp_path, as_zip({f"node{n:02}.zip": cut_off for n in range(50)}))

    found = find([outer], limits=Limits(ratio=1, archives=35 << 20))

    assert paths(found) == [f"a.zip/node{n:02}.zip/workerlog.0" for n in range(3)]
    assert "reading was stopped early: a.zip/node03.zip" in told(found)


def test_many_members_on_the_same_bytes_are_stopped(tmp_path: Path) -> None:
    """A list of members that all point at one: small on disk, endless to read."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("workerlog.0", b"\0" * (1 << 20))
        (member,) = archive.filelist
        for n in range(1, 100):
            twin = zipfile.ZipInfo(f"workerlog.{n}")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(twin, name, getattr(member, name))
            archive.filelist.append(twin)

    found = find([put(tmp_path, file.getvalue())], limits=Limits(expanded=8 << 20, ratio=50))

    assert len(found.sources) == 8
    assert "Expands far more" in told(found)


def test_archives_in_archives_are_opened_one_level_deep(tmp_path: Path) -> None:
    innermost = as_zip({"workerlog.9": b"too deep"})
    inner = as_zip({"workerlog.1": b"inner", "third.zip": innermost})
    outer = as_zip(
        {"workerlog.0": b"outer", "in/second.zip": inner, "t.tar": as_tar({"stdout": b"z"})}
    )

    found = find([put(tmp_path, outer)])

    assert {path: content(s) for path, s in zip(paths(found), found.sources, strict=True)} == {
        "a.zip/in/second.zip/workerlog.1": b"inner",
        "a.zip/t.tar/stdout": b"z",
        "a.zip/workerlog.0": b"outer",
    }
    assert "a.zip/in/second.zip/third.zip" in told(found)


def test_an_inner_zip_too_large_for_memory_is_a_note(tmp_path: Path) -> None:
    outer = as_zip({"in.zip": as_zip({"workerlog.0": b"x" * 9999}, zipfile.ZIP_STORED)})

    found = find([put(tmp_path, outer)], limits=Limits(in_memory=1000))

    assert found.sources == ()
    assert "not opened" in told(found)


def test_a_zip_in_a_folder_is_opened_and_one_without_logs_is_silent(tmp_path: Path) -> None:
    put(tmp_path, as_zip({"log/workerlog.0": TRACEBACK}), "artifact.zip")
    put(tmp_path, as_zip({"images/1.jpg": b"\xff"}), "dataset.zip")
    put(tmp_path, b"Rar!\x1a\x07\x00", "old.rar")

    found = find([tmp_path])

    assert [p.split("/", 1)[1] for p in paths(found)] == ["artifact.zip/log/workerlog.0"]
    assert "old.rar" in told(found)
    assert "dataset.zip" not in told(found)


def test_text_that_is_named_zip_is_still_read_when_asked_for(tmp_path: Path) -> None:
    assert content(one(find([put(tmp_path, TRACEBACK)]))) == TRACEBACK


def _streamed(tree: dict[str, bytes]) -> bytes:
    """As written to a pipe: sizes follow the members, as in the archives of GitHub."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in tree.items():
            archive.writestr(name, text)
    return pipe.getvalue()


def test_a_member_whose_name_is_damaged_costs_the_others_nothing(tmp_path: Path) -> None:
    """A name that begins with a NUL is an empty one."""
    packed = as_zip({"x": b"lost", "log/workerlog.0": b"step 1\n"})
    damaged = bytearray(packed)
    damaged[packed.index(b"PK\x01\x02") + 46] = 0  # of the first entry in the directory
    (tmp_path / "a.zip").write_bytes(bytes(damaged))
    assert [s.file.path for s in find([tmp_path / "a.zip"]).sources] == ["a.zip/log/workerlog.0"]
