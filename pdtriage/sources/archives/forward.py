"""A file that is only read forward, for an archive that is unpacked while it is read."""

from __future__ import annotations

import io
from collections.abc import Iterator

from pdtriage.sources.limits import HEAD


class Forward(io.RawIOBase):
    """Pieces as a file with `tell` and `seek`; one step back is all that tarfile ever asks for."""

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
        """As many bytes as asked for, fewer only at the end."""
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
