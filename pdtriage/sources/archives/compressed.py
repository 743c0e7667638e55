"""Compressed content: recognised by its first bytes, unpacked in bounded pieces, or made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from pdtriage.sources.limits import Limits
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.support.zstd import zstd

Codec = Literal["gz", "bz2", "xz", "zst", "deflate", "lzma", "held", "utf16", "docker"]
MAGIC = 10
"""How many bytes `codec_of` wants to see."""
SUFFIXES: tuple[str, ...] = (".gz", ".bz2", ".xz", ".zst")


class DamagedError(Exception):
    """The content is cut off or is not what it claims to be."""


class TooMuchError(Exception):
    """The content expands further than the limits allow."""


def codec_of(head: bytes) -> Codec | None:
    """What the content is packed with; UTF-16, as PowerShell redirects it, counts as packing, as
    does the JSON that Docker keeps of each line."""
    codec, magic = _MAGICS.get(head[:2], (None, b""))
    if codec == "bz2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
        return None
    return codec if head.startswith(magic) else None


_MAGICS: dict[bytes, tuple[Codec, bytes]] = {
    b"\x1f\x8b": ("gz", b"\x1f\x8b\x08"),
    b"\xfd7": ("xz", b"\xfd7zXZ\x00"),
    b"\x28\xb5": ("zst", b"\x28\xb5\x2f\xfd"),
    b"BZ": ("bz2", b"BZh"),
    b"\xff\xfe": ("utf16", b""),
    b"\xfe\xff": ("utf16", b""),
    b'{"': ("docker", b'{"log":'),
}
"""By the first two bytes."""


def decompress(
    codec: Codec, pieces: Iterator[bytes], size: int, limits: Limits | None = None
) -> Iterator[bytes]:
    """Unpack all streams in `pieces`; damage and excess raise after what could be given."""
    if codec == "utf16":
        return _as_utf8(pieces)
    if codec == "docker":
        return _as_printed(pieces)
    return _unpack(codec, _as_alone(pieces) if codec == "lzma" else pieces, size, limits)


def _unpack(
    codec: Codec, pieces: Iterator[bytes], size: int, limits: Limits | None
) -> Iterator[bytes]:
    machine = _machine(codec)
    taken = given = streams = 0
    inside = False  # a stream has begun and not ended
    for piece in pieces:
        taken += len(piece)
        rest = piece if inside or not streams else piece.lstrip(b"\0")  # padding
        while rest or inside:
            try:
                out = machine.decompress(rest, size)
            except _errors(codec) as error:
                if streams and not inside:
                    return  # junk behind a complete stream, which gzip and xz ignore as well
                raise DamagedError(str(error)) from error
            inside, rest = True, b""
            if out:
                given += len(out)
                if limits is not None and not limits.allows(taken, given):
                    yield out[: limits.most_of(taken) - given]  # counted from its end
                    raise TooMuchError
                yield out
            if machine.eof:
                streams, inside = streams + 1, False
                if codec in ("deflate", "lzma"):
                    return  # a zip member is one stream
                rest = machine.unused_data.lstrip(b"\0")
                machine = _machine(codec)
            elif machine.needs_input:
                break
    if inside:
        raise DamagedError("ends early")


def pack(pieces: Iterable[bytes], most: int) -> tuple[bytes, bool]:
    """The pieces as one zstd frame of about `most` bytes at most, and whether all went in.

    Log text shrinks to a tenth, faster than a disk would read.
    """
    stream = zstd().ZstdCompressor(level=1)
    kept: list[bytes] = []
    length = 0
    complete = True
    for piece in pieces:
        kept.append(stream.compress(piece))
        length += len(kept[-1])
        if length > most:
            complete = False
            break
    kept.append(stream.flush())
    return b"".join(kept), complete


class _Machine(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _machine(codec: Codec) -> _Machine:
    if codec in ("gz", "deflate"):
        return _Inflate(31 if codec == "gz" else -15)
    if codec == "bz2":
        import bz2

        return bz2.BZ2Decompressor()
    if codec in ("zst", "held"):
        machine: _Machine = zstd().ZstdDecompressor()
        return machine
    import lzma

    form = lzma.FORMAT_ALONE if codec == "lzma" else lzma.FORMAT_XZ
    return lzma.LZMADecompressor(form, memlimit=512 << 20)


def _errors(codec: Codec) -> tuple[type[Exception], ...]:
    if codec in ("gz", "deflate"):
        return (_fastest_zlib().error,)
    if codec == "bz2":
        return (OSError, ValueError, EOFError)
    if codec in ("zst", "held"):
        return (zstd().ZstdError,)
    import lzma

    return (lzma.LZMAError, EOFError)


def _fastest_zlib() -> Any:
    """isal unpacks three times as fast as zlib, with the same interface, where it has a wheel."""
    try:
        from isal import isal_zlib
    except ImportError:
        import zlib

        return zlib
    return isal_zlib


class _Inflate:
    """zlib with the interface the other decompressors have."""

    def __init__(self, window: int) -> None:
        self._zlib = _fastest_zlib().decompressobj(window)
        self._head = b"" if window < 0 else b"\x1f\x8b"  # still to be seen
        self._full = False

    @property
    def eof(self) -> bool:
        return bool(self._zlib.eof)

    @property
    def needs_input(self) -> bool:
        return not self._full

    @property
    def unused_data(self) -> bytes:
        return bytes(self._zlib.unused_data)

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        if self._head and data:  # isal would wait for more where zlib sees at once that it is junk
            if data[:2] != self._head[: len(data)]:
                raise _fastest_zlib().error("not a gzip stream")
            self._head = b""
        out: bytes = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        # A full piece may leave output behind in zlib even where no input is left.
        self._full = len(out) >= max_length or bool(self._zlib.unconsumed_tail)
        return out


def _as_alone(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """A zip's LZMA has a header of its own; the same stream with the header of a .lzma file."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 9:
            break
    yield head[4:9] + b"\xff" * 8 + head[9:]
    yield from pieces


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    if tail := decoder.decode(b"", final=True):
        yield tail.encode("utf-8", "replace")


_FRACTION = lazy_compile(r"(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$")


def _as_printed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """What a container printed, each line behind its time, as `docker logs -t` gives it."""
    import json

    rest, begins = b"", True

    def printed(line: bytes) -> str:
        nonlocal begins
        try:
            entry = json.loads(line)
            text, moment = entry["log"], entry["time"]
            stamp = _FRACTION.sub(lambda it: f".{it[1] or 0:0<9}{it[2]} ", moment) if begins else ""
            begins = text.endswith("\n")  # of a long line come several
        except (ValueError, KeyError, TypeError):  # cut off, or of somebody else
            begins = True
            return line.decode("utf-8", "replace") + "\n"
        return stamp + str(text)

    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield "".join(map(printed, lines)).encode("utf-8", "replace")
    if rest:
        yield printed(rest).encode("utf-8", "replace")
