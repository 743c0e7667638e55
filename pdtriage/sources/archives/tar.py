"""Tar archives: members of a plain one are places in the file, those of a packed one are held."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from pdtriage.sources.archives.compressed import DamagedError, codec_of, pack
from pdtriage.sources.byte_stream import Cut, Memory, Origin, Unpacked, seekable
from pdtriage.sources.display_path import join_display, member_parts
from pdtriage.sources.find.candidates import Candidate
from pdtriage.sources.find.recognise import archive_by_name, is_interesting, read_name, recognise
from pdtriage.sources.limits import HEAD, Limits, Room
from pdtriage.sources.notes import Notes
from pdtriage.sources.remote.url import RemoteError

_MOST_EXTENSION = 1 << 20
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def tar_members(
    archive: Candidate, limits: Limits, notes: Notes, room: Room
) -> Iterator[Candidate]:
    """The members that may be logs, or archives of logs; all that comes before any damage."""
    try:
        yield from _Tar(archive, limits, notes, room).members()
    except GeneratorExit:
        raise
    except RemoteError as error:
        notes.add(error.reason, archive.path)
    except Exception:  # tarfile meets hostile headers with anything from ValueError to MemoryError
        notes.add("archive", archive.path)


@dataclass(slots=True)
class _Tar:
    archive: Candidate
    limits: Limits
    notes: Notes
    room: Room

    def members(self) -> Iterator[Candidate]:
        origin = self.archive.origin
        content = Unpacked(origin, self.archive.layers, self.limits)
        place = seekable(origin, self.archive.layers)
        if place is not None and place.is_unpacked():
            with (
                place.open() as file,
                tarfile.open(fileobj=file, mode="r:", tarinfo=Header) as tar,
            ):
                for member, parts in self._members_of_interest(tar):
                    if member.issparse():
                        yield from self._hold(tar, member, parts)
                    else:
                        part = place.part(member.offset_data, member.size)
                        yield self._candidate(member, parts, part)
            return
        pieces = content.pieces(1 << 20, lambda _: self.notes.add("archive", self.archive.path))
        stream = ForwardReader(self._while_there_is_room(pieces))
        with tarfile.open(fileobj=stream, mode="r:", tarinfo=Header) as tar:
            for member, parts in self._members_of_interest(tar):
                yield from self._hold(tar, member, parts, stream)

    def _while_there_is_room(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if self.room.take(len(piece), len(piece)) < len(piece):
                self.notes.add("bomb", self.archive.path)
                return
            yield piece

    def _members_of_interest(
        self, tar: tarfile.TarFile
    ) -> Iterator[tuple[tarfile.TarInfo, tuple[str, ...]]]:
        for count, member in enumerate(tar):
            if count >= self.limits.entries:
                self.notes.add("entries", self.archive.path)
                return
            parts = member_parts(member.name)
            if not parts or not is_interesting(parts[-1], parts[-2] if len(parts) > 1 else ""):
                continue
            shown = join_display(self.archive.path, "/".join(parts))
            if member.issym() or member.islnk():
                self.notes.add("link", shown)
            elif member.isreg():
                taken = self.archive.size or 0
                if member.issparse() and not self.limits.allows(taken, member.size):
                    self.notes.add("bomb", shown)  # holes cost nothing to claim
                else:
                    yield member, parts

    def _hold(
        self,
        tar: tarfile.TarFile,
        member: tarfile.TarInfo,
        parts: tuple[str, ...],
        stream: ForwardReader | None = None,
    ) -> Iterator[Candidate]:
        """A copy of the member in memory, if it is a log."""
        if stream is None or member.issparse():
            with_holes = tar.extractfile(member)
            pieces = iter(lambda: with_holes.read(HEAD) if with_holes else b"", b"")
        else:
            stream.seek(member.offset_data)
            pieces = stream.pieces(member.size)
        name, folder = parts[-1], parts[-2] if len(parts) > 1 else ""
        head = next(pieces, b"")
        if archive_by_name(name) is None and read_name(name, folder).kind is None:
            probe = Unpacked(Memory(head), (), self.limits).head(HEAD)
            if recognise(name, probe, folder) is None:
                return
        content, complete = pack(chain([head], pieces), self.room.left)
        if complete:
            self.room.left -= len(content)
            yield self._candidate(member, parts, Memory(content), held=True)
        else:
            yield self._unpack_again(member, parts)

    def _unpack_again(self, member: tarfile.TarInfo, parts: tuple[str, ...]) -> Candidate:
        """A member there was no room for, unpacked once more from the beginning when it is read."""
        first = next(Unpacked(self.archive.origin, self.archive.layers, self.limits).raw(1), b"")
        codec = codec_of(first)
        layers = (*self.archive.layers, *(() if codec is None else (codec,)))
        cut = Cut(member.offset_data, member.size)
        found = self._candidate(member, parts, self.archive.origin)
        return found._replace(layers=(*layers, cut))

    def _candidate(
        self,
        member: tarfile.TarInfo,
        parts: tuple[str, ...],
        origin: Origin,
        held: bool = False,
    ) -> Candidate:
        folder = "/".join(parts[:-1])
        return Candidate(
            name=parts[-1],
            folder=join_display(self.archive.path, folder) if folder else self.archive.path,
            origin=origin,
            layers=("held",) if held else (),
            size=member.size,
            modified=float(member.mtime),
            inside=self.archive.inside + 1,
        )


class Header(tarfile.TarInfo):
    """Junk in place of a header is damage, where tarfile takes it for a quiet end.

    An extension, which tarfile reads into memory whatever size it claims, has to be small.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not bytes(buf).strip(b"\0"):
                raise  # the end, marked with zeros or not at all
            raise DamagedError(str(error)) from error
        if header.type in _EXTENSIONS and header.size > _MOST_EXTENSION:
            raise DamagedError("extension too large")
        return header


class ForwardReader(io.RawIOBase):
    """Pieces, unpacked while they are read, as a file with `tell` and `seek`.

    One step back is all that tarfile ever asks for.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._next = 0
        self._before = b""  # the last byte of the piece before
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        """Reads as many bytes as asked for, fewer only at the end."""
        parts: list[bytes] = []
        while size and (part := self._some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def seek(self, target: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only from the beginning")
        if target == self._position - 1:
            if not self._next:
                self._piece = self._before + self._piece
                self._next = len(self._before)
            self._next -= 1
            self._position -= 1
        elif target < self._position:
            raise io.UnsupportedOperation("only forward")
        while self._position < target and self._some(target - self._position):
            pass
        return self._position

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes, or those that are there; the first 64 kB come in one piece."""
        first = self.read(min(size, HEAD))
        yield first
        size -= len(first)
        while size and (part := self._some(size)):
            size -= len(part)
            yield part

    def _some(self, size: int) -> bytes:
        while self._next >= len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._before = self._piece[-1:] or self._before
            self._piece, self._next = piece, 0
        part = (
            self._piece[self._next :] if size < 0 else self._piece[self._next : self._next + size]
        )
        self._next += len(part)
        self._position += len(part)
        return part
