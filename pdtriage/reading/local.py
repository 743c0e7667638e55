"""Sources to facts, spread over the cores where that pays."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import KINDS, FileFacts, Text, kinds_to
from pdtriage.scan import Engine, scan, side_facts
from pdtriage.scan.launcher_output import MOST_BYTES
from pdtriage.scan.scan_file import WORTH_A_THREAD, begin_scan
from pdtriage.sources import SearchResult, Source
from pdtriage.sources.chained import with_seams
from pdtriage.sources.notes import Notes, Trouble
from pdtriage.sources.read_ahead import has_remote, prefetch
from pdtriage.support.errors import assert_never

if TYPE_CHECKING:
    from pdtriage.model import LiveReport
    from pdtriage.record.schema import RunRecord

LOGS = kinds_to("scan")
SMALL_KINDS = kinds_to("parse", "record")
WORTH_READERS = 24 << 20
"""Bytes; less is read before other processes have warmed up."""
FILE_COSTS = 1 << 17
"""As much as so many bytes, however small it is."""
BATCH = 4 << 20
"""Bytes handed to a process at once: many small files travel together …"""
MOST_BATCHES = 4096
"""… and all the more where there is very much to do."""

Tick = Callable[[int, int], None]
Read = tuple[FileFacts, tuple[Trouble, ...]]
"""The facts of a file, and what went wrong while it was read."""
Mapper = Callable[[Sequence[Source], Engine, Tick], Iterator[Read]]
"""Reads files, in the order given; who does it, and where, is its own matter."""

CHUNK = 1 << 18
"""Bytes read at once: they are still in the processor's cache when they are scanned."""
WHOLE = 1 << 20
"""But a file up to this size is read in one: it need not be put together again."""
LARGE_CHUNK = 2 << 20
"""The same where a second thread scans: each handing over costs as much as scanning 100 kB."""

KEPT = 16 << 20
"""glibc keeps freed memory up to the largest block it ever saw freed. Without this one, which is
never touched, the memory of each chunk is given back and comes again page by page: a third of the
time."""


def read_sources(
    found: SearchResult,
    engine: Engine,
    known: Mapping[str, FileFacts] | None = None,
    tick: Tick | None = None,
    mapper: Mapper | None = None,
) -> tuple[list[FileFacts], list[tuple[str, RunRecord]], tuple[Text, ...]]:
    """The facts of every file, the run records with their folders, and what to note.

    `known` are the facts of files that were followed while they grew, by path; `tick` is told now
    and then how many bytes were read, of how many. `mapper` reads the logs, this machine if None.
    """
    known = known or {}
    facts: list[FileFacts] = []
    records: list[tuple[str, RunRecord]] = []
    reports: list[tuple[str, LiveReport]] = []
    notes = Notes()
    unknown = [s for s in found.sources if s.file.path not in known] if known else found.sources
    logs = [s for s in unknown if s.file.kind in LOGS]
    scanned = (mapper or read_here)(logs, engine, tick or _ignore)
    small = prefetch([s for s in unknown if s.file.kind in SMALL_KINDS])
    for source in found.sources:
        file = source.file
        reading = KINDS[file.kind].reading
        if file.path in known:
            facts.append(known[file.path])
        elif reading == "scan":
            own, troubles = next(scanned)
            facts.append(own)
            notes.extend(troubles)
            continue
        elif reading == "record":
            from pdtriage.record.reader import parse_record  # others' jobs have none

            source = next(small)
            content = source.read_small(MOST_BYTES)
            if file.kind == "report":
                from pdtriage.record.live_report import parse_live_report

                report = parse_live_report(content)
                if report is not None:
                    reports.append((file.folder, report))
            elif (record := parse_record(content, file.path)) is not None:
                records.append((file.folder, record))
        elif reading == "parse":
            source = next(small)
            facts.append(side_facts(file, source.read_small(MOST_BYTES)))
        elif reading != "skip":
            assert_never(reading)
        notes.extend(source.troubles)
    if reports and records:
        from pdtriage.record.live_report import with_live_reports

        records = with_live_reports(records, reports)
    return facts, records, notes.texts()


def _ignore(_done: int, _whole: int) -> None:
    pass


def read_here(
    sources: Sequence[Source],
    engine: Engine,
    tick: Tick,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[Read]:
    """Reads logs on this machine, in the order given, whichever of its processes read them.

    `meanwhile` is done while others of its processes read.
    """
    bytes(KEPT)
    whole = _size(sources)
    work = whole + len(sources) * FILE_COSTS
    alone = work < WORTH_READERS or len(sources) < 2 or not _may_fork()
    if alone or has_remote(sources):  # a connection does not survive a fork
        yield from _one_after_another(sources, engine, tick, 0, whole)
        return
    from pdtriage.reading.codec import (
        pack_facts,
        unpack_facts,
    )  # small folders must not wait for it
    from pdtriage.reading.forked import spread

    batches = _batches(sources, max(BATCH, work // MOST_BATCHES))

    def read_batch(number: int) -> bytes | None:
        batch = batches[number]
        scans = [begin_scan(source.file, source.chunks(_chunk(source)), engine) for source in batch]
        return pack_facts(
            (with_seams(end(), source), source.troubles)
            for end, source in zip(scans, batch, strict=True)
        )

    done = 0
    several = spread(read_batch, len(batches), _cores(), meanwhile)
    for batch, facts in zip(batches, several, strict=True):
        if facts is None:  # they cannot be sent
            yield from (read_one(source, engine) for source in batch)
        else:
            yield from unpack_facts(facts, batch)
        done += _size(batch)
        tick(done, whole)


def _one_after_another(
    sources: Sequence[Source], engine: Engine, tick: Tick, before: int, whole: int
) -> Iterator[Read]:
    done = before

    def count(length: int) -> None:
        nonlocal done
        done += length
        tick(done, whole)

    for source in prefetch(sources):
        done = before
        size = _chunk(source) if (source.file.size or 0) < WORTH_A_THREAD else LARGE_CHUNK
        facts = scan(source.file, source.chunks(size), engine, count)
        yield with_seams(facts, source), source.troubles
        before += source.file.size or 0


def _size(sources: Sequence[Source]) -> int:
    return sum(source.file.size or 0 for source in sources)


def _cores() -> int:
    """How many cores this process may use where a fork is safe: on other systems libraries forbid
    it."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _may_fork() -> bool:
    """A fork shares the engine; beside other threads it may hang."""
    threads = sys.modules.get("threading")  # where nobody imported it, nobody started one
    return _cores() > 1 and (threads is None or threads.active_count() == 1)


def _batches(sources: Sequence[Source], least: int) -> list[Sequence[Source]]:
    """Files that are read together; but for the last few they are worth `least` bytes."""
    batches: list[Sequence[Source]] = []
    first = room = 0
    for place, source in enumerate(sources, 1):
        size = source.file.size
        room += (WHOLE if size is None else size) + FILE_COSTS  # that much is held of a packed one
        if room >= least or place == len(sources):
            batches.append(sources[first:place])
            first, room = place, 0
    return batches


def read_one(source: Source, engine: Engine) -> Read:
    facts = scan(source.file, source.chunks(_chunk(source)), engine)
    return with_seams(facts, source), source.troubles


def _chunk(source: Source) -> int:
    size = source.file.size
    return WHOLE if size is not None and size <= WHOLE else CHUNK
