"""The run record: what the launcher saw, as `log_dir/pdtriage/run-<n>.jsonl`.

One JSON object a line, appended while the job runs, so that a record is readable even when
pdtriage was killed in the middle. `read_records` is what the analysis uses; it never raises on
what it reads, because a log folder may hold anything.

Records are named tuples: as frozen as dataclasses and cheaper to define, which counts in a
launcher that has to start fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

SCHEMA = "pdtriage.run/1"
FOLDER = "pdtriage"
MAX_BYTES = 32 << 20
_NAME = re.compile(r"run-(\d+)\.jsonl")


class ProcessRecord(NamedTuple):
    """One process that was started."""

    role: str
    """`worker`, `server`, `heter`, `coordinator`; `launcher` for Paddle's own launcher."""
    rank: int | None
    local_rank: int | None
    device: str | None
    """Physical card as the user names it, `gpu:3`; None on a CPU."""
    endpoint: str | None
    pid: int
    log: str | None
    """Name inside the log folder, `workerlog.0`."""
    offset: int
    """Size of the log file when this run began: everything before belongs to earlier runs."""
    started: float
    monotonic: float
    end_offset: int | None = None
    """Size of the log file when the run had ended; None while it runs."""
    attempt: int = 0
    """How often Paddle's own launcher had restarted the job when it was started."""


class DeathRecord(NamedTuple):
    """One process that ended, as the kernel told its parent."""

    order: int
    """0 for the first to die."""
    role: str
    rank: int | None
    local_rank: int | None
    pid: int
    time: float
    monotonic: float
    code: int | None
    """Exit code; None when a signal ended it, or when only the death itself could be seen."""
    signal: int | None
    core: bool
    stopped: bool
    """We (or Paddle's launcher, when it is in charge) had already sent it a signal."""
    user_seconds: float | None = None
    system_seconds: float | None = None
    max_rss_kb: int | None = None


class SignalRecord(NamedTuple):
    """One signal that we sent."""

    pid: int
    rank: int | None
    signal: int
    reason: str
    """`failure`, `interrupt`, `peer`, `leftover`, `finished`, `guardian`."""
    time: float
    monotonic: float


class PeerRecord(NamedTuple):
    """What another node told, or that it fell silent."""

    node: int
    kind: str
    """`facts`, `silent`, `back`, `gone`."""
    time: float
    silent_seconds: float | None = None
    facts: Mapping[str, object] = {}


class RestartRecord(NamedTuple):
    """What was decided after a failed attempt."""

    again: bool
    why: Text


class RunRecord(NamedTuple):
    """One run on one node, from the first line to wherever the record ends."""

    file: str
    number: int
    launch: str = ""
    """Same for all attempts of one command."""
    attempt: int = 0
    """0 for the first."""
    started: float | None = None
    argv: tuple[str, ...] = ()
    cwd: str = ""
    pid: int | None = None
    """The launcher that sends SIGTERM: ours, or Paddle's when it is in charge."""
    guardian_pid: int | None = None
    """Who sends SIGTERM when pdtriage itself was killed."""
    host: str = ""
    address: str = ""
    """How the endpoints name this node."""
    node_rank: int = 0
    nnodes: int = 1
    pod: str = ""
    job: str = ""
    mode: str = "collective"
    launcher: str = "pdtriage"
    """`pdtriage` or `paddle`."""
    master: str | None = None
    world_size: int | None = None
    endpoints: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = {}
    """Endpoints of all others than the workers, on whatever node: `server`, `heter`, …"""
    device_kind: str = "cpu"
    versions: Mapping[str, str] = {}
    processes: tuple[ProcessRecord, ...] = ()
    deaths: tuple[DeathRecord, ...] = ()
    """In the order of death."""
    signals: tuple[SignalRecord, ...] = ()
    peers: tuple[PeerRecord, ...] = ()
    ended: float | None = None
    """None: the run is still on, or its launcher was killed."""
    reason: str | None = None
    """`completed`, `failed`, `interrupted`, `launcher-killed`, or None."""
    interrupted_by: int | None = None
    exit_code: int | None = None
    last_step: int | None = None
    last_epoch: int | None = None
    """How far a failed run came."""
    restart: RestartRecord | None = None
    """None where nobody asked for restarts, or nothing failed."""
    notes: tuple[Text, ...] = ()
    """What was odd about the record itself, and what the launcher noted down."""

    def is_live(self) -> bool:
        """No end was written and the launcher's process still exists on this machine."""
        return self.ended is None and self._has_launcher()

    def is_to_be_continued(self) -> bool:
        """Another attempt was to follow, and the launcher is there to make it."""
        return self.restart is not None and self.restart.again and self._has_launcher()

    def _has_launcher(self) -> bool:
        return self.pid is not None and os.path.exists(f"/proc/{self.pid}")


def read_records(folder: str | os.PathLike[str]) -> list[RunRecord]:
    """All records of a log folder (or of its `pdtriage/`), oldest first."""
    base = os.fspath(folder)
    inner = os.path.join(base, FOLDER)
    records = []
    for path in _record_files(inner if os.path.isdir(inner) else base):
        try:
            with open(path, "rb") as stream:
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
    from pdtriage.record.reader import RecordLines

    lines = RecordLines()
    if len(content) > MAX_BYTES:
        content = content[:MAX_BYTES]
        lines.notes.append(
            Text(
                f"only the first {MAX_BYTES >> 20} MB of the run record were read",
                f"运行记录只读取了前 {MAX_BYTES >> 20} MB",
            )
        )
    lines.read(content)
    if not lines.useful:
        return None
    return lines.record(file, record_number(os.path.basename(file)) or 0)


def record_number(name: str) -> int | None:
    """7 for `run-0007.jsonl`; None for any other name."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def _record_files(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    numbered = [(number, name) for name in names if (number := record_number(name)) is not None]
    return [os.path.join(folder, name) for _, name in sorted(numbered)]
