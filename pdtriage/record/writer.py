"""Writes the run record, one JSON line at a time, and keeps the log folder for one run only."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.masking.secrets import masked_value
from pdtriage.record.builder import RunRecordBuilder
from pdtriage.record.schema import (
    FOLDER,
    SCHEMA,
    DeathRecord,
    PeerRecord,
    ProcessRecord,
    RestartRecord,
    RunRecord,
    SignalRecord,
    record_number,
)
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text
from pdtriage.support.private_files import make_own_folder, private_opener

if TYPE_CHECKING:
    from pdtriage.model import CardEvent
    from pdtriage.model.stacks import Standstill


class FolderLock:
    """Held while a run writes into a log folder; shared with the guardian by inheritance."""

    def __init__(self, log_dir: str) -> None:
        self.folder = os.path.join(log_dir, FOLDER)
        try:
            make_own_folder(self.folder)
            path = os.path.join(self.folder, "lock")
            self.descriptor = private_opener(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise _not_writable(log_dir, error) from None
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Some network file systems know no locks; there the user has to take care.
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                holder = os.pread(self.descriptor, 64, 0).decode("ascii", "replace").strip()
                os.close(self.descriptor)
                raise _in_use(log_dir, holder) from None
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)


class Recorder:
    """Appends to `run-<n>.jsonl`. A full disk costs the file, never the run or its verdict."""

    def __init__(self, folder: str) -> None:
        try:
            make_own_folder(folder)
            self.path, self._descriptor = _create_next(folder)
        except OSError as error:
            raise _not_writable(os.path.dirname(folder), error) from None
        self.trouble: str | None = None
        self._known = RunRecordBuilder()
        self._lock = threading.RLock()
        """Also of what is known: silences come from the thread that watches."""
        self._closed = False

    def launch(self, fields: Mapping[str, object]) -> None:
        """What is known at the start; arguments lose their secrets before anybody keeps them."""
        fields = {name: masked_value(name, value) for name, value in fields.items()}
        with self._lock:
            self._known.head.update(fields)
            self._append("launch", {"schema": SCHEMA, **fields})

    def start(self, process: ProcessRecord) -> None:
        with self._lock:
            self._known.processes.append(process)
            fields = process._asdict()
            del fields["started"], fields["end_offset"]
            self._append("start", fields | {"time": process.started})

    def death(self, death: DeathRecord) -> None:
        with self._lock:
            self._known.deaths.append(death)
            self._append("death", death._asdict())

    def signal(self, signal: SignalRecord) -> None:
        with self._lock:
            self._known.signals.append(signal)
            self._append("signal", signal._asdict())

    def peer(self, peer: PeerRecord) -> None:
        fields = {"node": peer.node, **now(), "time": peer.time, "what": peer.kind}
        if peer.kind == "facts":
            from pdtriage.record.peer_facts import encode_facts  # one node has no peers

            fields["facts"] = encode_facts(peer.facts)
            if peer.hearsay:
                fields["hearsay"] = True
        elif peer.silent_seconds is not None:
            fields["silent_seconds"] = peer.silent_seconds
        if peer.host:
            fields["host"] = peer.host
        with self._lock:
            self._known.peers.append(peer)
            self._append("peer", fields)

    def note(self, text: Text) -> None:
        with self._lock:
            if not self._closed:
                self._known.notes.append(text)
                self._append("note", {"text": text.en, "zh": text.zh, **now()})

    def silence(self, text: Text) -> None:
        """Records that nobody wrote a line for long; called by a thread that watches."""
        with self._lock:
            if not self._closed:  # else the number of the file may be another one's by now
                self._known.silence = text
                self._append("silence", {"text": text.en, "zh": text.zh, **now()})

    def standstill(self, taken: Standstill) -> None:
        """Where the processes stand; called by whoever watches, in a thread of its own."""
        from pdtriage.record.stack_codec import plain_standstill  # most jobs move

        with self._lock:
            if not self._closed:
                self._known.standstill = taken.with_stacks_of(self._known.standstill)
                self._append("stacks", plain_standstill(taken))

    def card(self, event: CardEvent) -> None:
        """What the driver told of a card; called in a thread of its own."""
        with self._lock:
            if not self._closed:
                self._known.cards.append(event)
                fields = {"device": event.device, "what": event.what, "number": event.number}
                self._append("card", fields | {"time": event.time})

    def size(self, pid: int, size: int) -> None:
        """How long the log of a process is at the end of the run."""
        with self._lock:
            self._known.sizes[pid] = size
            self._append("size", {"pid": pid, "bytes": size})

    def restart(self, decided: RestartRecord) -> None:
        with self._lock:
            self._known.restart = decided
            self._append("restart", _restart_fields(decided))

    def end(self, fields: Mapping[str, object]) -> None:
        """Records how the run ended; the last word counts."""
        with self._lock:
            self._known.end = fields
            self._append("end", fields)

    def record(self) -> RunRecord:
        """The record as anyone would read it by now, even where its file is gone."""
        with self._lock:
            return self._known.record(self.path)

    def close(self) -> None:
        """Last look: somebody may have removed the file of a run that went on."""
        if self.trouble is None and not os.path.exists(self.path):
            self.trouble = f"{self.path}: {os.strerror(errno.ENOENT)}"
        with self._lock:
            self._closed = True
            os.close(self._descriptor)

    def _append(self, kind: str, fields: Mapping[str, object]) -> None:
        try:
            os.write(self._descriptor, _line(kind, fields))
        except OSError as error:
            self.trouble = self.trouble or f"{self.path}: {error.strerror}"


def amend(record: RunRecord, decided: RestartRecord, code: int, verdict: str) -> RunRecord:
    """Correct what the record of an attempt says follows it; the last line of a kind counts."""
    lines = [_line("restart", _restart_fields(decided))]
    if code != record.exit_code:
        same = ("reason", "interrupted_by", "last_step", "last_epoch")
        end = {name: value for name, value in record._asdict().items() if name in same}
        judged = {"exit_code": code, "verdict": verdict, "time": record.ended}
        lines.append(_line("end", {**end, **judged}))
    # A full disk costs the record, never the run.
    with (
        contextlib.suppress(OSError),
        open(record.file, "ab", opener=private_opener) as stream,
    ):
        stream.writelines(lines)
    return record._replace(exit_code=code, restart=decided)


def now() -> dict[str, float]:
    """The time by both clocks: the wall's for people, the monotonic one for order and distance."""
    return {"time": round(time.time(), 6), "monotonic": round(time.monotonic(), 6)}


