"""Holding content in memory, small: log text shrinks to a tenth, faster than a disk would read."""

from __future__ import annotations

from collections.abc import Iterable


class Room:
    """Memory left for content that is held, over all archives of one search."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


def packed(pieces: Iterable[bytes], most: int) -> tuple[bytes, bool]:
    """The pieces as one zstd frame of about `most` bytes at most, and whether all went in."""
    import zstandard

    stream = zstandard.ZstdCompressor(level=1).compressobj()
    kept: list[bytes] = []
    length = 0
    complete = True
    for piece in pieces:
        kept.append(stream.compress(piece))
        length += len(kept[-1])
        if length > most:
            complete = False
            break
    kept.append(stream.flush())
    return b"".join(kept), complete
