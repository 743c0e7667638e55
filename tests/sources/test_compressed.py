"""Compressed files, whole, joined, damaged and too good to be true."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pdtriage.sources import Limits, find
from tests.sources.builders import COMPRESSIONS, content, one, write_tree

TEXT = b"".join(b"step %d loss %d\n" % (n, n * n) for n in range(20_000))
each = pytest.mark.parametrize("pack", COMPRESSIONS.values(), ids=COMPRESSIONS.keys())


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_by_name(tmp_path: Path, suffix: str) -> None:
    write_tree(tmp_path, {f"workerlog.3{suffix}": COMPRESSIONS[suffix](TEXT)})

    source = one(find([tmp_path]))

    assert (source.file.kind, source.file.index, source.file.size) == ("worker", 3, None)
    assert content(source) == TEXT
    assert max(len(piece) for piece in source.chunks(1000)) == 1000
    assert source.notes() == ()
    assert source.plain is None


@each
def test_by_content_alone(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    write_tree(tmp_path, {"workerlog.3": pack(TEXT)})

    source = one(find([tmp_path]))

    assert content(source) == TEXT
    assert source.plain is None


@each
def test_several_streams_in_one_file(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    write_tree(tmp_path, {"workerlog.0": pack(TEXT) + pack(b"") + pack(b"the end")})

    source = one(find([tmp_path]))

    assert content(source) == TEXT + b"the end"
    assert content(source, 100) == TEXT + b"the end"
    assert source.notes() == ()


@each
def test_junk_behind_the_end_is_ignored(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    write_tree(tmp_path, {"workerlog.0": pack(TEXT) + b"\0" * 512})

    source = one(find([tmp_path]))

    assert content(source) == TEXT
    assert source.notes() == ()


@each
def test_cut_off_gives_the_beginning_and_a_note(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    whole = pack(TEXT)
    write_tree(tmp_path, {"workerlog.0": whole[:-12]})

    source = one(find([tmp_path]))

    assert TEXT.startswith(content(source))
    assert "Damaged or incomplete" in source.notes()[0].en
    assert "损坏" in source.notes()[0].zh


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_half_a_file_gives_a_good_part_of_it(tmp_path: Path, suffix: str) -> None:
    whole = COMPRESSIONS[suffix](TEXT)
    write_tree(tmp_path, {"workerlog.0": whole[: len(whole) // 2]})

    assert len(content(one(find([tmp_path])))) > len(TEXT) // 4


def test_damage_in_the_middle(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(TEXT))
    whole[len(whole) // 2 :] = b"\xff" * (len(whole) - len(whole) // 2)
    write_tree(tmp_path, {"workerlog.0.gz": bytes(whole)})

    source = one(find([tmp_path]))

    assert content(source)[:1000] == TEXT[:1000]
    assert source.notes()


def test_a_name_that_lies_about_compression(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0.gz": b"plain after all\n", "workerlog.1.gz": b""})

    assert [content(s) for s in find([tmp_path]).sources] == [b"plain after all\n", b""]


@pytest.mark.parametrize(
    "pack", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress]
)
def test_a_bomb_is_stopped(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    write_tree(tmp_path, {"workerlog.0": pack(b"\0" * (8 << 20))})

    source = one(find([tmp_path], limits=Limits(expanded=1 << 20, ratio=100)))

    assert len(content(source)) <= 1 << 20
    assert "Expands far more" in source.notes()[0].en


def test_a_log_that_repeats_itself_is_no_bomb(tmp_path: Path) -> None:
    text = b"server not ready, wait 3 sec to retry...\n" * (2 << 20)
    write_tree(tmp_path, {"workerlog.0": gzip.compress(text)})

    source = one(find([tmp_path]))

    assert sum(len(piece) for piece in source.chunks()) == len(text)
    assert source.notes() == ()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_what_powershell_redirects_is_read_as_text(tmp_path: Path, encoding: str) -> None:
    text = "\ufeffTraceback (most recent call last):\r\n错误\r\n"
    write_tree(tmp_path, {"train.log": text.encode(encoding), "b.log.gz": gzip.compress(text.encode(encoding))})  # fmt: skip  # noqa: E501

    for source in find([tmp_path]).sources:
        assert content(source, 16).decode() == text.lstrip("\ufeff")


def test_a_very_small_damaged_stream_still_gives_its_bytes(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0.gz": gzip.compress(b"abc")[:-1]})

    source = one(find([tmp_path]))

    assert content(source) == b"abc"
    assert source.notes()
