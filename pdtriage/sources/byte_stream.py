"""From where the bytes lie to the bytes of the log: an origin and the layers around its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from pdtriage.sources.archives.compressed import (
    MAGIC,
    Codec,
    DamagedError,
    TooMuchError,
    codec_of,
    decompress,
)
from pdtriage.sources.find.recognise import is_text
from pdtriage.sources.limits import Limits
from pdtriage.sources.notes import Reason
from pdtriage.sources.remote.url import RemoteError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.regular_files import (
    LinkedError,
    NoFileError,
    has_holes,
    open_binary,
    open_file,
    stretches_with_data,
)

if TYPE_CHECKING:  # whoever reads local files only does not wait for the rest
    from pdtriage.sources.remote.origin import Remote

_OF_TEXT: frozenset[Codec] = frozenset({"utf16", "docker"})
_LEAST_READ = 64 << 10
_LOOKED_THROUGH = 2 << 20
"""Bytes at the beginning of a log that seems to have no line feeds."""


class Disk(NamedTuple):
    """A file, or a part of one."""

    path: str
    offset: int = 0
    length: int | None = None

    @property
    def whole(self) -> bool:
        return self.offset == 0 and self.length is None

    @property
    def prefers_seeking(self) -> bool:
        """Whether to go from place to place in it rather than to read it whole."""
        return True

    def part(self, offset: int, length: int) -> Disk:
        return Disk(self.path, self.offset + offset, length)

    def open(self) -> BinaryIO:
        return open_binary(self.path)

    def is_unpacked(self) -> bool:
        """Whether the file is readable and holds its text as it is, with nothing to be skipped."""
        try:
            with open_binary(self.path, buffering=0) as file:
                return codec_of(file.read(MAGIC)) is None and not has_holes(file.fileno())
        except OSError:
            return False

    def content(self, length: int) -> bytes | None:
        """All of the file by one read, if it is still `length` bytes long; None if not.

        No second read is needed to see the end of it: one byte more was asked for.
        """
        if not self.whole:
            return None
        try:
            file = open_file(self.path)
            try:
                content = os.read(file, length + 1)
            finally:
                os.close(file)
        except OSError:
            return None  # who reads it piece by piece meets it again, and says so
        return content if len(content) == length else None

    def pieces(self, size: int) -> Iterator[bytes]:
        """By the calls of the system: what Python puts around them costs as much as they do."""
        file = open_file(self.path)
        try:
            if self.length is None:
                for offset, length in stretches_with_data(file):
                    yield from _read(file, offset, length, size)
            else:
                given = 0
                for piece in _read(file, self.offset, self.length, size):
                    given += len(piece)
                    yield piece
                if given < self.length:
                    raise DamagedError("ends early")
        finally:
            os.close(file)


def _read(file: int, offset: int, left: int, size: int) -> Iterator[bytes]:
    os.lseek(file, offset, os.SEEK_SET)
    while left and (piece := os.read(file, min(size, left))):
        yield piece
        left -= len(piece)


class Memory(NamedTuple):
    """Content held in memory, as packed as it came."""

    content: bytes

    def pieces(self, size: int) -> Iterator[bytes]:
        for start in range(0, len(self.content), size):
            yield self.content[start : start + size]


Origin: TypeAlias = "Disk | Memory | Remote"


class Cut(NamedTuple):
    """A layer that gives only a part of what is below: a member of a compressed tar."""

    offset: int
    length: int


class Checked(NamedTuple):
    """Content whose checksum is known: a member of a zip."""

    crc: int


Layer = Codec | Cut | Checked


class Unpacked(NamedTuple):
    """The content of an origin with its layers, and any compression of its own, taken off."""

    origin: Origin
    layers: tuple[Layer, ...]
    """What they may give was counted when the archives they stand for were listed."""
    limits: Limits
    """For a compression of its own."""

    def pieces(self, size: int, trouble: Callable[[Reason], None]) -> Iterator[bytes]:
        """Pieces of at most `size`; what cuts them short is told to `trouble`, never raised."""
        try:
            for piece in self._plain(size):
                if len(piece) <= size:
                    yield piece
                else:
                    yield from (piece[at : at + size] for at in range(0, len(piece), size))
        except TooMuchError:
            trouble("bomb")
        except DamagedError:
            trouble("packed")
        except RemoteError as error:
            trouble(error.reason)
        except FileNotFoundError:
            trouble("vanished")
        except LinkedError:
            trouble("outside")
        except NoFileError:
            trouble("special")
        except OSError:
            trouble("unreadable")

    def _plain(self, size: int) -> Iterator[bytes]:
        """Text in lines. Almost every log begins as such, and is given as it comes."""
        pieces = self.raw(size)
        first = next(pieces, b"")
        pieces = _chain(first, pieces)
        if is_plain(first):
            return pieces
        return _in_lines(
            _decompress_by_content(pieces, size, self.limits), self._ends_without_newline
        )

    def raw(self, size: int) -> Iterator[bytes]:
        """The bytes as they lie there, without looking into them: an archive's own.

        Raises what it meets.
        """
        size = max(size, _LEAST_READ)
        pieces = self.origin.pieces(size)
        for layer in self.layers:
            if isinstance(layer, Cut):
                pieces = _cut(pieces, layer)
            elif isinstance(layer, Checked):
                pieces = _check(pieces, layer)
            else:
                pieces = decompress(layer, pieces, size)
        return pieces

    def _ends_without_newline(self) -> bool:
        """Asked of a log that begins without a single one, perhaps because of a progress bar."""
        if not isinstance(self.origin, Disk) or not self.origin.whole or self.layers:
            return False
        with self.origin.open() as file:
            begin = file.read(_LOOKED_THROUGH)
            file.seek(max(0, file.seek(0, 2) - _LEAST_READ))
            return codec_of(begin) is None and b"\n" not in begin + file.read(_LEAST_READ)

    def head(self, length: int, trouble: Callable[[Reason], None] = lambda _: None) -> bytes:
        """The first bytes, unpacked; fewer if the content is short or damaged."""
        kept = b""
        for piece in self.pieces(length, trouble):
            kept += piece
            if len(kept) >= length:
                break
        return kept[:length]


def is_plain(first: bytes) -> bool:
    """Whether content that begins like this is text in lines, packed in nothing."""
    return len(first) >= MAGIC and _has_lines(first) and codec_of(first) is None


def seekable(origin: Origin, layers: tuple[Layer, ...]) -> Disk | Remote | None:
    """The origin, if parts of an archive in it can be read by themselves."""
    if isinstance(origin, Memory) or layers or not origin.whole or not origin.prefers_seeking:
        return None
    return origin


def _decompress_by_content(pieces: Iterator[bytes], size: int, limits: Limits) -> Iterator[bytes]:
    """Take off the compression the content itself shows, and then UTF-16 or Docker's JSON."""
    first, pieces = _peek(pieces)
    codec = codec_of(first)
    if codec is not None and codec not in _OF_TEXT:
        first, pieces = _peek(decompress(codec, pieces, size, limits))
        codec = codec_of(first)
    if codec is not None and codec in _OF_TEXT:
        return decompress(codec, pieces, size, limits)
    return pieces


