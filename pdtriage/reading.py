"""Sources to facts, spread over the cores where that pays."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pdtriage.events import Engine, scan, side_facts
from pdtriage.events.scanner import WORTH_A_THREAD
from pdtriage.events.sidefiles import MOST_BYTES
from pdtriage.launch.record import RunRecord, parse_record
from pdtriage.model import FileFacts, Text
from pdtriage.sources import Found, Source
from pdtriage.sources.ahead import fetched_ahead, is_remote

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

SIDE_KINDS = frozenset({"endpoints", "pod", "env", "backup_env", "k8s"})
UNREAD_KINDS = frozenset({"gpu", "other"})
WORTH_A_POOL = 24 << 20
"""Bytes; less is read before a second process has started."""
FILE_COSTS = 1 << 17
"""As much as so many bytes, however small it is."""
BATCH = 12 << 20
"""Bytes handed to a process at once: many small files travel together."""

Tick = Callable[[int, int], None]
Read = tuple[FileFacts, tuple[Text, ...]]
"""The facts of a file, and what went wrong while it was read."""
Mapper = Callable[[Sequence[Source], Engine, Tick], Iterator[Read]]
"""Reads files, in the order given; who does it, and where, is its own matter."""

CHUNK = 1 << 18
"""Bytes read at once: they are still in the processor's cache when they are scanned."""
LARGE_CHUNK = 2 << 20
"""The same where a second thread scans: each handing over costs as much as scanning 100 kB."""

KEPT = 16 << 20
"""glibc keeps freed memory up to the largest block it ever saw freed. Without this one, which is
never touched, the memory of each chunk is given back and comes again page by page: a third of the
time."""

_inherited: tuple[Sequence[Source], Engine] | None = None
"""What the processes of a pool have from the fork, so that nobody has to send it."""


def read_sources(
    found: Found,
    engine: Engine,
    known: Mapping[str, FileFacts] | None = None,
    tick: Tick | None = None,
    mapper: Mapper | None = None,
) -> tuple[list[FileFacts], list[tuple[str, RunRecord]], list[Text]]:
    """The facts of every file, the run records with their folders, and what to note.

    `known` are the facts of files that were followed while they grew, by path; `tick` is told now
    and then how many bytes were read, of how many. `mapper` reads the logs, this machine if None.
    """
    known = known or {}
    facts: list[FileFacts] = []
    records: list[tuple[str, RunRecord]] = []
    notes: list[Text] = []
    logs = [s for s in found.sources if _is_log(s) and s.file.path not in known]
    scanned = (mapper or read_here)(logs, engine, tick or _untold)
    small = fetched_ahead([s for s in found.sources if _is_small(s) and s.file.path not in known])
    for source in found.sources:
        kind = source.file.kind
        if kind in UNREAD_KINDS:
            continue
        if source.file.path in known:
            facts.append(known[source.file.path])
        elif kind == "record":
            source = next(small)
            record = parse_record(source.read_small(MOST_BYTES), source.file.path)
            if record is not None:
                records.append((source.file.folder, record))
        elif kind in SIDE_KINDS:
            source = next(small)
            facts.append(side_facts(source.file, source.read_small(MOST_BYTES)))
        else:
            own, noted = next(scanned)
            facts.append(own)
            notes.extend(noted)
            continue
        notes.extend(source.notes())
    return facts, records, notes


def _is_log(source: Source) -> bool:
    return source.file.kind not in UNREAD_KINDS and not _is_small(source)


def _is_small(source: Source) -> bool:
    return source.file.kind in SIDE_KINDS or source.file.kind == "record"


def _untold(_done: int, _whole: int) -> None:
    pass


def read_here(
    sources: Sequence[Source],
    engine: Engine,
    tick: Tick,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[Read]:
    """By this machine: in the order given, whichever of its processes read them.

    `meanwhile` is done while others of its processes read.
    """
    bytes(KEPT)
    whole = _size(sources)
    work = whole + len(sources) * FILE_COSTS
    alone = work < WORTH_A_POOL or len(sources) < 2 or not _may_fork()
    if alone or any(map(is_remote, sources)):  # a connection does not survive a fork
        yield from _one_after_another(sources, engine, tick, 0, whole)
        return
    from concurrent.futures import BrokenExecutor  # small folders must not pay for a pool

    done = size = 0
    batches = _batches(sources)
    try:
        with _pool(sources, engine) as pool:
            being_read = pool.map(_read_batch, batches)
            if meanwhile:
                meanwhile()
            for batch, read in zip(batches, being_read, strict=True):
                yield from read
                done += len(batch)
                size += _size(sources[batch.start : batch.stop])
                tick(size, whole)
    except BrokenExecutor:  # somebody killed one of them; the files are still there
        yield from _one_after_another(sources[done:], engine, tick, size, whole)


def _one_after_another(
    sources: Sequence[Source], engine: Engine, tick: Tick, before: int, whole: int
) -> Iterator[Read]:
    done = before

    def told(length: int) -> None:
        nonlocal done
        done += length
        tick(done, whole)

    for source in fetched_ahead(sources):
        done = before
        size = CHUNK if (source.file.size or 0) < WORTH_A_THREAD else LARGE_CHUNK
        yield scan(source.file, source.chunks(size), engine, told), source.notes()
        before += source.file.size or 0


def _size(sources: Sequence[Source]) -> int:
    return sum(source.file.size or 0 for source in sources)


def _may_fork() -> bool:
    """A fork shares the engine; beside other threads, or elsewhere than on Linux, it may hang."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    return cores > 1 and threading.active_count() == 1


@contextmanager
def _pool(sources: Sequence[Source], engine: Engine) -> Iterator[ProcessPoolExecutor]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _inherited
    _inherited = sources, engine
    pool = ProcessPoolExecutor(
        len(os.sched_getaffinity(0)),
        multiprocessing.get_context("fork"),
        initializer=_begin_to_read,
    )
    try:
        yield pool
    finally:
        _inherited = None
        pool.shutdown(wait=False, cancel_futures=True)


def _begin_to_read() -> None:
    """In a child: Ctrl-C is its parent's to answer, and what it has from there is not walked over.

    The collector would write to all of it, and so copy it. In the parent nothing may be frozen: to
    thaw it would also thaw what others have frozen.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()


def _batches(sources: Sequence[Source]) -> list[range]:
    """Places of files that are read together."""
    batches: list[range] = []
    first = room = 0
    for place, source in enumerate(sources):
        room += (source.file.size or 0) + FILE_COSTS
        if room >= BATCH:
            batches.append(range(first, place + 1))
            first, room = place + 1, 0
    return [*batches, range(first, len(sources))] if first < len(sources) else batches


def _read_batch(places: range) -> list[Read]:
    assert _inherited is not None
    sources, engine = _inherited
    return [read_one(sources[place], engine) for place in places]


def read_one(source: Source, engine: Engine) -> Read:
    return scan(source.file, source.chunks(CHUNK), engine), source.notes()
