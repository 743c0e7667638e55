"""Compressed files, whole, joined, damaged and too good to be true."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import pdtriage
from pdtriage.sources import LIMITS, Limits, find
from pdtriage.sources.archives.compressed import codec_of, decompress
from pdtriage.support.zstd import zstd
from tests.sources.builders import COMPRESSIONS, TRACEBACK, content, one, write_tree

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
@pytest.mark.parametrize("padding", [4, 200_000])
def test_padding_between_streams(
    tmp_path: Path, pack: Callable[[bytes], bytes], padding: int
) -> None:
    write_tree(tmp_path, {"workerlog.0": pack(b"one ") + b"\0" * padding + pack(b"two")})

    source = one(find([tmp_path]))

    assert content(source) == b"one two"
    assert source.notes() == ()


@each
@pytest.mark.parametrize("size", [1, 100, 257, 258, 259, 5000])
def test_however_the_input_is_cut_every_byte_comes_out(
    pack: Callable[[bytes], bytes], size: int
) -> None:
    packed = pack(b"a" * 3000 + b"b")
    codec = codec_of(packed)
    assert codec is not None

    pieces = list(
        decompress(codec, iter([packed[n : n + 1] for n in range(len(packed))]), size, LIMITS)
    )

    assert b"".join(pieces) == b"a" * 3000 + b"b"
    assert max(len(piece) for piece in pieces) <= size


def test_a_stream_without_a_trailer_gives_all_of_a_match_at_its_end() -> None:
    packed = gzip.compress(b"a" * 3000)[10:-8]  # header and checksum off: as it lies in a zip

    for size in range(1, 300):
        assert b"".join(decompress("deflate", iter([packed]), size, LIMITS)) == b"a" * 3000


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


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd().compress])
def test_a_bomb_is_stopped(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    write_tree(tmp_path, {"workerlog.0": pack(b"\0" * (8 << 20))})

    source = one(find([tmp_path], limits=Limits(expanded=1 << 20, ratio=100)))

    assert len(content(source)) <= 1 << 20
    assert "Expands far more" in source.notes()[0].en


def test_there_is_an_end_to_what_is_read_however_slowly_it_grows(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0.gz": gzip.compress(TEXT)})

    source = one(find([tmp_path], limits=Limits(expanded=1000, most=100_000)))

    assert len(content(source, 10_000)) == 100_000
    assert source.notes()


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


def test_what_docker_keeps_of_a_container_is_read_as_it_was_printed(tmp_path: Path) -> None:
    """As /var/lib/docker/containers/ID/ID-json.log is: a time for each line, long ones in parts."""
    printed = ["epoch 0 step 1 loss 0.5\n", *TRACEBACK.decode().splitlines(keepends=True)]
    parts = [*printed[:-1], printed[-1][:5], printed[-1][5:]]
    entries = [
        {"log": part, "stream": "stderr", "time": f"2024-01-01T00:00:0{n}.{5 + n}Z"}
        for n, part in enumerate(parts)
    ]
    text = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)
    log = tmp_path / "workerlog.1"
    log.write_text(text + '{"log":"cut o')

    found = content(find([log]).sources[0]).decode().splitlines()

    assert found[0] == "2024-01-01T00:00:00.500000000Z epoch 0 step 1 loss 0.5"
    assert found[-1].endswith('{"log":"cut o')
    assert [line[31:] for line in found[1:-1]] == TRACEBACK.decode().splitlines()
    report = pdtriage.analyze(log)
    assert report.root_causes[0].title.en == "OSError: x"
    assert report.root_causes[0].rank == 1


def test_other_json_is_left_as_it_is(tmp_path: Path) -> None:
    text = b'{"log": {"loss": 0.5}}\n{"log": "x"}\n'
    (tmp_path / "workerlog.0").write_bytes(text)
    assert content(find([tmp_path]).sources[0]) == text
