"""Tar archives: members of a plain one are places in the file, those of a packed one are held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from pdtriage.sources.archives.compressed import codec_of
from pdtriage.sources.archives.forward import Forward
from pdtriage.sources.archives.packing import Room, packed
from pdtriage.sources.byte_stream import Cut, Memory, Origin, Unpacked, seekable
from pdtriage.sources.display_path import joined, member_parts
from pdtriage.sources.find.candidate import Candidate
from pdtriage.sources.find.recognise import archive_by_name, interesting, named, recognise
from pdtriage.sources.limits import HEAD, Limits
from pdtriage.sources.notes import Notes
from pdtriage.sources.remote.url import RemoteError

if TYPE_CHECKING:
    import tarfile


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
        import tarfile

        from pdtriage.sources.archives.tar_header import Header

        origin = self.archive.origin
        content = Unpacked(origin, self.archive.layers, self.limits)
        place = seekable(origin, self.archive.layers)
        if place is not None and place.unpacked():
            with (
                place.opened() as file,
                tarfile.open(fileobj=file, mode="r:", tarinfo=Header) as tar,
            ):
                for member, parts in self._interesting(tar):
                    if member.issparse():
                        yield from self._held(tar, member, parts)
                    else:
                        part = place.part(member.offset_data, member.size)
                        yield self._candidate(member, parts, part)
            return
        pieces = content.pieces(1 << 20, lambda _: self.notes.add("archive", self.archive.path))
        stream = Forward(pieces)
        with tarfile.open(fileobj=stream, mode="r:", tarinfo=Header) as tar:
            for member, parts in self._interesting(tar):
                yield from self._held(tar, member, parts, stream)

    def _interesting(
        self, tar: tarfile.TarFile
    ) -> Iterator[tuple[tarfile.TarInfo, tuple[str, ...]]]:
        for count, member in enumerate(tar):
            if count >= self.limits.entries:
                self.notes.add("entries", self.archive.path)
                return
            parts = member_parts(member.name)
            if not parts or not interesting(parts[-1], parts[-2] if len(parts) > 1 else ""):
                continue
            shown = joined(self.archive.path, "/".join(parts))
            if member.issym() or member.islnk():
                self.notes.add("link", shown)
            elif member.isreg():
                taken = self.archive.size or 0
                if member.issparse() and not self.limits.allows(taken, member.size):
                    self.notes.add("bomb", shown)  # holes cost nothing to claim
                else:
                    yield member, parts

    def _held(
        self,
        tar: tarfile.TarFile,
        member: tarfile.TarInfo,
        parts: tuple[str, ...],
        stream: Forward | None = None,
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
        if archive_by_name(name) is None and named(name, folder).kind is None:
            probe = Unpacked(Memory(head), (), self.limits).head(HEAD)
            if recognise(name, probe, folder) is None:
                return
        content, complete = packed(chain([head], pieces), self.room.left)
        if complete:
            self.room.left -= len(content)
            yield self._candidate(member, parts, Memory(content), held=True)
        else:
            yield self._again(member, parts)

    def _again(self, member: tarfile.TarInfo, parts: tuple[str, ...]) -> Candidate:
        """No room to hold it: it is unpacked once more, from the beginning, when it is read."""
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
            folder=joined(self.archive.path, folder) if folder else self.archive.path,
            origin=origin,
            layers=("held",) if held else (),
            size=member.size,
            modified=float(member.mtime),
            inside=self.archive.inside + 1,
        )
