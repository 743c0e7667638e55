"""What tells one content of a log from another, without reading all of it."""

from __future__ import annotations

import hashlib
import os
import time
from functools import cached_property, lru_cache
from pathlib import Path

import pdtriage
from pdtriage.scan import Engine
from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.support import cache

WORTH_KEEPING = 8 << 20
"""Bytes of a local file; reading less is hardly slower than looking it up."""
WORTH_KEEPING_PACKED = 1 << 20
ENDS = 4 << 10
SLOWEST_TICK = 2.0
"""Seconds: a file changed twice in one tick of the clock of its file system looks unchanged."""
_CODE = ("support", "model", "knowledge", "sources", "scan", "reading")


class Keys:
    """Under what the facts of a source are kept, with the signatures of this engine."""

    def __init__(self, engine: Engine) -> None:
        self._knowledge = engine.knowledge

    def of(self, source: Source) -> str | None:
        """None where keeping is not worth it, or where nothing tells that the content changed."""
        content = _content(source)
        if content is None:
            return None
        how = repr((source.file, source.layers, source.limits))
        return cache.key_of(content, _bytes(how), _tool(), self._signatures)

    @cached_property
    def _signatures(self) -> bytes:
        return hashlib.sha256(_bytes(repr(self._knowledge))).digest()


def _content(source: Source) -> bytes | None:
    origin = source.origin
    if isinstance(origin, Disk):
        size = source.file.size
        if size is None:
            return _of_file(origin, WORTH_KEEPING_PACKED)
        return _of_file(origin, WORTH_KEEPING) if size >= WORTH_KEEPING else None
    if isinstance(origin, Memory):
        if len(origin.content) < WORTH_KEEPING_PACKED:
            return None
        return b"memory " + hashlib.sha256(origin.content).digest()
    if origin.version is None or origin.size is None or _just_changed(origin.modified):
        return None
    place = (origin.public, origin.version, origin.size, origin.offset, origin.length)
    return b"remote " + _bytes(repr(place))


def _of_file(origin: Disk, worth: int) -> bytes | None:
    try:
        with open(origin.path, "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            size = found.st_size if origin.length is None else min(found.st_size, origin.length)
            if size < worth or _just_changed(found.st_mtime):
                return None
            head = file.read(ENDS)
            file.seek(-ENDS, os.SEEK_END)
            tail = file.read(ENDS)
    except OSError:
        return None
    place = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return _bytes(repr((*place, origin.offset, origin.length))) + _digest(head, tail)


def _just_changed(modified: float | None) -> bool:
    return modified is not None and abs(time.time() - modified) < SLOWEST_TICK


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


@lru_cache(maxsize=1)
def _tool() -> bytes:
    """The version, and for those who work on it the state of its code."""
    told = [pdtriage.__version__]
    home = Path(__file__).resolve().parent.parent
    for name in _CODE:
        place = home / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found = file.stat()
            told.append(f"{file.name} {found.st_size} {found.st_mtime_ns}")
    return "\n".join(told).encode()
