"""A remote file to seek in."""

from __future__ import annotations

import io
from collections import OrderedDict

from pdtriage.sources.remote.origin import BLOCK, Remote


class RemoteFile(io.RawIOBase):
    """For the list of members of a large archive: only the blocks around them are fetched."""

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
            self._cached[number] = b"".join(self._origin.part(begin, end - begin).pieces(BLOCK))
            if len(self._cached) > self._MOST:
                self._cached.popitem(last=False)
        self._cached.move_to_end(number)
        return self._cached[number]
