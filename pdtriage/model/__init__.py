"""The nouns of pdtriage: what crosses from one step of the pipeline to the next.

Everything here is frozen, typed and free of I/O. Reading order is the order of the pipeline:
a `LogFile` is found, scanned into `FileFacts` (events), sorted into a `RunFacts` (who wrote what
in which run) and judged into a `Report`.

They are named tuples, because those are cheap to define (with dataclasses this module alone took a
tenth of a small analysis), to make and to send. A few of their fields hide a method of tuples that
nobody needs of a noun; what stands as a default is shared and never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import LANGUAGES as LANGUAGES
from pdtriage.support.language import Language as Language
from pdtriage.support.language import Text as Text

Role = Literal["worker", "server", "heter", "coordinator", "launcher", "unknown"]
FileKind = Literal[
    "worker",  # workerlog.N
    "server",  # serverlog.N
    "heter",  # heterlog.N
    "coordinator",  # coordinator.N
    "console",  # captured output of a launcher, or of a whole job
    "endpoints",  # endpoints.log of the legacy launcher
    "pod",  # <job>.<pod>.log of the new launcher
    "env",  # envlog.N
    "backup_env",  # backup_env.N.json
    "gpu",  # <job>.gpu.log
    "kernel",  # dmesg, kern.log, journal
    "k8s",  # pods, events and PaddleJobs as kubectl shows them
    "record",  # our own run record
    "other",
]
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
    "why-is-guessed",
    "card-picture",
    "inspected",
    "lacks-shm",
    # the report that `pdtriage run` printed
    "own-headline",
    "own-victims",
    "own-verdict",
]
"""What a line means for the judgement, beyond its role; docs/parsers.md explains each word."""
Confidence = Literal["proven", "likely", "guess"]
VerdictWord = Literal["failed", "succeeded", "interrupted", "hung", "running", "unknown"]
Mode = Literal["collective", "ps", "ps-heter", "rpc", "unknown"]
Launcher = Literal["pdtriage", "paddle", "paddle-legacy", "unknown"]
VictimReason = Literal["stopped", "peer", "collateral"]
DifferenceKind = Literal[
    "reached",  # how far it came
    "printed",  # what only this run printed
    "missing",  # what only the good run printed
    "size",
    "hosts",
    "arguments",
    "environment",
    "version",
    "launcher",
    "ranks",  # ranks of this run that were started unlike each other
]
RankStatus = Literal["failed", "victim", "finished", "running", "silent", "unknown"]

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

# --- sources -> events --------------------------------------------------------------------------


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


class Progress(NamedTuple):
    """A step counter seen at one place of a file."""

    line: int
    offset: int
    step: int
    epoch: int | None = None
    total: int | None = None
    loss: float | None = None
    time: float | None = None


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


# --- jobs -> verdict ----------------------------------------------------------------------------


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

    @property
    def key(self) -> tuple[str, int, int, str]:
        """A stable identity inside a run, also where the global rank is unknown."""
        return (
            self.role,
            -1 if self.rank is None else self.rank,
            -1 if self.local_rank is None else self.local_rank,
            self.files[0] if self.rank is None and self.files else "",
        )


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
    """The launcher of our own record is alive."""
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
    ended_by_cluster: Literal["completed", "failed", "running"] | None = None
    """How the pods ended, by the word of Kubernetes."""
    partial: bool = False
    """Only some of the job's pods were started again: no run of the whole job."""


# --- verdict -> report --------------------------------------------------------------------------


class Evidence(NamedTuple):
    """A line that proves something, and where it stands."""

    file: str
    line: int
    offset: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Cause(NamedTuple):
    """A root cause: where the arrows end."""

    category: str
    signature: str
    title: Text
    role: Role
    rank: int | None
    ranks: tuple[int, ...]
    host: str | None
    local_rank: int | None
    device: str | None
    confidence: Confidence
    why: tuple[Text, ...]
    evidence: tuple[Evidence, ...]
    frame: Frame | None = None
    fields: Mapping[str, str] = {}
    advice: tuple[Text, ...] = ()
    fingerprint: str = ""


class Victim(NamedTuple):
    """Somebody who only suffered from the culprit."""

    rank: int | None
    role: Role
    host: str | None
    reason: VictimReason
    because_of: int | None
    """Rank of the culprit, where it is known."""
    local_rank: int | None = None


class RankRow(NamedTuple):
    """A line of the report's table of ranks."""

    rank: int | None
    role: Role
    host: str | None
    local_rank: int | None
    device: str | None
    files: tuple[str, ...]
    status: RankStatus
    exit_code: int | None = None
    signal: int | None = None
    last_step: int | None = None
    last_seen: float | None = None
    first_seen: float | None = None
    """By its own first event or step with a time."""
    last_progress: float | None = None
    """When it reached `last_step`, where its log tells."""
    progress: tuple[tuple[float, int], ...] = ()
    """A few of its steps: (time, step). A step without a time lies between those around it."""
    moments: tuple[Moment, ...] = ()
    """Its life: start, warnings, errors, signals, exit."""


class Moment(NamedTuple):
    """A point of the timeline."""

    t: float | None
    rank: int | None
    kind: str
    """`start`, `warning`, `error`, `symptom`, `signal`, `exit` or `launcher`."""
    text: Text
    role: Role = "worker"
    about: bool = False
    """The time is estimated from the nearest lines with one."""


class Baseline(NamedTuple):
    """The good run that this one was compared with."""

    run: int
    path: str | None = None
    """Where it was found, if not among the runs of this report."""


class Difference(NamedTuple):
    """One way in which this run is unlike the good one, or its ranks unlike each other."""

    kind: DifferenceKind
    text: Text
    before: str | None = None
    after: str | None = None
    place: str | None = None
    """`file:line` of what was printed."""


class JobRow(NamedTuple):
    """What the report says of the job as a whole."""

    id: str | None
    mode: Mode
    launcher: Launcher
    world_size: int | None
    nodes: tuple[Node, ...]


class Attempts(NamedTuple):
    """The attempts of the launch that is reported on, compared."""

    launch: int
    runs: tuple[int, ...]
    """The newest of them, oldest first, by their numbers in `runs` of the report."""
    total: int
    failed: int
    """Of those in `runs`."""
    same_failure: bool | None
    """Whether all of these failed the same way; None where that cannot be told."""
    summary: Text


class Report(NamedTuple):
    """The one object every output format is a view of."""

    verdict: VerdictWord
    language: Language
    job: JobRow
    runs: tuple[Run, ...]
    run: int | None
    root_causes: tuple[Cause, ...]
    victims: tuple[Victim, ...]
    ranks: tuple[RankRow, ...]
    timeline: tuple[Moment, ...]
    redactions: int = 0
    notes: tuple[Text, ...] = ()
    baseline: Baseline | None = None
    differences: tuple[Difference, ...] = ()
    attempts: Attempts | None = None
    """None where the launch was one plain attempt."""

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values, schema `pdtriage.report/1`."""
        from pdtriage.report.formats.json import as_json  # the model itself knows no format

        return as_json(self)
