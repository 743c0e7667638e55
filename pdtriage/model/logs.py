"""What is found and what is read in it: log files, events, progress, pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pdtriage.model.kinds import FileKind, Role
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

SignatureRole = Literal[
    "cause", "symptom", "victim", "context", "start", "progress", "end", "noise"
]
Says = Literal[
    # who writes such a line, if not the process whose log it is in
    "by-launcher",
    "by-kernel",
    "by-cluster",  # Kubernetes
    "by-shell",
    "paddle-launcher",  # paddle.distributed.launch of Paddle 2.3 and later
    "legacy-launcher",  # those before it
    # a launch on its way
    "opens-launch",
    "describes-job",
    "lists-hosts",
    "waiting-for-peers",
    "never-met",
    "never-started",
    "started",
    "running",
    "process-id",
    "process-rank",
    "own-rank",
    # the life of a process, in its own words
    "model-saved",
    "evaluated",
    "wraps-up",
    "shuts-down",
    "training-done",
    "process-starts",
    "program-starts",
    "imports",
    "process-ends",
    # how it ended
    "completed",
    "failed",
    "process-failed",
    "exit-status",
    "lists-failed",
    "names-culprit",
    "rank-is-local",
    "repeats-output",
    "interrupted",
    "launcher-stopped",
    "launcher-failed",
    "milestone",
    # how its words are to be taken
    "between-ranks",
    "peer-is-worker",
    "peer-is-server",
    "states-cause",
    "card-picture",
    "inspected",
    # what NCCL's RAS answers of a job that somebody asks about
    "ras-group",
    "ras-subject",
    "ras-launched",
    "ras-unreached",
    "ras-member",
    "lacks-shm",
    # the report that `pdtriage run` printed
    "own-headline",
    "own-victims",
    "own-verdict",
]
"""What a line means for the judgement, beyond its role; docs/parsers.md explains each word."""
BY_RAS: frozenset[Says] = frozenset(
    {"ras-group", "ras-subject", "ras-launched", "ras-unreached", "ras-member"}
)
"""Words of lines that NCCL's RAS writes."""

SIGNATURE_ROLES: tuple[str, ...] = get_args(SignatureRole)

CATEGORIES: tuple[str, ...] = (
    "data.io",
    "data.worker",
    "data.format",
    "memory.gpu",
    "memory.host",
    "memory.shm",
    "device.cuda",
    "device.hardware",
    "device.missing",
    "device.library",
    "comm.init",
    "comm.port",
    "comm.timeout",
    "comm.peer",
    "comm.backend",
    "hang",
    "numeric.nan",
    "code.import",
    "code.python",
    "code.operator",
    "code.crash",
    "config.launch",
    "config.rank",
    "checkpoint",
    "storage.disk",
    "ps.server",
    "elastic",
    "external.kill",
    "unknown",
)


class LogFile(NamedTuple):
    """One file as found on disk, in an archive or on a pipe; sources/ knows how to open it."""

    path: str
    """Shown to people: relative to what was asked for; a member is `a.zip/log/workerlog.0`."""
    kind: FileKind
    folder: str
    """The log folder it lies in, same notation: files of one folder are of one node."""
    index: int | None = None  # type: ignore[assignment]
    """N of `workerlog.N`: a local rank, never a global one."""
    rotation: int = 0
    """0 for the newest piece; `workerlog.0.1` is 1, older than 0."""
    size: int | None = None
    modified: float | None = None


class Frame(NamedTuple):
    """A place in source code."""

    file: str
    line: int
    function: str = ""


class Event(NamedTuple):
    """Something a log says, recognised by one signature."""

    signature: str
    role: SignatureRole
    category: str | None
    line: int
    """1-based number of the line that carries the evidence."""
    offset: int
    """Where that line begins in the (decompressed) file, in bytes."""
    text: str
    """That line, decoded, without control characters, at most 2,000 characters."""
    first_line: int = 0
    """Where the passage around it begins (a traceback's header); 0 for a single line."""
    last_line: int = 0
    """Where that passage ends; 0 for a single line."""
    fields: Mapping[str, str] = {}
    frame: Frame | None = None
    """The user's own code in the traceback around it, if any."""
    time: float | None = None
    """Seconds since 1970 as the log itself tells; another host's clock may differ by minutes."""
    pid: int | None = None
    """The process that wrote it, where a prefix says so."""
    writer: int | None = None
    """The global rank a line prefix names (`[1,12]<stderr>:`), where one file holds several."""
    count: int = 1  # type: ignore[assignment]
    """How many equal events this one stands for; the others came after it."""
    last_seen: int = 0
    """Line of the last of those."""
    block: int = 0
    """Events with the same non-zero number come from one traceback or error block."""
    before: tuple[str, ...] = ()
    """A few lines above it, for people; only where it may become evidence."""
    after: tuple[str, ...] = ()
    final: bool = False
    """The passage ended the process: an uncaught exception or a fatal signal, not a logged one."""
    says: tuple[Says, ...] = ()
    """As its signature has it; what Kubernetes reports comes without, as without a category."""
    ends_at: int = 0
    """Behind the last byte of a passage with which its process ended, for all that can be told from
    it: nobody caught the exception, or a signal is fatal. 0 where it may have gone on."""


