"""Given gzip content, when unpacked with isal or with zlib, then it is the same."""

from __future__ import annotations

import gzip
import sys

import pytest

from pdtriage.sources.archives.compressed import DamagedError, decompress
from pdtriage.sources.limits import LIMITS

TEXT = b"".join(b"step %d loss 0.5\n" % step for step in range(20_000))


@pytest.fixture(params=["isal", "zlib"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)
    else:
        pytest.importorskip("isal")


def unpacked(content: bytes, size: int) -> bytes:
    pieces = iter([content[at : at + 700] for at in range(0, len(content), 700)])
    found = list(decompress("gz", pieces, size, LIMITS))
    assert all(len(piece) <= size for piece in found)
    return b"".join(found)


@pytest.mark.parametrize("size", [1000, 1 << 18])
def test_streams_one_after_another_with_junk_behind(size: int) -> None:
    content = gzip.compress(TEXT) + gzip.compress(b"the end\n") + b"\0\0junk"
    assert unpacked(content, size) == TEXT + b"the end\n"


@pytest.mark.parametrize("damage", [slice(0, -20), slice(0, 5000)])
def test_what_is_cut_off_is_damaged(damage: slice) -> None:
    with pytest.raises(DamagedError):
        unpacked(gzip.compress(TEXT)[damage], 1 << 18)


def test_a_wrong_checksum_is_damage() -> None:
    content = bytearray(gzip.compress(TEXT))
    content[-8] ^= 1
    with pytest.raises(DamagedError):
        unpacked(bytes(content), 1 << 18)
