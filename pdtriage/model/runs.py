"""Who wrote what in which run: the only input of the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pdtriage.model.kinds import Role
from pdtriage.model.logs import CardEvent, CardHistory, Event, Frame, Progress
from pdtriage.model.stacks import Standstill
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

VerdictWord = Literal["failed", "succeeded", "interrupted", "hung", "running", "unknown"]
FAILURES: frozenset[VerdictWord] = frozenset({"failed", "hung", "interrupted"})
"""Verdicts that are bad news, with a cause or without."""
Mode = Literal["collective", "ps", "ps-heter", "rpc", "unknown"]
Launcher = Literal["pdtriage", "paddle", "paddle-legacy", "unknown"]


class Exit(NamedTuple):
    """How a process ended, as seen by its parent or told by a launcher's console."""

    order: int | None = None
    """0 for the first death of the node, by the kernel's word; None where order was not seen."""
    code: int | None = None
    signal: int | None = None
    time: float | None = None
    stopped: bool = False
    """The launcher had sent it a signal before it ended."""
    seen_by: Literal["parent", "console", "kubelet"] = "parent"
    for_memory: bool | None = None
    """Of one ended by SIGKILL: whether the kernel counted it as killed for lack of memory."""
    max_rss_kb: int | None = None
    memory_limit_kb: int | None = None
    """Of its cgroup, as is what follows."""
    memory_peak_kb: int | None = None
    memory_peak_before_kb: int | None = None
    """When the processes were started."""


class Node(NamedTuple):
    """A pod: one launcher and the processes it started. Several may live on one host."""

    rank: int | None
    host: str | None
    folder: str = ""


class Vanished(NamedTuple):
    """A launcher that was gone before it had ended its run, by our own record."""

    node: int | None
    """None where the job has one node only."""
    host: str | None
    pid: int
    signal: int | None = None
    """What ended it, where we were its parent: Paddle's launcher below ours."""
    time: float | None = None
    """When, where we were its parent."""


class LauncherStop(NamedTuple):
    """A launcher that was told to stop before anything had failed, by our own record."""

    node: int | None
    """None where the job has one node only."""
    host: str | None
    signal: int
    time: float
    here: bool
    """By its own record; else it told other nodes so."""


class Rank(NamedTuple):
    """One process of the job in one run."""

    role: Role
    rank: int | None
    local_rank: int | None = None
    node: int | None = None
    host: str | None = None
    endpoint: str | None = None
    device: str | None = None
    pids: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    events: tuple[tuple[str, Event], ...] = ()
    """(file, event) in the order of the file."""
    progress: tuple[Progress, ...] = ()
    lines: int = 0
    """How many lines it wrote in this run; 0 for a rank that is known but left no log."""
    mixed: bool = False
    """Several processes may have written what is told of it: a console without prefixes."""
    tail: tuple[str, ...] = ()
    last_line: int = 0
    last_offset: int = 0
    exit: Exit | None = None
    last_time: float | None = None
    first_time: float | None = None
    """The earliest time its log tells."""
    started: float | None = None
    """When it was started, by our own record."""
    parts: tuple[tuple[str, int, int | None], ...] = ()
    """Which bytes of which file it wrote in this run: (file, begin, end); None: to its end."""
    modified: float | None = None
    """Last change of its newest file, where the file system tells."""
    environment: Mapping[str, str] = {}
    """Allow-listed variables it was started with, where a file tells."""
    addresses: tuple[str, ...] = ()
    """Other names of its host: of a pod its address and the machine it ran on."""
    last_lines: tuple[tuple[int, str], ...] = ()
    """Its last lines with their offsets, where somebody asked for more than `tail`."""
    up_to_last_step: tuple[str, ...] = ()
    """Lines up to the one of its last step in training, where somebody asked for them."""
    hearsay: bool = False
    """Told by somebody who may or may not be the node it runs on."""
    ordinary: tuple[int, ...] = ()
    """Lines below an error that are as those above it, where somebody looked: it went on."""

    @property
    def key(self) -> tuple[str, int, int, str]:
        """A stable identity inside a run, also where the global rank is unknown."""
        return (
            self.role,
            -1 if self.rank is None else self.rank,
            -1 if self.local_rank is None else self.local_rank,
            self.files[0] if self.rank is None and self.files else "",
        )


