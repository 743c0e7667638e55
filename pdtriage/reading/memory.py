"""Facts of logs that were read before, kept in the user's cache folder by content.

A second look at a large archive reads what is new. An entry is found by what the file is (place,
size, time, the digest of both its ends; behind a URL its ETag or the like), how it is shown, the
signatures, and the version of this tool; any of them changed, it is not found. Entries hold lines
of logs, so the folder is the user's alone (0700), and entries of other users are not believed.
They are JSON, checked against the model: what is damaged or of another shape is read anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pdtriage.model import FileFacts
from pdtriage.reading.content_key import Keys
from pdtriage.reading.local import Mapper, Read, Tick
from pdtriage.scan import Engine
from pdtriage.sources import Source
from pdtriage.support import cache

SIZE_VARIABLE = "PDTRIAGE_CACHE_MB"
MOST_MEGABYTES = 1024
UNLIMITED = 1e9
"""Megabytes: more than anybody has, as `inf` is."""
_SUFFIX = ".facts"


def read_or_remember(
    sources: Sequence[Source], engine: Engine, tick: Tick, otherwise: Mapper
) -> Iterator[Read]:
    """What is known of the sources; the others are read by `otherwise`, and remembered."""
    room = _room()
    key_of = Keys(engine).of
    keys = [key_of(source) for source in sources] if room else []
    if not any(keys):
        yield from otherwise(sources, engine, tick)
        return
    shelf = _Shelf(cache.folder() / "results", room)
    known = [shelf.get(key, source) for key, source in zip(keys, sources, strict=True)]
    unknown = [source for source, facts in zip(sources, known, strict=True) if facts is None]
    read = otherwise(unknown, engine, tick)
    for source, key, facts in zip(sources, keys, known, strict=True):
        if facts is not None:
            yield facts, ()
            continue
        own, notes = next(read)
        # What was read with difficulty is read again, and what changed meanwhile is not known.
        if key is not None and not notes and key_of(source) == key:
            shelf.put(key, own)
        yield own, notes
    shelf.tidy()


class _Shelf:
    """The entries on disk. Nothing that goes wrong here costs more than time."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        self._room = room
        self._grown = False

    def get(self, key: str | None, source: Source) -> FileFacts | None:
        if key is None:
            return None
        from pdtriage.reading.plain import from_plain  # small folders do not wait for it

        path = self._path(key)
        try:
            if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
                return None
            body = cache.unsealed(path.read_bytes(), key)
            if body is None:
                return None
            facts = from_plain(FileFacts, json.loads(_unpacked(body)))
            os.utime(path)  # what is used stays
        except (OSError, ValueError, RecursionError):
            return None
        return facts if facts.file == source.file else None

    def put(self, key: str, facts: FileFacts) -> None:
        import zstandard

        from pdtriage.reading.plain import plain

        text = json.dumps(plain(facts), separators=(",", ":")).encode()
        body = zstandard.ZstdCompressor(level=3).compress(text)
        if len(body) > self._room:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            os.chmod(self._folder, 0o700)  # lines of logs are in it, whatever the umask says
            cache.write(self._path(key), cache.sealed(body, key))
        except OSError:
            return  # a folder that cannot be written costs time, not results
        self._grown = True

    def tidy(self) -> None:
        """Those not used for longest go first."""
        if not self._grown:
            return
        try:
            entries = [(path, path.stat()) for path in self._folder.glob(f"*/*{_SUFFIX}")]
        except OSError:
            return
        left = sum(found.st_size for _, found in entries)
        for path, found in sorted(entries, key=lambda entry: entry[1].st_mtime):
            if left <= self._room:
                return
            try:
                path.unlink(missing_ok=True)
            except OSError:
                return
            left -= found.st_size

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / (key + _SUFFIX)


_MOST_UNPACKED = 256 << 20


def _unpacked(body: bytes) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(body, max_output_size=_MOST_UNPACKED)
    except zstandard.ZstdError as error:
        raise ValueError("damaged") from error


def _room() -> int:
    """Bytes the entries may take; 0 where nothing is to be kept."""
    try:
        told = float(os.environ.get(SIZE_VARIABLE) or MOST_MEGABYTES)
        return int(min(max(0.0, told), UNLIMITED) * 1_000_000)
    except ValueError:
        return MOST_MEGABYTES * 1_000_000
