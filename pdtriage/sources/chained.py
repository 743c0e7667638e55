"""A log that was rotated, read as the one text it was written as."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from pdtriage.model import KINDS, FileFacts, LogFile, Seam
from pdtriage.model.kinds import launch_of_log
from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.sources.find.recognise import read_name
from pdtriage.sources.notes import Trouble
from pdtriage.sources.source import Source

_NOT_NUMBERED = ("", ".gz", ".bz2", ".xz", ".zst", ".zstd")


class ChainedSource(Source):
    """The pieces of one log end to end: what was cut in two is whole again."""

    __slots__ = ("pieces", "seams")

    def __init__(self, pieces: Sequence[Source]) -> None:
        """`pieces` come oldest first; the log bears the name of the newest."""
        newest = pieces[-1]
        super().__init__(_file_of(pieces), newest.origin, newest.layers, newest.limits)
        self.pieces = tuple(pieces)
        self.seams: tuple[Seam, ...] = ()
        """Where each piece begins, as far as it was read."""

    def chunks(self, size: int = 1 << 20) -> Iterator[bytes]:
        self.seams = ()
        offset, line = 0, 0
        for piece in self.pieces:
            self.seams += (Seam(piece.file.path, line, offset, piece.file.modified),)
            for chunk in piece.chunks(size):
                offset += len(chunk)
                line += chunk.count(b"\n")
                yield chunk

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        return tuple(trouble for piece in self.pieces for trouble in piece.troubles)

    @property
    def plain(self) -> str | None:
        return None


def join_pieces(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Logs with the pieces of each as one; what is behind a URL stays as it is."""
    logs: dict[object, list[Source]] = {}
    for source in sources:
        logs.setdefault(_log_of(source), []).append(source)
    if len(logs) == len(sources):
        return tuple(sources)
    joined: list[Source] = []
    for own in logs.values():
        if len(own) > 1 and (own[0].file.index is not None or _ends_with_the_newest(own)):
            joined.append(ChainedSource(sorted(own, key=_age)))
        else:
            joined.extend(own)
    return tuple(joined)


def pieces_of(source: Source) -> tuple[Source, ...]:
    """The files that a rotated log is made of, the oldest first."""
    return source.pieces if isinstance(source, ChainedSource) else (source,)


def with_seams(facts: FileFacts, source: Source) -> FileFacts:
    """The facts of a source that was read just now, with the places where its pieces begin."""
    return facts._replace(seams=source.seams) if isinstance(source, ChainedSource) else facts


def _log_of(source: Source) -> object:
    """Equal for the pieces of one log of a process, or of one console."""
    file = source.file
    name = posixpath.basename(file.path)
    if not isinstance(source.origin, (Disk, Memory)):
        return file.path
    if file.kind == "console" and file.index is None:
        return file.folder, file.kind, read_name(name).stem
    if KINDS[file.kind].role is None or file.index is None:
        return file.path
    return file.folder, file.kind, file.index, launch_of_log(name)


def _ends_with_the_newest(pieces: Sequence[Source]) -> bool:
    """Whether one is not numbered: `out.0` and `out.1` may as well be what two ranks printed."""
    names = [posixpath.basename(piece.file.path) for piece in pieces]
    return any(name.removeprefix(read_name(name).stem) in _NOT_NUMBERED for name in names)


def _age(source: Source) -> tuple[int, str]:
    return -source.file.rotation, source.file.path


def _file_of(pieces: Sequence[Source]) -> LogFile:
    files = [piece.file for piece in pieces]
    sizes = [file.size for file in files if file.size is not None]
    times = [file.modified for file in files if file.modified is not None]
    return files[-1]._replace(
        size=sum(sizes) if len(sizes) == len(files) else None, modified=max(times, default=None)
    )
