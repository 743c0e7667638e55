"""The run record: what the launcher saw, as `log_dir/pdtriage/run-<n>.jsonl`.

One JSON object a line, appended while the job runs, so that a record is readable even when
pdtriage was killed in the middle. `writer` and `reader` are the two ends of it.

Records are named tuples: as frozen as dataclasses and cheaper to define, which counts in a
launcher that has to start fast.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.support.exit_codes import signal_name
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.model import CardEvent, LiveReport, ProcessStack, Standstill

    # Most records are of one node.
    from pdtriage.record.peer_facts import PeerRank

SCHEMA = "pdtriage.run/1"
FOLDER = "pdtriage"
LATE = 300.0
"""Seconds: Paddle's launcher begins after the record, on a slow machine well after it."""
CALENDAR = 1e9
"""Times before it are none of a calendar."""
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
    for_memory: bool | None = None
    """Of one ended by SIGKILL: whether the kernel did it for lack of memory, by its own count."""
    memory_limit_kb: int | None = None
    """Of its cgroup, as is what follows."""
    memory_peak_kb: int | None = None
    """The most that all its processes ever held together, cached files included."""
    memory_peak_before_kb: int | None = None
    """The same when the processes were started."""


class SignalRecord(NamedTuple):
    """One signal that we sent."""

    pid: int
    rank: int | None
    signal: int
    reason: str
    """`failure`, `interrupt`, `peer`, `leftover`, `finished`, `guardian`."""
    time: float
    monotonic: float


class PeerFacts(NamedTuple):
    """How a node stands, whom it blames and what it saw; of the right shape, perhaps not true."""

    state: str = ""
    """`running`, `trained` (its servers still serve others), `interrupted` (it stops what it
    started), `failed`, `stopped`, `done`."""
    role: str | None = None
    """Of the process it blames."""
    rank: int | None = None
    code: int | None = None
    signal: int | None = None
    interrupted: int | None = None
    """The signal that somebody told this node to stop with, or the one that told it of that."""
    ranks: tuple[PeerRank, ...] = ()
    stacks: tuple[ProcessStack, ...] = ()
    """Where its ranks stand, while they stand still."""

    @property
    def failed(self) -> bool:
        return self.state == "failed"


class PeerRecord(NamedTuple):
    """What another node told, or that it fell silent."""

    node: int
    kind: str
    """`facts`, `silent`, `back`, `differs`."""
    time: float
    silent_seconds: float | None = None
    facts: PeerFacts = PeerFacts()
    hearsay: bool = False
    """Not signed: it may come from anybody."""
    host: str = ""
    """As this node calls it."""


def named_node(node: int, host: str) -> Text:
    """A node with its address, as people know it."""
    where = f" ({host})" if host else ""
    return Text(f"node {node}{where}", f"节点 {node}{where} ")


def stopped_node(node: int, host: str, number: int) -> Text:
    """That a node was told to stop, by which signal."""
    name, by = named_node(node, host), signal_name(number)
    return Text(f"{name.en} was told to stop by {by}", f"{name.zh}收到 {by}，按要求停止")


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
    log_dir: str = ""
    size: int = 0
    """Bytes of the record that were read; where it was written there may be more by now."""
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
    live: LiveReport | None = None
    """What was reported when the run had ended; a file of its own beside the record."""
    standstill: Standstill | None = None
    """Where its processes stood when it last stood still, or was asked."""
    cards: tuple[CardEvent, ...] = ()
    """What the driver told of them."""
    notes: tuple[Text, ...] = ()
    """What was odd about the record itself, and what the launcher noted down."""

    def is_live(self) -> bool:
        """No end was written and the launcher's process still exists on this machine."""
        return self.ended is None and self._has_launcher()

    def is_all_there_is(self) -> bool:
        """Whether nothing was added where the record was written: this is no copy of a run that
        went on."""
        written = os.path.join(self.log_dir, FOLDER, os.path.basename(self.file))
        try:
            return bool(self.log_dir) and os.stat(written).st_size <= self.size
        except OSError:
            return False

    def is_to_be_continued(self) -> bool:
        """Whether another attempt was to follow, and the launcher is there to make it."""
        return self.restart is not None and self.restart.again and self._has_launcher()

    def _has_launcher(self) -> bool:
        """Whether the launcher lives: its pid is on this host a process as old as the record."""
        if self.pid is None or not os.path.exists(f"/proc/{self.pid}"):
            return False
        if self.host and self.host != os.uname().nodename:
            return False
        born = _born(self.pid)
        started = self.started or 0.0
        return born is None or started < CALENDAR or born < started + LATE


def _born(pid: int) -> float | None:
    """When a process of this machine began, by the calendar; a reboot makes all of them younger."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
        with open("/proc/uptime", "rb") as stream:
            uptime = float(stream.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def record_number(name: str) -> int | None:
    """7 for `run-0007.jsonl`; None for any other name."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None