class LiveCause(NamedTuple):
    """A root cause as `pdtriage run` reported it; of the right shape, perhaps not true."""

    signature: str
    category: str
    confidence: str
    role: str
    ranks: tuple[int, ...] = ()
    host: str | None = None
    evidence: tuple[tuple[str, int, int, str], ...] = ()
    """File, line, offset and text; the file need not be here any more."""
    frame: Frame | None = None


class LiveReport(NamedTuple):
    """What `pdtriage run` reported when the run had ended and all its logs were there."""

    started: float
    """When that run began: no two runs in one folder began together."""
    causes: tuple[LiveCause, ...] = ()
    logged: frozenset[tuple[str, int]] = frozenset()
    """Role and rank of those whose logs it had read."""


class Brief(NamedTuple):
    """The first root cause of a run in short; the report on that run has the rest."""

    title: Text
    category: str
    signature: str
    role: Role
    rank: int | None
    ranks: tuple[int, ...]
    host: str | None
    fingerprint: str


class Restart(NamedTuple):
    """What was decided after an attempt that failed."""

    again: bool
    why: Text


class Run(NamedTuple):
    """One attempt of one launch, as listed in the report."""

    index: int  # type: ignore[assignment]
    launch: int
    attempt: int
    """0 for the first."""
    started: float | None = None
    ended: float | None = None
    verdict: VerdictWord = "unknown"
    cause: Brief | None = None
    last_epoch: int | None = None
    last_step: int | None = None
    """How far it came, by whichever rank came furthest."""
    restart: Restart | None = None
    """By our own record; None where nobody had to decide."""


class RunFacts(NamedTuple):
    """What is known of one run: the only input of the verdict."""

    run: Run
    ranks: tuple[Rank, ...]
    launcher: tuple[tuple[str, Event], ...] = ()
    """Events of consoles: (file, event)."""
    kernel: tuple[tuple[str, Event], ...] = ()
    nodes: tuple[Node, ...] = ()
    world_size: int | None = None
    mode: Mode = "unknown"
    started_by: Launcher = "unknown"
    job_id: str | None = None
    launcher_pids: frozenset[int] = frozenset()
    """Known by our own record; a sender among these is proof."""
    ended_by_record: str | None = None
    """How our own record says it ended: `completed`, `failed`, `interrupted`, None if unknown."""
    restart: Restart | None = None
    """What our own record says was decided when it had failed."""
    reached: tuple[int | None, int] | None = None
    """Epoch and step it came to, by our own record."""
    running: bool = False
    """The launcher of our own record is alive, or a process that writes the logs."""
    vanished: tuple[Vanished, ...] = ()
    """Launchers that were gone before they had ended the run."""
    arguments: tuple[str, ...] = ()
    """The command line, by our own record, or the flags the launcher's console shows."""
    versions: Mapping[str, str] = {}
    """Of pdtriage, Python and installed wheels, by our own record."""
    notes: tuple[Text, ...] = ()
    cluster: tuple[tuple[str, Event], ...] = ()
    """What Kubernetes says of the job's pods: (file, event), the pod in the fields."""
    unanswered: tuple[int, ...] = ()
    """Nodes that had fallen silent before anything failed, by our own record."""
    stops: tuple[LauncherStop, ...] = ()
    """Launchers that were told to stop before anything had failed."""
    stopped_by_hearsay: bool = False
    """Of those elsewhere it may be that nobody was: the job has no secret."""
    ended_by_cluster: Literal["completed", "failed", "running"] | None = None
    """How the pods ended, by the word of Kubernetes."""
    partial: bool = False
    """Only some of the job's pods were started again: no run of the whole job."""
    seen_at: float | None = None
    """When somebody looked whether its logs still grow: the newest run only, on disk, if asked."""
    writers_gone: bool = False
    """By that look no process writes them any more."""
    live: LiveReport | None = None
    """What was reported when it had ended, where that is here."""
    standstill: Standstill | None = None
    """Where its processes stood when it stood still, by our own record."""
    cards: tuple[CardHistory, ...] = ()
    """Of the newest run: each launch writes that log anew."""
    card_events: tuple[CardEvent, ...] = ()
    """What the driver told of cards, by our own record."""
    unread: bool = False
    """There was no time to read all of its logs: what they do not show, they may hold."""
