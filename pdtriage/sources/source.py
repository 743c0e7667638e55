"""What a source is: a `LogFile` and a way to its bytes."""

from __future__ import annotations

from collections.abc import Iterator

from pdtriage.model import LogFile, Text
from pdtriage.sources.archives.compressed import SUFFIXES
from pdtriage.sources.byte_stream import Disk, Layer, Origin, Unpacked, is_plain
from pdtriage.sources.find.recognise import is_text
from pdtriage.sources.limits import LIMITS, Limits
from pdtriage.sources.notes import Notes, Reason, Trouble
from pdtriage.support.fast_namedtuple import NamedTuple

LOOKED_AT = 1024
"""Bytes at the beginning that show whether it is text."""


class Source:
    """One log file that can be read, any number of times, from any process.

    A file on disk and a member of a zip or plain tar travel to another process as a path and a
    place in it. A member of an archive that can only be read front to back, and standard input,
    carry their bytes along, packed.
    """

    __slots__ = ("_notes", "file", "layers", "limits", "origin")

    def __init__(
        self,
        file: LogFile,
        origin: Origin,
        layers: tuple[Layer, ...] = (),
        limits: Limits = LIMITS,
    ) -> None:
        self.file = file
        self.origin = origin
        self.layers = layers
        self.limits = limits
        self._notes: Notes | None = None

    def __repr__(self) -> str:
        return f"Source({self.file!r}, {self.origin!r}, {self.layers!r}, {self.limits!r})"

    def chunks(self, size: int = 1 << 20) -> Iterator[bytes]:
        """The unpacked bytes from the beginning, in pieces of at most `size`.

        Damage in the content never raises: the pieces end, and `notes` says why.
        """
        self._notes = None
        if self.file.path.lower().endswith(SUFFIXES) and self.plain:
            self._trouble("misnamed")
        first = self._at_once(size)
        pieces: Iterator[bytes] = iter(())
        if first is None:
            pieces = Unpacked(self.origin, self.layers, self.limits).pieces(size, self._trouble)
            first = next(pieces, b"")
        if not is_text(first[:LOOKED_AT]):
            self._trouble("garbled")
        if first:
            yield first
        yield from pieces

    def _at_once(self, most: int) -> bytes | None:
        """Almost every log: plain text on disk, as long as it was found to be.

        None for any other, and whenever there is something to tell.
        """
        length = self.file.size
        if not length or length > most or self.layers or not isinstance(self.origin, Disk):
            return None
        content = self.origin.content(length)
        return content if content is not None and is_plain(content) else None

    def read_small(self, limit: int) -> bytes:
        """The whole of a small file, at most `limit` bytes."""
        pieces: list[bytes] = []
        missing = limit
        for piece in self.chunks(max(1, min(limit, 1 << 20))):
            pieces.append(piece[:missing])
            missing -= len(pieces[-1])
            if missing <= 0:
                break
        return b"".join(pieces)[:limit]

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What went wrong the last time it was read."""
        return self._notes.troubles() if self._notes else ()

    def notes(self) -> tuple[Text, ...]:
        """The same in sentences, as of this source alone."""
        return Notes(self.troubles).texts()

    @property
    def plain(self) -> str | None:
        """The file that holds just these bytes, for `mmap`; None if packed in any way."""
        if isinstance(self.origin, Disk) and self.origin.whole and not self.layers:
            return self.origin.path if self.origin.is_unpacked() else None
        return None

    def _trouble(self, reason: Reason) -> None:
        self._notes = self._notes or Notes()
        self._notes.add(reason, self.file.path)


class SearchResult(NamedTuple):
    """All that was found below the paths of one call."""

    sources: tuple[Source, ...] = ()
    notes: tuple[Text, ...] = ()
    missing: tuple[str, ...] = ()
    """Paths that do not exist, as they were asked for."""
    doubtful: bool = False
    """Whether nothing but its name says that any of it is a log."""
