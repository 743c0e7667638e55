"""A file behind a URL, as an origin of bytes: read in blocks, ahead of who wants them, once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pdtriage.sources.archives.compressed import MAGIC, DamagedError, codec_of
from pdtriage.sources.limits import HEAD
from pdtriage.sources.remote.backends import HTTP, awaited, begun, on_storage, patiently
from pdtriage.sources.remote.fetched import Kept, Place
from pdtriage.sources.remote.streamed import Stream
from pdtriage.sources.remote.url import RemoteError, in_public, scheme_of, told_apart

if TYPE_CHECKING:
    from pdtriage.sources.remote.seekable import RemoteFile

BLOCK = 4 << 20
"""Bytes asked for at once."""
AHEAD = 4
"""Blocks of one file that are under way at once."""
SMALL = 512 << 10
"""A file up to this size is fetched whole when it is only looked at."""
BREAKS = 100
"""How often an answer may break off before it is taken for malice."""
HOPS = 64 << 20
"""Archives above this size are not read whole to see what is in them, if parts can be had."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A file on some storage, or a part of one."""

    root: str = field(repr=False)
    """The URL that leads to the storage. It may hold credentials: never shown."""
    path: str = field(repr=False)
    """The file as its file system calls it; for HTTP a whole URL."""
    size: int | None = None
    """Of the whole file, as it was when it was found: what grows later is not read."""
    version: str | None = None
    """What changes when the content does: an ETag, a checksum, a time."""
    modified: float | None = None
    offset: int = 0
    length: int | None = None
    kept: Kept = field(default_factory=Kept, repr=False, compare=False)

    @property
    def whole(self) -> bool:
        return self.offset == 0 and self.length is None

    @property
    def public(self) -> str:
        """What tells it from every other file, without credentials."""
        return f"{in_public(self.root)} {told_apart(in_public(self.path), self.path)}"

    @property
    def hops(self) -> bool:
        """Whether to go from place to place in it rather than to read it whole."""
        return self.size is not None and self.size > HOPS and self._gives_parts()

    def part(self, offset: int, length: int) -> Remote:
        return replace(self, offset=self.offset + offset, length=length)

    def unpacked(self) -> bool:
        try:
            return codec_of(next(self.pieces(HEAD), b"")[:MAGIC]) is None
        except (RemoteError, DamagedError):
            return False

    def pieces(self, size: int) -> Iterator[bytes]:
        """Asked for small pieces it fetches no more than a look needs, and keeps that."""
        looking = size <= HEAD
        place = self._place
        head = self.kept.look(place) if looking else self.kept.take(place)
        yield from _cut(head, size)
        for fresh in self._from(self.offset + len(head), looking):
            if looking and len(head) < SMALL:  # whoever goes on is not just looking
                head += fresh
                self.kept.keep(place, head)
            yield from _cut(fresh, size)

    def prime(self) -> None:
        """Begin to fetch what will be read first."""
        end = self._end
        if end is None or self._streamed or self.kept.has(self._place):
            return
        first = min(end, self.offset + BLOCK)
        self.kept.expect(self._place, self._begun(self.offset, first))

    def look_here(self) -> None:
        """Fetch and keep the beginning, in this thread; a stream is opened when it is read."""
        if self._end and not self._streamed:
            first = self._block(self.offset, self.offset + _look(self._end - self.offset))
            self.kept.keep(self._place, first)

    def opened(self) -> RemoteFile:
        from pdtriage.sources.remote.seekable import RemoteFile

        assert self.size is not None
        return RemoteFile(self, self.size)

    @property
    def _place(self) -> Place:
        return (self.root, self.path, self.offset)

    @property
    def _end(self) -> int | None:
        if self.length is not None:
            return self.offset + self.length
        return self.size

    @property
    def _streamed(self) -> bool:
        """Whether to read front to back: servers of HTTP need not give parts, nor tell a size."""
        if self._end is None:
            return True
        return scheme_of(self.root) in HTTP and self.whole and self._end > BLOCK

    def _from(self, begin: int, looking: bool) -> Iterator[bytes]:
        if self._streamed:
            return self._stream(begin)
        assert self._end is not None
        return self._blocks(begin, self._end, looking)

    def _blocks(self, begin: int, end: int, looking: bool) -> Iterator[bytes]:
        coming: deque[tuple[int, Future[bytes]]] = deque()
        next_at = begin
        try:
            while next_at < end or coming:
                looking = looking and next_at - self.offset < SMALL
                while next_at < end and len(coming) < (1 if looking else AHEAD):
                    upto = min(end, next_at + (_look(end - next_at) if looking else BLOCK))
                    coming.append((upto - next_at, self._begun(next_at, upto)))
                    next_at = upto
                wanted, future = coming.popleft()
                block = awaited(future)
                yield block
                if len(block) < wanted:
                    raise DamagedError("shorter than it was")
        finally:
            for _, future in coming:
                future.cancel()

    def _begun(self, begin: int, end: int) -> Future[bytes]:
        return begun(lambda: self._block(begin, end))

    def _block(self, begin: int, end: int) -> bytes:
        return on_storage(self.root, lambda storage, _: self._fetched(storage, begin, end))

    def _fetched(self, storage: Any, begin: int, end: int) -> bytes:
        if scheme_of(self.root) not in HTTP:
            return bytes(storage.cat_file(self.path, start=begin, end=end))[: end - begin]
        if begin == 0 and self.whole and end == self.size:
            return bytes(storage.cat_file(self.path))[:end]
        with storage.open(self.path, size=end, cache_type="none") as file:
            file.seek(begin)
            return bytes(file.read(end - begin))

    def _gives_parts(self) -> bool:
        if scheme_of(self.root) not in HTTP:
            return True
        assert self.size is not None
        try:
            return len(awaited(self._begun(self.size - 1, self.size))) == 1
        except RemoteError:
            return False

    def _stream(self, begin: int) -> Iterator[bytes]:
        """Front to back; where it breaks off it goes on from there, as often as that helps."""
        at = begin
        for rest in reversed(range(BREAKS)):
            before = at
            try:
                with self._opened_at(at) as stream:
                    for piece in stream:
                        at += len(piece)
                        yield piece
                if self._end is None or at >= self._end:
                    return
                raise RemoteError("unanswered", "ends early")
            except RemoteError as error:
                if error.reason != "unanswered" or at == before or not rest:
                    raise

    def _opened_at(self, at: int) -> Stream:
        def use(storage: Any, _: str) -> Stream:
            return Stream(storage, self.path, at, self._end)

        return patiently(lambda: on_storage(self.root, use))


def _look(left: int) -> int:
    return left if left <= SMALL else HEAD


def _cut(piece: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(piece), size):
        yield piece[start : start + size]
