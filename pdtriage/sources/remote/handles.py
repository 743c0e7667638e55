"""Remote files as they are opened: front to back where a server gives no parts, or to seek in."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pdtriage.sources.remote.backends import reason_of
from pdtriage.sources.remote.url import RemoteError

if TYPE_CHECKING:
    from pdtriage.sources.remote.origin import Remote

PIECE = 1 << 20


class Stream:
    """One answer of a server, from some byte on; opening it waits for its first bytes."""

    def __init__(self, storage: Any, path: str, begin: int, end: int | None) -> None:
        self._left = None if end is None else end - begin
        if "http" in storage.protocol:
            headers = dict(storage.kwargs.get("headers", {}))
            if begin:
                headers["Range"] = f"bytes={begin}-"
            self._file = storage.open(path, size=1, block_size=0, headers=headers)
            skip = begin if getattr(self._file.r, "status", 206) == 200 else 0
        else:
            self._file = storage.open(path, "rb", block_size=PIECE)
            self._file.seek(begin)
            skip = 0
        try:
            while skip > 0 and (unwanted := self._file.read(min(PIECE, skip))):
                skip -= len(unwanted)
            self._first = self._file.read(PIECE)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        piece = self._first
        while piece and (self._left is None or self._left > 0):
            wanted = piece if self._left is None else piece[: self._left]
            self._left = None if self._left is None else self._left - len(wanted)
            yield bytes(wanted)
            piece = _read(self._file)


def _read(file: Any) -> bytes:
    """Reads on; what breaks off here can only be begun anew by the caller."""
    try:
        return bytes(file.read(PIECE))
    except Exception as error:  # backends raise what they like
        reason, told = reason_of(error), type(error).__name__
    raise RemoteError(reason, told)


class RemoteFile(io.RawIOBase):
    """A remote file to list an archive's members from: only the blocks around them are fetched."""

    _BLOCK = 256 << 10
    _MOST = 64

    def __init__(self, origin: Remote, size: int) -> None:
        self._origin = origin
        self._size = size
        self._at = 0
        self._cached: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        parts: list[bytes] = []
        while self._at < end:
            block = self._block(self._at // self._BLOCK)
            part = block[self._at % self._BLOCK :][: end - self._at]
            if not part:
                break
            parts.append(part)
            self._at += len(part)
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        if number not in self._cached:
            begin = number * self._BLOCK
            end = min(self._size, begin + self._BLOCK)
            self._cached[number] = b"".join(
                self._origin.part(begin, end - begin).pieces(self._BLOCK)
            )
            if len(self._cached) > self._MOST:
                self._cached.popitem(last=False)
        self._cached.move_to_end(number)
        return self._cached[number]
