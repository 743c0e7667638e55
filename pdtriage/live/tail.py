"""One growing file, read from where it was left."""

from __future__ import annotations

import os

MOST = 1 << 18


class Tail:
    """Reads what was appended since the last time, whatever becomes of the file.

    A file that shrinks or is replaced by another of the same name begins anew: `generation` counts
    these beginnings, and `position` is the place in the present one.
    """

    def __init__(self, path: str, position: int = 0) -> None:
        self.path = path
        self.position = position
        self.generation = 0
        self._descriptor: int | None = None
        self._replaced = False

    def read(self, most: int = MOST) -> bytes:
        """The next bytes; empty when there are none now, or no file yet."""
        if self._descriptor is None and not self._open():
            return b""
        assert self._descriptor is not None
        chunk = os.pread(self._descriptor, most, self.position)
        if not chunk:
            chunk = self._begin_anew(most)
        self.position += len(chunk)
        return chunk

    def look(self) -> None:
        """See whether the name still means this file; an old one is read to its end first."""
        if self._descriptor is None:
            return
        try:
            now = os.stat(self.path)
        except OSError:
            return  # moved away; perhaps a new one comes
        old = os.fstat(self._descriptor)
        self._replaced = (now.st_dev, now.st_ino) != (old.st_dev, old.st_ino)

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> bool:
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return False
        return True

    def _begin_anew(self, most: int) -> bytes:
        assert self._descriptor is not None
        if self._replaced:
            self.close()
            self._replaced = False
            if not self._open():
                return b""
        elif os.fstat(self._descriptor).st_size >= self.position:
            return b""
        self.generation += 1
        self.position = 0
        return os.pread(self._descriptor, most, 0)
