"""A file behind a URL, as an origin of bytes: read in blocks, ahead of who wants them, once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pdtriage.sources.archives.compressed import MAGIC, DamagedError, codec_of
from pdtriage.sources.limits import HEAD
from pdtriage.sources.remote.backends import HTTP, on_storage, submit, wait_for, with_retries
from pdtriage.sources.remote.handles import Stream
from pdtriage.sources.remote.url import RemoteError, public_url, scheme_of, with_query_digest

if TYPE_CHECKING:
    from pdtriage.sources.remote.handles import RemoteFile

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
MOST_FETCHED = 64 << 20
"""Bytes kept over all files of one search."""

BlockKey = tuple[str, str, int]
"""Where to connect, the file there, and an offset in it."""


class FetchCache:
    """What was fetched and not yet used up. Stays in its process: others fetch for themselves."""

    def __init__(self, room: int = MOST_FETCHED) -> None:
        self._room = room
        self._heads: dict[BlockKey, bytes] = {}
        self._coming: dict[BlockKey, Future[bytes]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[FetchCache], tuple[()]]:
        return FetchCache, ()

    def look(self, key: BlockKey) -> bytes:
        coming = self._coming.pop(key, None)
        if coming is not None:
            self.keep(key, wait_for(coming))
        return self._heads.get(key, b"")

    def take(self, key: BlockKey) -> bytes:
        """The block that was fetched ahead; from now on it is the reader's."""
        coming = self._coming.pop(key, None)
        with self._lock:
            head = self._heads.pop(key, b"")
            self._room += len(head)
        return head or (b"" if coming is None else wait_for(coming))

    def keep(self, key: BlockKey, head: bytes) -> None:
        with self._lock:
            grown = len(head) - len(self._heads.get(key, b""))
            if 0 < grown <= self._room:
                self._room -= grown
                self._heads[key] = head

    def expect(self, key: BlockKey, coming: Future[bytes]) -> None:
        self._coming[key] = coming

    def has(self, key: BlockKey) -> bool:
        return key in self._coming or key in self._heads


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
    fetched: FetchCache = field(default_factory=FetchCache, repr=False, compare=False)

    @property
    def whole(self) -> bool:
        return self.offset == 0 and self.length is None

    @property
    def public(self) -> str:
        """What tells it from every other file, without credentials."""
        return f"{public_url(self.root)} {with_query_digest(public_url(self.path), self.path)}"

    @property
    def prefers_seeking(self) -> bool:
        """Whether to go from place to place in it rather than to read it whole."""
        return self.size is not None and self.size > HOPS and self._gives_parts()

    def part(self, offset: int, length: int) -> Remote:
        return replace(self, offset=self.offset + offset, length=length)

    def is_unpacked(self) -> bool:
        try:
            return codec_of(next(self.pieces(HEAD), b"")[:MAGIC]) is None
        except (RemoteError, DamagedError):
            return False

    def pieces(self, size: int) -> Iterator[bytes]:
        """Asked for small pieces it fetches no more than a look needs, and keeps that."""
        looking = size <= HEAD
        key = self._key
        head = self.fetched.look(key) if looking else self.fetched.take(key)
        yield from _cut(head, size)
        for fresh in self._from(self.offset + len(head), looking):
            if looking and len(head) < SMALL:  # whoever goes on is not just looking
                head += fresh
                self.fetched.keep(key, head)
            yield from _cut(fresh, size)

    def prime(self) -> None:
        """Begin to fetch what will be read first."""
        end = self._end
        if end is None or self._streamed or self.fetched.has(self._key):
            return
        first = min(end, self.offset + BLOCK)
        self.fetched.expect(self._key, self._submit(self.offset, first))

    def look_here(self) -> None:
        """Fetch and keep the beginning, in this thread; a stream is opened when it is read."""
        if self._end and not self._streamed:
            first = self._block(self.offset, self.offset + _look(self._end - self.offset))
            self.fetched.keep(self._key, first)

    def open(self) -> RemoteFile:
        from pdtriage.sources.remote.handles import RemoteFile

        assert self.size is not None
        return RemoteFile(self, self.size)

    @property
    def _key(self) -> BlockKey:
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
                    coming.append((upto - next_at, self._submit(next_at, upto)))
                    next_at = upto
                wanted, future = coming.popleft()
                block = wait_for(future)
                yield block
                if len(block) < wanted:
                    raise DamagedError("shorter than it was")
        finally:
            for _, future in coming:
                future.cancel()

    def _submit(self, begin: int, end: int) -> Future[bytes]:
        return submit(lambda: self._block(begin, end))

    def _block(self, begin: int, end: int) -> bytes:
        return on_storage(self.root, lambda storage, _: self._fetch(storage, begin, end))

    def _fetch(self, storage: Any, begin: int, end: int) -> bytes:
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
            return len(wait_for(self._submit(self.size - 1, self.size))) == 1
        except RemoteError:
            return False

    def _stream(self, begin: int) -> Iterator[bytes]:
        """Front to back; where it breaks off it goes on from there, as often as that helps."""
        at = begin
        for rest in reversed(range(BREAKS)):
            before = at
            try:
                with self._open_at(at) as stream:
                    for piece in stream:
                        at += len(piece)
                        yield piece
                if self._end is None or at >= self._end:
                    return
                raise RemoteError("unanswered", "ends early")
            except RemoteError as error:
                if error.reason != "unanswered" or at == before or not rest:
                    raise

    def _open_at(self, at: int) -> Stream:
        def use(storage: Any, _: str) -> Stream:
            return Stream(storage, self.path, at, self._end)

        return with_retries(lambda: on_storage(self.root, use))


def _look(left: int) -> int:
    return left if left <= SMALL else HEAD


def _cut(piece: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(piece), size):
        yield piece[start : start + size]
