"""A remote file read front to back, for servers that may not give parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pdtriage.sources.remote.backends import reason_of
from pdtriage.sources.remote.url import RemoteError

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
    """What breaks off here cannot be read again, only begun anew by the caller."""
    try:
        return bytes(file.read(PIECE))
    except Exception as error:  # backends raise what they like
        reason, told = reason_of(error), type(error).__name__
    raise RemoteError(reason, told)
