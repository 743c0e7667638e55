"""Reads run records: never raises on what it reads, because a log folder may hold anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

from pdtriage.record.builder import RunRecordBuilder
from pdtriage.record.fields import Json, count, mapping, number, text, text_map, whole
from pdtriage.record.schema import (
    FOLDER,
    DeathRecord,
    PeerRecord,
    ProcessRecord,
    RestartRecord,
    RunRecord,
    SignalRecord,
    record_number,
)
from pdtriage.support.language import Text
from pdtriage.support.regular_files import open_binary

MAX_BYTES = 32 << 20
MOST_CARD_EVENTS = 256
_LONGEST_HOST = 256


def read_records(folder: str | os.PathLike[str]) -> list[RunRecord]:
    """All records of a log folder (or of its `pdtriage/`), oldest first."""
    base = os.path.realpath(folder)
    inner = os.path.join(base, FOLDER)
    records = []
    for path in _record_files(inner if os.path.isdir(inner) else base):
        try:
            with open_binary(path) as stream:
                content = stream.read(MAX_BYTES + 1)
        except OSError as error:
            name = os.path.basename(path)
            note = Text(f"{name}: {error.strerror}", f"{name}：{error.strerror}")
            records.append(RunRecord(path, record_number(name) or 0, notes=(note,)))
            continue
        record = parse_record(content, path)
        if record is not None:
            records.append(record)
    return records


def parse_record(content: bytes, file: str) -> RunRecord | None:
    """The record in `content`; None when there is not a single usable line."""
    builder = RunRecordBuilder()
    builder.size = len(content)
    if len(content) > MAX_BYTES:
        content = content[:MAX_BYTES]
        builder.notes.append(
            Text(
                f"only the first {MAX_BYTES >> 20} MB of the run record were read",
                f"运行记录只读取了前 {MAX_BYTES >> 20} MB",
            )
        )
    useful = False
    for entry in _entries(content, builder.notes):
        kind = entry.get("kind")
        add = _KINDS.get(kind) if isinstance(kind, str) else None
        if add is not None:
            add(builder, entry)
            useful = True
    return builder.record(file) if useful else None


def _record_files(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    numbered = [(number, name) for name in names if (number := record_number(name)) is not None]
    return [os.path.join(folder, name) for _, name in sorted(numbered)]


def _entries(content: bytes, notes: list[Text]) -> Iterator[dict[str, object]]:
    torn = 0
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            torn += 1
            continue
        if isinstance(entry, dict):
            yield entry
        else:
            torn += 1
    if torn:
        notes.append(
            Text(
                f"{torn} line(s) of the run record could not be read",
                f"运行记录中有 {torn} 行无法读取",
            )
        )


def _launch(builder: RunRecordBuilder, entry: Json) -> None:
    builder.head.update(entry)


def _start(builder: RunRecordBuilder, entry: Json) -> None:
    pid = count(entry, "pid")
    if pid is None:
        return
    builder.processes.append(
        ProcessRecord(
            role=text(entry, "role") or "worker",
            rank=count(entry, "rank"),
            local_rank=count(entry, "local_rank"),
            device=text(entry, "device") or None,
            endpoint=text(entry, "endpoint") or None,
            pid=pid,
            log=text(entry, "log") or None,
            offset=count(entry, "offset") or 0,
            started=number(entry, "time") or 0.0,
            monotonic=number(entry, "monotonic") or 0.0,
            attempt=count(entry, "attempt") or 0,
        )
    )


def _death(builder: RunRecordBuilder, entry: Json) -> None:
    pid = count(entry, "pid")
    if pid is None:
        return
    order = count(entry, "order")
    builder.deaths.append(
        DeathRecord(
            order=len(builder.deaths) if order is None else order,
            role=text(entry, "role") or "worker",
            rank=count(entry, "rank"),
            local_rank=count(entry, "local_rank"),
            pid=pid,
            time=number(entry, "time") or 0.0,
            monotonic=number(entry, "monotonic") or 0.0,
            code=whole(entry, "code"),
            signal=whole(entry, "signal"),
            core=entry.get("core") is True,
            stopped=entry.get("stopped") is True,
            user_seconds=number(entry, "user_seconds"),
            system_seconds=number(entry, "system_seconds"),
            max_rss_kb=whole(entry, "max_rss_kb"),
            for_memory=told if isinstance(told := entry.get("for_memory"), bool) else None,
            memory_limit_kb=count(entry, "memory_limit_kb"),
            memory_peak_kb=count(entry, "memory_peak_kb"),
            memory_peak_before_kb=count(entry, "memory_peak_before_kb"),
        )
    )


def _signal(builder: RunRecordBuilder, entry: Json) -> None:
    pid, number_sent = count(entry, "pid"), whole(entry, "signal")
    if pid is None or number_sent is None:
        return
    builder.signals.append(
        SignalRecord(
            pid=pid,
            rank=count(entry, "rank"),
            signal=number_sent,
            reason=text(entry, "reason"),
            time=number(entry, "time") or 0.0,
            monotonic=number(entry, "monotonic") or 0.0,
        )
    )


def _peer(builder: RunRecordBuilder, entry: Json) -> None:
    from pdtriage.record.peer_facts import decode_facts  # one node has no peers

    node = count(entry, "node")
    if node is None:
        return
    builder.peers.append(
        PeerRecord(
            node=node,
            kind=text(entry, "what"),
            time=number(entry, "time") or 0.0,
            silent_seconds=number(entry, "silent_seconds"),
            facts=decode_facts(mapping(entry, "facts")),
            hearsay=entry.get("hearsay") is True,
            host=text(entry, "host")[:_LONGEST_HOST],
        )
    )


def _note(builder: RunRecordBuilder, entry: Json) -> None:
    builder.notes.append(_both(entry))


def _silence(builder: RunRecordBuilder, entry: Json) -> None:
    builder.silence = _both(entry)


def _stacks(builder: RunRecordBuilder, entry: Json) -> None:
    from pdtriage.record.stack_codec import read_standstill  # most jobs move

    builder.standstill = read_standstill(entry).with_stacks_of(builder.standstill)


def _card(builder: RunRecordBuilder, entry: Json) -> None:
    from pdtriage.model.logs import CARD_TROUBLES, CardEvent  # most cards are well

    what, device = text(entry, "what"), text(entry, "device")
    if what in CARD_TROUBLES and device and len(builder.cards) < MOST_CARD_EVENTS:
        moment, value = number(entry, "time") or 0.0, count(entry, "number") or 0
        builder.cards.append(CardEvent(moment, device, CARD_TROUBLES[what], value))


def _both(entry: Json) -> Text:
    english = text(entry, "text")
    return Text(english, text(entry, "zh") or english)


def _size(builder: RunRecordBuilder, entry: Json) -> None:
    pid = count(entry, "pid")
    if pid is not None:
        builder.sizes[pid] = count(entry, "bytes") or 0


def _restart(builder: RunRecordBuilder, entry: Json) -> None:
    why = text_map(entry, "why")
    english = why.get("en", "")
    builder.restart = RestartRecord(
        entry.get("again") is True, Text(english, why.get("zh", english))
    )


def _end(builder: RunRecordBuilder, entry: Json) -> None:
    builder.end = entry


_KINDS: dict[str, Callable[[RunRecordBuilder, Json], None]] = {
    "launch": _launch,
    "start": _start,
    "death": _death,
    "signal": _signal,
    "peer": _peer,
    "note": _note,
    "silence": _silence,
    "stacks": _stacks,
    "card": _card,
    "size": _size,
    "restart": _restart,
    "end": _end,
    "guardian": _end,
}
