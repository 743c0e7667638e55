"""Sources to facts, spread over the cores where that pays."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pdtriage.events import Engine, scan, side_facts
from pdtriage.events.sidefiles import MOST_BYTES
from pdtriage.launch.record import RunRecord, parse_record
from pdtriage.model import FileFacts, Text
from pdtriage.sources import Found, Source

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

SIDE_KINDS = frozenset({"endpoints", "pod", "env", "backup_env"})
UNREAD_KINDS = frozenset({"gpu", "other"})
WORTH_A_POOL = 24 << 20
"""Bytes; less is read before a second process has started."""
BATCH = 4 << 20
"""Bytes handed to a process at once: many small files travel together."""

Tick = Callable[[int, int], None]
Read = tuple[FileFacts, tuple[Text, ...]]

_engine: Engine | None = None  # inherited by the processes of a pool


def read_sources(
    found: Found,
    engine: Engine,
    known: Mapping[str, FileFacts] | None = None,
    tick: Tick | None = None,
) -> tuple[list[FileFacts], list[tuple[str, RunRecord]], list[Text]]:
    """The facts of every file, the run records with their folders, and what to note.

    `known` are the facts of files that were followed while they grew, by path; `tick` is told now
    and then how many bytes were read, of how many.
    """
    known = known or {}
    facts: list[FileFacts] = []
    records: list[tuple[str, RunRecord]] = []
    notes: list[Text] = []
    logs = [s for s in found.sources if _is_log(s) and s.file.path not in known]
    scanned = _scanned(logs, engine, tick or _untold)
    for source in found.sources:
        kind = source.file.kind
        if kind in UNREAD_KINDS:
            continue
        if source.file.path in known:
            facts.append(known[source.file.path])
        elif kind == "record":
            record = parse_record(source.read_small(MOST_BYTES), source.file.path)
            if record is not None:
                records.append((source.file.folder, record))
        elif kind in SIDE_KINDS:
            facts.append(side_facts(source.file, source.read_small(MOST_BYTES)))
        else:
            own, noted = next(scanned)
            facts.append(own)
            notes.extend(noted)
            continue
        notes.extend(source.notes())
    return facts, records, notes


def _is_log(source: Source) -> bool:
    return source.file.kind not in UNREAD_KINDS | SIDE_KINDS | {"record"}


def _untold(_done: int, _whole: int) -> None:
    pass


def _scanned(sources: Sequence[Source], engine: Engine, tick: Tick) -> Iterator[Read]:
    """In the order given, whoever read them."""
    whole = _size(sources)
    if whole < WORTH_A_POOL or len(sources) < 2 or not _may_fork():
        yield from _one_after_another(sources, engine, tick, 0, whole)
        return
    from concurrent.futures import BrokenExecutor  # small folders must not pay for a pool

    done = 0
    try:
        with _pool(engine) as pool:
            for batch in pool.map(_read_batch, _batches(sources)):
                yield from batch
                done += len(batch)
                tick(_size(sources[:done]), whole)
    except BrokenExecutor:  # somebody killed one of them; the files are still there
        yield from _one_after_another(sources[done:], engine, tick, _size(sources[:done]), whole)


def _one_after_another(
    sources: Sequence[Source], engine: Engine, tick: Tick, before: int, whole: int
) -> Iterator[Read]:
    for source in sources:
        yield scan(source.file, _told(source.chunks(), tick, before, whole), engine), source.notes()
        before += source.file.size or 0


def _told(pieces: Iterator[bytes], tick: Tick, done: int, whole: int) -> Iterator[bytes]:
    for piece in pieces:
        tick(done, whole)
        done += len(piece)
        yield piece


def _size(sources: Sequence[Source]) -> int:
    return sum(source.file.size or 0 for source in sources)


def _may_fork() -> bool:
    """A fork shares the engine; beside other threads, or elsewhere than on Linux, it may hang."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    return cores > 1 and threading.active_count() == 1


@contextmanager
def _pool(engine: Engine) -> Iterator[ProcessPoolExecutor]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _engine
    _engine = engine
    pool = ProcessPoolExecutor(
        len(os.sched_getaffinity(0)),
        multiprocessing.get_context("fork"),
        initializer=signal.signal,  # Ctrl-C is the parent's to answer
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield pool
    finally:
        _engine = None
        pool.shutdown(wait=False, cancel_futures=True)


def _batches(sources: Sequence[Source]) -> list[list[Source]]:
    batches: list[list[Source]] = []
    room = 0
    for source in sources:
        if room <= 0:
            batches.append([])
            room = BATCH
        batches[-1].append(source)
        room -= max(source.file.size or 0, 1 << 12)
    return batches


def _read_batch(sources: list[Source]) -> list[Read]:
    assert _engine is not None
    return [_read(source, _engine) for source in sources]


def _read(source: Source, engine: Engine) -> Read:
    return scan(source.file, source.chunks(), engine), source.notes()