SENDER_PROGRAM = "sender_program"
"""Field of an event that tells of a signal: who sent it, where somebody looked in time."""


class Progress(NamedTuple):
    """A step counter seen at one place of a file."""

    line: int
    offset: int
    step: int
    epoch: int | None = None
    total: int | None = None
    loss: float | None = None
    time: float | None = None


class CardSample(NamedTuple):
    """What one card did at one moment, as `<job>.gpu.log` tells."""

    time: float
    card: int
    busy: int
    """Per cent of the time."""
    used_mb: int
    total_mb: int


class CardHistory(NamedTuple):
    """What one card did while the job ran."""

    host: str | None
    device: str
    total_mb: int
    samples: tuple[tuple[float, int, int], ...]
    """(time, per cent of the time it was busy, megabytes in use)."""


CardTrouble = Literal["xid", "ecc", "slowed", "lost"]
CARD_TROUBLES: Mapping[str, CardTrouble] = {what: what for what in get_args(CardTrouble)}


class CardEvent(NamedTuple):
    """What the driver told of a card while the job ran."""

    time: float
    device: str
    """As its rank has it, `gpu:3`."""
    what: CardTrouble
    number: int = 0
    """The Xid; how many errors; the reasons for which it is slowed down, as bits."""
    host: str | None = None


class EnvBlock(NamedTuple):
    """The launch facts of one process, or of one pod, in one run: allow-listed variables only."""

    line: int
    values: Mapping[str, str]
    offset: int = 0


class Stamp(NamedTuple):
    """A time stamp and, for glog, the process that wrote it."""

    line: int
    offset: int
    time: float
    pid: int | None = None


class Echo(NamedTuple):
    """A place where a file begins anew with its own first lines."""

    line: int
    offset: int
    strength: int
    """How many opening lines are repeated there."""


class Life(NamedTuple):
    """One life of a container: from a start to its end, or until now."""

    started: float | None = None
    finished: float | None = None
    code: int | None = None
    """What its first process ended with; None while it runs, or where nobody saw the end."""
    reason: str = ""
    running: bool = False


class Pod(NamedTuple):
    """A pod of a PaddleJob as Kubernetes tells it: one node of the job."""

    name: str
    role: Role = "unknown"
    index: int | None = None  # type: ignore[assignment]
    """Among the pods of its role; None where neither labels nor name tell."""
    job: str | None = None
    numbered: bool = False
    """Its index is the rank of the node: paddle-operator hands it to the launcher."""
    machine: str | None = None
    """The Kubernetes node it ran on."""
    address: str | None = None
    phase: str = ""
    container: str = ""
    """The one that trains."""
    restarts: int = 0
    lives: tuple[Life, ...] = ()
    """What is still known of them, oldest first: at most the one before and the newest."""
    environment: Mapping[str, str] = {}


class PodJob(NamedTuple):
    """A PaddleJob as its operator tells it."""

    name: str
    phase: str = ""
    replicas: Mapping[Role, int] = {}


class Seam(NamedTuple):
    """Where a piece of a rotated log begins in the log as a whole."""

    path: str
    line: int
    """Lines before it."""
    offset: int
    modified: float | None = None


class FileFacts(NamedTuple):
    """All that the later steps need to know of one file. Small, picklable, mergeable."""

    file: LogFile
    events: tuple[Event, ...] = ()
    progress: tuple[Progress, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    """Sampled: the first and last of the file and around every event; enough to see clock jumps."""
    echoes: tuple[Echo, ...] = ()
    environments: tuple[EnvBlock, ...] = ()
    endpoints: tuple[str, ...] = ()
    lines: int = 0
    bytes: int = 0
    tail: tuple[str, ...] = ()
    """The last non-empty lines, for a rank that died without a word."""
    last_line: int = 0
    """Number and offset of the last of those."""
    last_offset: int = 0
    notes: tuple[Text, ...] = ()
    pods: tuple[Pod, ...] = ()
    pod_jobs: tuple[PodJob, ...] = ()
    seams: tuple[Seam, ...] = ()
    """Of a log that was rotated, and read as one: its pieces, the oldest first."""
    cards: tuple[CardSample, ...] = ()
    """A few of each card, in the order of their times."""
    undated: bool = False
    """No line of it tells a year: its times are of that in which the file was modified."""
    last_dated: float | None = None
    """The last moment that it tells with its year, where it tells none of others."""
    unix_times: tuple[float, ...] = ()
    """Of its events: told by UTC. Of all others nobody knows the time zone."""
