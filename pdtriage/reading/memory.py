"""Facts of logs that were read before, kept in the user's cache folder by content.

A second look at a large archive reads what is new. An entry is found by what the file is (place,
size, time, the digest of both its ends; behind a URL its ETag or the like), how it is shown, the
signatures, and the version of this tool; any of them changed, it is not found. Entries hold lines
of logs, so the folder is the user's alone (0700), and entries of other users are not believed.
They are checked against the model: what is damaged or of another shape is read anew.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import pdtriage
from pdtriage.model import FileFacts
from pdtriage.reading.local import Mapper, Read, Tick
from pdtriage.scan import Engine
from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.sources.chained import ChainedSource
from pdtriage.support import cache
from pdtriage.support.regular_files import open_binary

SIZE_VARIABLE = "PDTRIAGE_CACHE_MB"
MOST_MEGABYTES = 1024
UNLIMITED = 1e9
"""Megabytes: more than anybody has, as `inf` is."""
WORTH_KEEPING = 8 << 20
"""Bytes of a local file; reading less is hardly slower than looking it up."""
WORTH_KEEPING_PACKED = 1 << 20
ENDS = 4 << 10
SLOWEST_TICK = 2.0
"""Seconds: a file changed twice in one tick of the clock of its file system looks unchanged."""
CODE = ("support", "model", "knowledge", "sources", "scan", "reading")
"""Rooms whose code the facts depend on."""
_SUFFIX = ".facts"
_MOST_UNPACKED = 256 << 20


def read_or_remember(
    sources: Sequence[Source], engine: Engine, tick: Tick, otherwise: Mapper
) -> Iterator[Read]:
    """What is known of the sources; the others are read by `otherwise`, and remembered."""
    room = _room()
    key_of = ContentKeys(engine).of
    keys = [key_of(source) for source in sources] if room else []
    if not any(keys):
        yield from otherwise(sources, engine, tick)
        return
    entries = _Entries(cache.folder() / "results", room)
    known = [entries.get(key, source) for key, source in zip(keys, sources, strict=True)]
    unknown = [source for source, facts in zip(sources, known, strict=True) if facts is None]
    read = otherwise(unknown, engine, tick)
    for source, key, facts in zip(sources, keys, known, strict=True):
        if facts is not None:
            yield facts, ()
            continue
        own, troubles = next(read)
        # What was read with difficulty is read again, and what changed meanwhile is not known.
        if key is not None and not troubles and key_of(source) == key:
            entries.put(key, own)
        yield own, troubles
    entries.tidy()


class _Entries:
    """The facts on disk. Nothing that goes wrong here costs more than time."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        self._room = room
        self._grown = False

    def get(self, key: str | None, source: Source) -> FileFacts | None:
        if key is None:
            return None
        from pdtriage.reading.codec import unpack_facts  # small folders do not wait for it

        path = self._path(key)
        stored = cache.own_content(path)
        body = None if stored is None else cache.unseal(stored, key)
        if body is None:
            return None
        try:
            [(facts, _)] = unpack_facts(_decompress(body), [source])
        except ValueError:
            return None
        return facts

    def put(self, key: str, facts: FileFacts) -> None:
        from pdtriage.reading.codec import pack_facts
        from pdtriage.support.zstd import zstd

        plain = pack_facts([(facts, ())])
        if plain is None:
            return
        body = zstd().compress(plain, level=3)
        if len(body) > self._room:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            os.chmod(self._folder, 0o700)  # lines of logs are in it, whatever the umask says
            cache.write_in_own_folder(self._path(key), cache.seal(body, key))
        except OSError:
            return  # a folder that cannot be written costs time, not results
        self._grown = True

    def tidy(self) -> None:
        """Remove entries until the rest fits; those not used for longest go first."""
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


def _decompress(body: bytes) -> bytes:
    from pdtriage.support.zstd import zstd

    stream = zstd().ZstdDecompressor()
    try:
        plain: bytes = stream.decompress(body, _MOST_UNPACKED)
    except zstd().ZstdError as error:
        raise ValueError("damaged") from error
    if not stream.eof:
        raise ValueError("damaged")
    return plain


def _room() -> int:
    """Bytes the entries may take; 0 where nothing is to be kept."""
    try:
        megabytes = float(os.environ.get(SIZE_VARIABLE) or MOST_MEGABYTES)
        return int(min(max(0.0, megabytes), UNLIMITED) * 1_000_000)
    except ValueError:
        return MOST_MEGABYTES * 1_000_000


class ContentKeys:
    """What tells one content of a log from another, without reading all of it.

    Part of it are the signatures of this engine and the version of this tool.
    """

    def __init__(self, engine: Engine) -> None:
        self._knowledge = engine.knowledge

    def of(self, source: Source) -> str | None:
        """None where keeping is not worth it, or where nothing tells that the content changed."""
        content = None if isinstance(source, ChainedSource) else _content(source)
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
    if origin.version is None or origin.size is None or _is_fresh(origin.modified):
        return None
    identity = (origin.public, origin.version, origin.size, origin.offset, origin.length)
    return b"remote " + _bytes(repr(identity))


def _of_file(origin: Disk, worth: int) -> bytes | None:
    try:
        with open_binary(origin.path, buffering=0) as file:
            found = os.fstat(file.fileno())
            size = found.st_size if origin.length is None else min(found.st_size, origin.length)
            if size < worth or _is_fresh(found.st_mtime):
                return None
            head = file.read(ENDS)
            file.seek(-ENDS, os.SEEK_END)
            tail = file.read(ENDS)
    except OSError:
        return None
    identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    ends = hashlib.sha256(head + tail).digest()
    return _bytes(repr((*identity, origin.offset, origin.length))) + ends


def _is_fresh(modified: float | None) -> bool:
    return modified is not None and abs(time.time() - modified) < SLOWEST_TICK


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=1)
def _tool() -> bytes:
    """The version of the tool, and for those who work on it the state of its code."""
    state = [pdtriage.__version__]
    home = Path(pdtriage.__file__).parent
    for room in CODE:
        for file in sorted((home / room).rglob("*.py")):
            found = file.stat()
            state.append(f"{file.name} {found.st_size} {found.st_mtime_ns}")
    return "\n".join(state).encode()
