"""Writes the run record, one JSON line at a time, and keeps the log folder for one run only."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Mapping

from pdtriage.launch.plan.limits import refuse_lost_folder
from pdtriage.record.schema import FOLDER, SCHEMA, RunRecord, parse_record, record_number
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text


class FolderLock:
    """Held while a run writes into a log folder; shared with the guardian by inheritance."""

    def __init__(self, log_dir: str) -> None:
        self.folder = os.path.join(log_dir, FOLDER)
        refuse_lost_folder()
        try:
            os.makedirs(self.folder, exist_ok=True)
            path = os.path.join(self.folder, "lock")
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
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
            os.makedirs(folder, exist_ok=True)
            self.path, self._descriptor = _create_next(folder)
        except OSError as error:
            raise _not_writable(os.path.dirname(folder), error) from None
        self.trouble: str | None = None
        self._written: list[bytes] = []
        self._lock = threading.Lock()
        self._closed = False

    def write(self, kind: str, fields: Mapping[str, object]) -> None:
        text = json.dumps({"kind": kind, **fields}, ensure_ascii=False) + "\n"
        line = text.encode("utf-8", "surrogateescape")
        with self._lock:
            if self._closed:
                return  # too late: the number of the file may be another one's by now
            self._written.append(line)
            try:
                os.write(self._descriptor, line)
            except OSError as error:
                self.trouble = self.trouble or f"{self.path}: {error.strerror}"

    def launch(self, fields: Mapping[str, object]) -> None:
        self.write("launch", {"schema": SCHEMA, **fields})

    def note(self, text: Text) -> None:
        self.write("note", {"text": text.en, "zh": text.zh, **now()})

    def silence(self, text: Text) -> None:
        """Nobody wrote a line for long; called by whoever watches, in a thread of its own."""
        self.write("silence", {"text": text.en, "zh": text.zh, **now()})

    def read_back(self) -> RunRecord:
        """The record as anyone else would read it, even where its file is gone by now."""
        record = parse_record(b"".join(self._written), self.path)
        return record if record is not None else RunRecord(self.path, 0)

    def close(self) -> None:
        """Last look: somebody may have removed the file of a run that went on."""
        if self.trouble is None and not os.path.exists(self.path):
            self.trouble = f"{self.path}: {os.strerror(errno.ENOENT)}"
        with self._lock:
            self._closed = True
            os.close(self._descriptor)


def now() -> dict[str, float]:
    """Both clocks: the wall's for people, the monotonic one for order and distance."""
    return {"time": round(time.time(), 6), "monotonic": round(time.monotonic(), 6)}


def _create_next(folder: str) -> tuple[str, int]:
    numbers = [record_number(entry.name) or 0 for entry in os.scandir(folder)]
    number = max(numbers, default=0)
    while True:
        number += 1
        path = os.path.join(folder, f"run-{number:04d}.jsonl")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            return path, os.open(path, flags, 0o666)
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
            f"日志目录 {log_dir} 正被一个仍在运行的作业使用{who[1]}。",
        ),
        Text(
            "Wait for it, end it, or choose another folder with --log_dir.",
            "请等待其结束、终止它，或用 --log_dir 换一个目录。",
        ),
    )
