"""Parts of a log, read anew within a budget: all of it, or its beginning and its end."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdtriage.sources import Source
from pdtriage.sources.archives.compressed import DamagedError
from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.support.regular_files import open_binary

if TYPE_CHECKING:
    from pdtriage.sources.remote.origin import Remote

STREAMED = 256 << 20
"""Bytes of a packed log that are unpacked at most to get to the end of a part."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines, one after another."""

    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Stretches:
    parts: tuple[Stretch, ...]
    whole: bool
    """Nothing between them was left out, and nothing behind them."""


class OutOfReachError(Exception):
    """A log behind a URL that is not read a second time."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


def stretches_of(source: Source, begin: int, end: int | None, most: int) -> Stretches:
    """A quarter of `most` from the beginning, the rest before the end, where it is longer.

    OutOfReachError where the log is behind a URL and the storage does not give that much again.
    """
    if not isinstance(source.origin, (Disk, Memory)):
        return _of_remote(source, source.origin, begin, end, most)
    path = source.plain
    try:
        return _of_file(path, begin, end, most) if path else _of_stream(source, begin, end, most)
    except OSError:  # it has gone since it was analysed, and the report says so already
        return Stretches((), whole=False)


def _of_remote(source: Source, origin: Remote, begin: int, end: int | None, most: int) -> Stretches:
    """A network is asked for no more than is compared."""
    size = origin.size if origin.length is None else origin.length
    if size is None:
        raise OutOfReachError(source.file.path)
    if size <= most:
        read = _of_stream(source, begin, end, most)
        if source.troubles:
            raise OutOfReachError(source.file.path)
        return read
    if source.layers or not origin.is_unpacked():
        raise OutOfReachError(source.file.path)

    def part(start: int, stop: int) -> bytes:
        return b"".join(origin.part(start, max(0, stop - start)).pieces(1 << 20))

    try:
        return _parts(part, begin, size if end is None else min(end, size), most)
    except (OSError, DamagedError) as error:
        raise OutOfReachError(source.file.path) from error


def _of_file(path: str, begin: int, end: int | None, most: int) -> Stretches:
    with open_binary(path) as file:
        size = os.fstat(file.fileno()).st_size
        end = size if end is None else min(end, size)

        def read(start: int, stop: int) -> bytes:
            file.seek(start)
            return file.read(max(0, stop - start))

        return _parts(read, begin, end, most)


def _parts(read: Callable[[int, int], bytes], begin: int, end: int, most: int) -> Stretches:
    if end - begin <= most:
        return Stretches((Stretch(begin, read(begin, end)),), whole=True)
    head = read(begin, begin + most // 4)
    start = end - (most - most // 4)
    return _two(begin, head, start, read(start, end))


def _of_stream(source: Source, begin: int, end: int | None, most: int) -> Stretches:
    head = b""
    recent: deque[bytes] = deque()
    held, position, complete = 0, 0, True
    for piece in _between(source, begin, end):
        if position > STREAMED:
            complete = False
            break
        position += len(piece)
        taken = piece[: max(0, most // 4 - len(head))]
        head += taken
        recent.append(piece[len(taken) :])
        held += len(recent[-1])
        while held - len(recent[0]) > most - most // 4:
            held -= len(recent.popleft())
            complete = False
    tail = b"".join(recent)
    if complete:
        return Stretches((Stretch(begin, head + tail),), whole=True)
    return _two(begin, head, begin + position - len(tail), tail)


def _between(source: Source, begin: int, end: int | None) -> Iterator[bytes]:
    at = 0
    for piece in source.chunks():
        wanted = piece[max(0, begin - at) : None if end is None else max(0, end - at)]
        at += len(piece)
        if wanted:
            yield wanted
        if end is not None and at >= end:
            return


def _two(begin: int, head: bytes, start: int, tail: bytes) -> Stretches:
    """The beginning and the end, without the lines that the gap cuts in two."""
    head = head[: head.rfind(b"\n") + 1]
    skipped = tail.find(b"\n") + 1
    parts = (Stretch(begin, head), Stretch(start + skipped, tail[skipped:]))
    return Stretches(parts, whole=False)
