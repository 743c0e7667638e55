"""From the lines of a run record to its named tuples, believing nothing about the input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isfinite

from pdtriage.record.schema import (
    DeathRecord,
    PeerRecord,
    ProcessRecord,
    RestartRecord,
    RunRecord,
    SignalRecord,
)
from pdtriage.support.language import Text

MOST = 1 << 53
"""A larger number is none that anybody counted, and not every reader of JSON takes it."""


class RecordLines:
    """Gathers the lines of one record."""

    def __init__(self) -> None:
        self.useful = False
        self.head: dict[str, object] = {}
        self.end: dict[str, object] = {}
        self.processes: list[ProcessRecord] = []
        self.sizes: dict[int, int] = {}
        self.deaths: list[DeathRecord] = []
        self.signals: list[SignalRecord] = []
        self.peers: list[PeerRecord] = []
        self.restart: RestartRecord | None = None
        self.notes: list[Text] = []
        self.silence = Text("", "")
        """The last one: a job may have come out of those before."""

    def read(self, content: bytes) -> None:
        for entry in _entries(content, self.notes):
            self._take(entry)

    def record(self, file: str, number: int) -> RunRecord:
        head, end = self.head, self.end
        processes = tuple(
            _with_size(process, self.sizes.get(process.pid)) for process in self.processes
        )
        return RunRecord(
            file=file,
            number=number,
            launch=_text(head, "launch"),
            attempt=_count(head, "attempt") or 0,
            started=_number(head, "started"),
            argv=_texts(head, "argv"),
            cwd=_text(head, "cwd"),
            pid=_count(head, "pid"),
            guardian_pid=_count(head, "guardian_pid"),
            host=_text(head, "host"),
            address=_text(head, "address"),
            node_rank=_count(head, "node_rank") or 0,
            nnodes=_count(head, "nnodes") or 1,
            pod=_text(head, "pod"),
            job=_text(head, "job"),
            mode=_text(head, "mode") or "collective",
            launcher=_text(head, "launcher") or "pdtriage",
            master=_text(head, "master") or None,
            world_size=_count(head, "world_size"),
            endpoints=_texts(head, "endpoints"),
            roles=_texts_by_role(head),
            device_kind=_text(head, "device_kind") or "cpu",
            versions=_text_map(head, "versions"),
            processes=processes,
            deaths=tuple(sorted(self.deaths, key=lambda death: death.order)),
            signals=tuple(self.signals),
            peers=tuple(self.peers),
            ended=_number(end, "time"),
            reason="launcher-killed"
            if end.get("kind") == "guardian"
            else _text(end, "reason") or None,
            interrupted_by=_whole(end, "interrupted_by"),
            exit_code=_whole(end, "exit_code"),
            last_step=_count(end, "last_step"),
            last_epoch=_count(end, "last_epoch"),
            restart=self.restart,
            notes=tuple(note for note in (*self.notes, self.silence) if note.en),
        )

    def _take(self, entry: dict[str, object]) -> None:
        kind = entry.get("kind")
        if kind == "launch":
            # Paddle's launcher reveals more about the job as it goes on.
            self.head = self.head | entry
        elif kind == "start":
            self._start(entry)
        elif kind == "death":
            self._death(entry)
        elif kind == "signal":
            self._signal(entry)
        elif kind == "peer":
            self._peer(entry)
        elif kind == "note":
            self.notes.append(_both(entry))
        elif kind == "silence":
            self.silence = _both(entry)
        elif kind == "size":
            if (pid := _count(entry, "pid")) is not None:
                self.sizes[pid] = _count(entry, "bytes") or 0
        elif kind == "restart":
            self.restart = _restart(entry)
        elif kind in ("end", "guardian"):
            self.end = entry
        else:
            return
        self.useful = True

    def _start(self, entry: dict[str, object]) -> None:
        pid = _count(entry, "pid")
        if pid is None:
            return
        self.processes.append(
            ProcessRecord(
                role=_text(entry, "role") or "worker",
                rank=_count(entry, "rank"),
                local_rank=_count(entry, "local_rank"),
                device=_text(entry, "device") or None,
                endpoint=_text(entry, "endpoint") or None,
                pid=pid,
                log=_text(entry, "log") or None,
                offset=max(0, _whole(entry, "offset") or 0),
                started=_number(entry, "time") or 0.0,
                monotonic=_number(entry, "monotonic") or 0.0,
                attempt=max(0, _count(entry, "attempt") or 0),
            )
        )

    def _death(self, entry: dict[str, object]) -> None:
        pid = _count(entry, "pid")
        if pid is None:
            return
        order = _count(entry, "order")
        self.deaths.append(
            DeathRecord(
                order=len(self.deaths) if order is None else order,
                role=_text(entry, "role") or "worker",
                rank=_count(entry, "rank"),
                local_rank=_count(entry, "local_rank"),
                pid=pid,
                time=_number(entry, "time") or 0.0,
                monotonic=_number(entry, "monotonic") or 0.0,
                code=_whole(entry, "code"),
                signal=_whole(entry, "signal"),
                core=entry.get("core") is True,
                stopped=entry.get("stopped") is True,
                user_seconds=_number(entry, "user_seconds"),
                system_seconds=_number(entry, "system_seconds"),
                max_rss_kb=_whole(entry, "max_rss_kb"),
            )
        )

    def _signal(self, entry: dict[str, object]) -> None:
        pid, number = _count(entry, "pid"), _whole(entry, "signal")
        if pid is None or number is None:
            return
        self.signals.append(
            SignalRecord(
                pid=pid,
                rank=_count(entry, "rank"),
                signal=number,
                reason=_text(entry, "reason"),
                time=_number(entry, "time") or 0.0,
                monotonic=_number(entry, "monotonic") or 0.0,
            )
        )

    def _peer(self, entry: dict[str, object]) -> None:
        node = _count(entry, "node")
        if node is None:
            return
        facts = entry.get("facts")
        self.peers.append(
            PeerRecord(
                node=node,
                kind=_text(entry, "what"),
                time=_number(entry, "time") or 0.0,
                silent_seconds=_number(entry, "silent_seconds"),
                facts=facts if isinstance(facts, dict) else {},
            )
        )


def _both(entry: Mapping[str, object]) -> Text:
    english = _text(entry, "text")
    return Text(english, _text(entry, "zh") or english)


def _restart(entry: Mapping[str, object]) -> RestartRecord:
    why = _text_map(entry, "why")
    en = why.get("en", "")
    return RestartRecord(entry.get("again") is True, Text(en, why.get("zh", en)))


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


def _with_size(process: ProcessRecord, size: int | None) -> ProcessRecord:
    return process if size is None else process._replace(end_offset=size)


def _whole(entry: Mapping[str, object], key: str) -> int | None:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < MOST else None


def _count(entry: Mapping[str, object], key: str) -> int | None:
    """Of what there is no fewer than none: ranks, steps, processes."""
    value = _whole(entry, key)
    return value if value is not None and value >= 0 else None


def _number(entry: Mapping[str, object], key: str) -> float | None:
    """Python reads `NaN` and `Infinity`, which are no JSON, and no time."""
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _text(entry: Mapping[str, object], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _texts(entry: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = entry.get(key)
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value if isinstance(item, str))


def _text_map(entry: Mapping[str, object], key: str) -> dict[str, str]:
    value = entry.get(key)
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _texts_by_role(head: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    roles = head.get("roles")
    if not isinstance(roles, dict):
        return {}
    return {role: _texts(roles, role) for role in ("server", "heter", "coordinator")}