def _restart_fields(decided: RestartRecord) -> dict[str, object]:
    why = {"en": decided.why.en, "zh": decided.why.zh}
    return {"again": decided.again, "why": why, **now()}


def _line(kind: str, fields: Mapping[str, object]) -> bytes:
    text = json.dumps({"kind": kind, **fields}, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogateescape")


def _create_next(folder: str) -> tuple[str, int]:
    numbers = [record_number(entry.name) or 0 for entry in os.scandir(folder)]
    number = max(numbers, default=0)
    while True:
        number += 1
        path = os.path.join(folder, f"run-{number:04d}.jsonl")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            return path, private_opener(path, flags)
        except FileExistsError:
            continue


def _not_writable(log_dir: str, error: OSError) -> UserError:
    return UserError(
        Text(
            f"The log folder {log_dir} cannot be written: {error.strerror}.",
            f"日志目录 {log_dir} 不可写：{error.strerror}。",
        ),
        Text("Choose another with --log_dir.", "请用 --log_dir 换一个目录。"),
    )


def _in_use(log_dir: str, holder: str) -> UserError:
    who = (f" (pdtriage, pid {holder})", f"（pdtriage，pid {holder}）") if holder else ("", "")
    return UserError(
        Text(
            f"The log folder {log_dir} is in use by a run that is still alive{who[0]}.",
            f"日志目录 {log_dir} 正被一个仍在运行的任务使用{who[1]}。",
        ),
        Text(
            "Wait for it, end it, or choose another folder with --log_dir.",
            "请等待其结束、终止它，或用 --log_dir 换一个目录。",
        ),
    )
