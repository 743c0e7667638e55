"""Beginnings of remote files, kept between the look at a file and its reading."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from pdtriage.sources.remote.backends import awaited

KEPT = 64 << 20
"""Bytes kept over all files of one search."""

Place = tuple[str, str, int]
"""Where to connect, the file there, and an offset in it."""


class Kept:
    """What was fetched and not yet used up. Stays in its process: others fetch for themselves."""

    def __init__(self, room: int = KEPT) -> None:
        self._room = room
        self._heads: dict[Place, bytes] = {}
        self._coming: dict[Place, Future[bytes]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()

    def look(self, place: Place) -> bytes:
        coming = self._coming.pop(place, None)
        if coming is not None:
            self.keep(place, awaited(coming))
        return self._heads.get(place, b"")

    def take(self, place: Place) -> bytes:
        """The same; from now on it is the reader's."""
        coming = self._coming.pop(place, None)
        with self._lock:
            head = self._heads.pop(place, b"")
            self._room += len(head)
        return head or (b"" if coming is None else awaited(coming))

    def keep(self, place: Place, head: bytes) -> None:
        with self._lock:
            grown = len(head) - len(self._heads.get(place, b""))
            if 0 < grown <= self._room:
                self._room -= grown
                self._heads[place] = head

    def expect(self, place: Place, coming: Future[bytes]) -> None:
        self._coming[place] = coming

    def has(self, place: Place) -> bool:
        return place in self._coming or place in self._heads