def _in_lines(pieces: Iterator[bytes], ends_alike: Callable[[], bool]) -> Iterator[bytes]:
    """A log in which a carriage return ends each line, because nothing else does.

    In any other log it belongs to the line: a progress bar goes back to the beginning with it.
    """
    first, pieces = _peek(pieces, 1)
    if _has_lines(first):
        return pieces
    first, pieces = _peek(pieces, _LEAST_READ)
    first = first[:_LEAST_READ]
    whole = len(first) < _LEAST_READ
    if b"\n" in first or b"\r" not in first or b"\0" in first or not is_text(first):
        return pieces  # an archive may hold anything
    if not (whole or ends_alike()):
        return pieces
    return (piece.replace(b"\r", b"\n") for piece in pieces)


def _has_lines(first: bytes) -> bool:
    """Whether a text has lines, by as much as is read in any case, whatever the size of pieces."""
    return first.find(b"\n", 0, _LEAST_READ) >= 0


def _peek(pieces: Iterator[bytes], least: int = MAGIC) -> tuple[bytes, Iterator[bytes]]:
    first = b""
    failure: Exception | None = None
    try:
        for piece in pieces:
            first += piece
            if len(first) >= least:
                break
    except (DamagedError, TooMuchError, OSError) as error:
        failure = error
    return first, _chain(first, pieces, failure)


def _chain(
    first: bytes, rest: Iterator[bytes], failure: Exception | None = None
) -> Iterator[bytes]:
    if first:
        yield first
    if failure is not None:
        raise failure  # only now: what came before the damage is given first
    yield from rest


def _cut(pieces: Iterator[bytes], part: Cut) -> Iterator[bytes]:
    position, end = 0, part.offset + part.length
    if not part.length:
        return
    for piece in pieces:
        begin = max(part.offset - position, 0)
        position += len(piece)
        if wanted := piece[begin : len(piece) - max(position - end, 0)]:
            yield wanted
        if position >= end:
            return
    raise DamagedError("ends early")


def _check(pieces: Iterator[bytes], whole: Checked) -> Iterator[bytes]:
    import zlib

    crc = 0
    for piece in pieces:
        crc = zlib.crc32(piece, crc)
        yield piece
    if crc != whole.crc:
        raise DamagedError("checksum differs")
