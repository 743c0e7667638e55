"""Whether another machine sees the same file: a path means little elsewhere."""

from __future__ import annotations

import os
from typing import Literal

from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.sources.remote.url import scheme_of

Sighting = tuple[int, int] | Literal["anywhere", "here"]
"""Size and time of a file on disk, or where else it can be had."""


def sighting_of(source: Source) -> Sighting:
    origin = source.origin
    if isinstance(origin, Memory):
        return "anywhere"
    if not isinstance(origin, Disk):
        return "here" if scheme_of(origin.root) == "memory" else "anywhere"
    try:
        found = os.stat(origin.path)
    except OSError:
        return "here"  # gone: whoever reads it notes why
    return found.st_size, found.st_mtime_ns


def seen_alike(source: Source, sighting: Sighting) -> bool:
    """Shared storage shows the same size and time everywhere; numbers of inodes differ."""
    return sighting == "anywhere" or (sighting != "here" and sighting_of(source) == sighting)
