"""Gathers what is known of one run, entry by entry, for who writes a record and who reads it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pdtriage.record.fields import Json, count, mapping, number, text, text_map, texts, whole
from pdtriage.record.schema import (
    DeathRecord,
    PeerRecord,
    ProcessRecord,
    RestartRecord,
    RunRecord,
    SignalRecord,
    record_number,
)
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.model import CardEvent
    from pdtriage.model.stacks import Standstill


class RunRecordBuilder:
    """The entries of one run so far; `record` is what they say together."""

    def __init__(self) -> None:
        self.head: dict[str, object] = {}
        """Grows: Paddle's launcher reveals more about the job as it goes on."""
        self.size = 0
        self.end: Json = {}
        self.processes: list[ProcessRecord] = []
        self.sizes: dict[int, int] = {}
        self.deaths: list[DeathRecord] = []
        self.signals: list[SignalRecord] = []
        self.peers: list[PeerRecord] = []
        self.restart: RestartRecord | None = None
        self.notes: list[Text] = []
        self.standstill: Standstill | None = None
        self.cards: list[CardEvent] = []
        self.silence = Text("", "")
        """The last one: a job may have come out of those before."""

    def record(self, file: str) -> RunRecord:
        head, end = self.head, self.end
        killed = end.get("kind") == "guardian"
        return RunRecord(
            file=file,
            number=record_number(os.path.basename(file)) or 0,
            launch=text(head, "launch"),
            attempt=count(head, "attempt") or 0,
            started=number(head, "started"),
            argv=texts(head, "argv"),
            cwd=text(head, "cwd"),
            log_dir=text(head, "log_dir"),
            size=self.size,
            pid=count(head, "pid"),
            guardian_pid=count(head, "guardian_pid"),
            host=text(head, "host"),
            address=text(head, "address"),
            node_rank=count(head, "node_rank") or 0,
            nnodes=count(head, "nnodes") or 1,
            pod=text(head, "pod"),
            job=text(head, "job"),
            mode=text(head, "mode") or "collective",
            launcher=text(head, "launcher") or "pdtriage",
            master=text(head, "master") or None,
            world_size=count(head, "world_size"),
            endpoints=texts(head, "endpoints"),
            roles={
                role: texts(mapping(head, "roles"), role)
                for role in ("server", "heter", "coordinator")
            },
            device_kind=text(head, "device_kind") or "cpu",
            versions=text_map(head, "versions"),
            processes=tuple(
                process._replace(end_offset=self.sizes.get(process.pid, process.end_offset))
                for process in self.processes
            ),
            deaths=tuple(sorted(self.deaths, key=lambda death: death.order)),
            signals=tuple(self.signals),
            peers=tuple(self.peers),
            ended=number(end, "time"),
            reason="launcher-killed" if killed else text(end, "reason") or None,
            interrupted_by=whole(end, "interrupted_by"),
            exit_code=whole(end, "exit_code"),
            last_step=count(end, "last_step"),
            last_epoch=count(end, "last_epoch"),
            restart=self.restart,
            standstill=self.standstill,
            cards=tuple(self.cards),
            notes=tuple(note for note in (*self.notes, self.silence) if note.en),
        )
