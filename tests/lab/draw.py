"""The grammar: everything about a job follows from one seed and an index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import TypeVar

from .faults import FAULTS, Fault
from .loggers import LOGGERS, MUTE
from .noise import CLOSING, NOISES

Thing = TypeVar("Thing")

LAUNCHERS = {"new": 30, "legacy": 20, "run": 28, "run-paddle": 22}
RANKS = {1: 3, 2: 48, 3: 31, 4: 12, 5: 3, 6: 2, 8: 1}
COMMUNICATION = {
    "data-parallel": 44,
    "all-reduce": 20,
    "barrier": 12,
    "seldom": 8,
    "gather": 8,
    "broadcast": 8,
}
VICTIMS = {
    "plain": 40,
    "log-exit": 12,
    "print-raise": 10,
    "term-0": 7,
    "term-143": 7,
    "term-line": 8,
    "swallow": 4,
    "clean-up": 4,
    "term-raises": 4,
    "faulthandler": 4,
    "rich": 5,
    "loguru": 5,
    "excepthook": 5,
    "error-line": 5,
    "exit-17": 4,
    "at-exit": 4,
    "term-interrupt": 4,
    "term-saves": 4,
    "json-error": 4,
    "logged-lines": 4,
    "aborts": 3,
    "slow-exit": 3,
    "ignores-term": 2,
    "exit-message": 4,
    "tracker": 3,
    "group-destroyed": 3,
}
KEPT = {
    "folder": 26,
    "both": 28,
    "console": 10,
    "no-culprit": 10,
    "no-victim": 7,
    "gz": 7,
    "head-cut": 6,
    "logs": 6,
    "tail": 5,
    "head": 3,
    "tar": 4,
    "named-parts": 4,
    "only-culprit": 4,
    "stamped": 3,
    "renamed": 4,
    "crlf": 3,
    "excerpt": 4,
    "labelled": 3,
    "xz": 2,
    "zip": 3,
    "nested": 3,
    "last-bytes": 4,
}
HEALTHY, RUNNING = 0.15, 0.05
TWO_NODES, EARLIER, RESTARTS, SERVERS = 0.08, 0.12, 0.15, 0.2
BUFFERED = 0.12
TWO_CULPRITS = 0.06
SIGNED = 0.5
ALONE = ("exception", "data", "import", "memory", "native", "numeric", "operator")
"""Families of faults that strike a single process as they do many."""
PS_MOMENTS = ("import", "before-init", "first", "middle", "after")
FAMILIES = {
    "checkpoint": 6,
    "data": 14,
    "disagree": 4,
    "exception": 22,
    "exit": 10,
    "hang": 8,
    "import": 6,
    "launch": 6,
    "loader": 6,
    "memory": 8,
    "native": 9,
    "numeric": 4,
    "operator": 6,
    "port": 4,
    "signal": 10,
    "stopped": 10,
    "storage": 6,
}


@dataclass(frozen=True)
class Noise:
    """Something harmless that looks alarming: which, where and on whom (None: every rank)."""

    name: str
    step: int
    rank: int | None


@dataclass(frozen=True)
class Job:
    """A job as it was drawn. Nothing else decides what is run and what is true of it."""

    seed: str
    index: int
    launcher: str
    ranks: int
    logger: str
    says_done: bool
    communication: str
    workers: int
    epochs: int
    steps: int
    pace: float
    evaluates: bool
    saves: bool
    noises: tuple[Noise, ...]
    victims: str
    kind: str
    """fault, healthy or running."""
    fault: str | None
    culprits: tuple[int, ...]
    moment: str
    moment_step: int
    patience: float
    """Seconds between the moment and what is done from outside."""
    kept: str
    lost_victim: int
    """Whose log is gone where a victim's is."""
    nodes: int = 1
    kept_node: int | None = None
    """The only node of two whose files were kept."""
    earlier: tuple[str, ...] = ()
    """What happened in runs that went into the same folder before: a fault, or healthy."""
    restarts: str = ""
    """always: the fault strikes again after the one restart; once: it does not."""
    servers: int = 0
    """Parameter servers; none in a collective job."""
    role: str = "worker"
    """worker or server: what the culprit is."""
    closing: str = ""
    """Noise of every rank when training is over."""
    is_buffered: bool = False
    """Whether nobody flushes: what is printed comes with the end of the process, or never."""

    @property
    def name(self) -> str:
        return f"{self.seed}:{self.index}"

    @property
    def the_fault(self) -> Fault | None:
        return FAULTS[self.fault] if self.fault else None

    @property
    def per_node(self) -> int:
        return self.ranks // self.nodes

    def home_of(self, node: int) -> Path:
        """Where the files of a node lie."""
        return Path(f"node{node}") if self.nodes > 1 else Path()

    def log_of(self, rank: int, role: str = "worker") -> Path:
        """The log of a rank: its number is the local one."""
        node, local = divmod(rank, self.per_node)
        return self.home_of(node) / "log" / f"{role}log.{local}"

    @property
    def has_secret(self) -> bool:
        """Whether its nodes sign what they tell each other."""
        return self.is_ours and self.nodes > 1 and Random(f"{self.name}:secret").random() < SIGNED

    @property
    def is_ours(self) -> bool:
        """Whether pdtriage supervises it, and so leaves a record and a report."""
        return self.launcher in ("run", "run-paddle")


def job_of(seed: str, index: int) -> Job:
    """The job with this number among those of a seed."""
    return with_servers(with_buffer(with_closing(_collective(seed, index))))


def with_buffer(job: Job) -> Job:
    """The same, or one whose standard output is written when its buffer is full or at exit."""
    lot = Random(f"{job.name}:buffer")
    is_usual = job.kind == "fault" and not job.earlier and not job.restarts
    return replace(job, is_buffered=True) if is_usual and lot.random() < BUFFERED else job


def with_closing(job: Job) -> Job:
    """The same with something alarming between the last step and the word that all is done."""
    lot = Random(f"{job.name}:closing")
    if job.kind != "healthy" or not job.says_done or job.logger in MUTE or lot.random() > 0.3:
        return job
    return replace(job, closing=lot.choice(list(CLOSING)))


def _collective(seed: str, index: int) -> Job:
    lot = Random(f"{seed}:{index}")
    ranks = _one(lot, RANKS)
    chance = lot.random()
    kind = "healthy" if chance < HEALTHY else "running" if chance < HEALTHY + RUNNING else "fault"
    fault = _fault(lot) if kind == "fault" else None
    launcher = _one(lot, fault.launchers if fault and fault.launchers else LAUNCHERS)
    ranks = max(ranks, 1 if fault and fault.family in ALONE else 2)
    ranks = max(ranks, fault.least_ranks) if fault else ranks
    nodes, kept_node, earlier, restarts = _surroundings(
        Random(f"{seed}:{index}:around"), launcher, kind, fault
    )
    if nodes > 1 and ranks % nodes:
        ranks += 1
    logger = lot.choice(list(LOGGERS))
    steps = lot.randint(6, 12)
    moment = lot.choice(fault.moments) if fault else "middle"
    moment_step = 0 if moment == "first" else lot.randint(2, steps - 2)
    culprits = _culprits(lot, fault, ranks)
    victims_left = [rank for rank in range(ranks) if rank not in culprits] or [0]
    endless = kind == "running" or (fault is not None and fault.is_endless)
    return Job(
        seed=seed,
        index=index,
        launcher=launcher,
        ranks=ranks,
        logger=logger,
        says_done=lot.random() < 0.75,
        communication=_communication(lot, fault, ranks),
        workers=max(fault.workers if fault else 0, _one(lot, {0: 60, 1: 25, 2: 15})),
        epochs=1000 if endless else 1 if moment in ("evaluation", "save") else lot.randint(1, 2),
        steps=steps,
        pace=lot.choice((0.02, 0.05, 0.1, 0.2)),
        evaluates=moment == "evaluation" or lot.random() < 0.4,
        saves=moment == "save" or lot.random() < 0.4,
        noises=_noises(lot, ranks, steps, moment_step),
        victims=_behaviour(lot, fault),
        kind=kind,
        fault=fault.name if fault else None,
        culprits=culprits,
        moment=moment,
        moment_step=moment_step,
        patience=_patience(lot, kind, fault),
        kept=_kept(lot, kind, fault, ranks),
        lost_victim=lot.choice(victims_left),
        nodes=nodes,
        kept_node=kept_node,
        earlier=earlier,
        restarts=restarts,
    )


def with_servers(job: Job) -> Job:
    """The same job as one of parameter servers, if it is drawn and the fault can strike there."""
    lot = Random(f"{job.name}:servers")
    fault = job.the_fault
    is_usual = job.nodes == 1 and not job.earlier and not job.restarts and job.kind != "running"
    if not is_usual or job.launcher == "run-paddle" or lot.random() > SERVERS:
        return job
    if fault and not (fault.strikes_trainers and job.moment in PS_MOMENTS):
        return job
    servers = lot.randint(1, 2)
    plain = {"noises": (), "workers": 0, "epochs": 1, "evaluates": False, "saves": False}
    plain |= {"closing": ""}
    drawn = replace(job, servers=servers, says_done=True, **plain)  # type: ignore[arg-type]
    # Paddle's launchers do not notice that a server died; their trainers wait for minutes.
    if fault and fault.strikes_servers and job.launcher == "run":
        return replace(drawn, role="server", moment="middle", culprits=(lot.randrange(servers),))
    return drawn


def as_json(job: Job) -> str:
    return json.dumps(asdict(job), ensure_ascii=False, indent=1)


def from_json(text: str) -> Job:
    fields = json.loads(text)
    noises = tuple(Noise(**noise) for noise in fields.pop("noises"))
    lists = {name: tuple(fields.get(name, ())) for name in ("culprits", "earlier")}
    return Job(**fields | lists | {"noises": noises})


def _surroundings(
    lot: Random, launcher: str, kind: str, fault: Fault | None
) -> tuple[int, int | None, tuple[str, ...], str]:
    """Nodes, the node that was kept, earlier runs, restarts: at most one of these is unusual."""
    chance = lot.random()
    is_plain = fault is None or fault.is_plain
    if chance < TWO_NODES and launcher != "legacy" and is_plain and kind != "running":
        return 2, lot.choice((None, None, None, 0, 1)), (), ""
    # A launch that is refused leaves nothing: the folder would still be that of the run before.
    is_run = fault is None or fault.family != "launch"
    if TWO_NODES <= chance < TWO_NODES + EARLIER and is_run:
        before = ("healthy", "healthy", "value-error", "key-error", "segfault", "exit-3")
        return 1, None, tuple(lot.choice(before) for _ in range(lot.randint(1, 2))), ""
    if chance > 1 - RESTARTS and fault and is_plain and fault.who == "one":
        # Paddle's elastic launcher takes minutes until it has no restart left.
        if launcher == "run":
            return 1, None, (), lot.choice(("always", "once"))
        if launcher == "new" and chance > 1 - RESTARTS / 2:
            return 1, None, (), "once"
    return 1, None, (), ""


def _fault(lot: Random) -> Fault:
    """First a family, then one of it, so that a family of many is not drawn more often."""
    family = _one(lot, FAMILIES)
    members = {f.name: f.weight for f in FAULTS.values() if f.family == family}
    return FAULTS[_one(lot, members)]


def _culprits(lot: Random, fault: Fault | None, ranks: int) -> tuple[int, ...]:
    if fault is None or fault.who == "nobody":
        return ()
    if fault.who == "all":
        return tuple(range(ranks))
    if fault.who == "first":
        return (0,)
    if fault.strikes_several and ranks > 2 and lot.random() < TWO_CULPRITS:
        return tuple(sorted(lot.sample(range(ranks), 2)))
    return (lot.randrange(ranks),)


def _behaviour(lot: Random, fault: Fault | None) -> str:
    drawn = _one(lot, VICTIMS)
    is_needed = fault is not None and fault.outside is not None and fault.family == "signal"
    return "plain" if drawn == "ignores-term" and is_needed else drawn


def _communication(lot: Random, fault: Fault | None, ranks: int) -> str:
    drawn = _one(lot, COMMUNICATION)
    if ranks == 1:
        return "data-parallel"  # Paddle has no group for a single process.
    return (fault and fault.communication) or drawn


def _noises(lot: Random, ranks: int, steps: int, before: int) -> tuple[Noise, ...]:
    """Up to three, each with at least two steps behind it before anything happens."""
    count = _one(lot, {0: 45, 1: 30, 2: 15, 3: 10})
    latest = max(-1, min(before, steps) - 3)
    return tuple(
        Noise(
            lot.choice(list(NOISES)),
            lot.randint(-1, latest) if latest > -1 else -1,
            lot.choice((None, None, lot.randrange(ranks))),
        )
        for _ in range(count)
    )


def _patience(lot: Random, kind: str, fault: Fault | None) -> float:
    if kind == "running":
        return round(lot.uniform(0.5, 2.5), 1)
    if fault and fault.family == "hang":
        return round(lot.uniform(5.0, 11.0), 1)
    return round(lot.uniform(0.2, 1.5), 1)


def ways_to_keep(job: Job) -> list[str]:
    """How else the files of a job may be kept."""
    ways = [way for way in KEPT if way != job.kept]
    return [way for way in ways if _kept_as(way, job.kind, job.the_fault, job.ranks) == way]


def _kept(lot: Random, kind: str, fault: Fault | None, ranks: int) -> str:
    return _kept_as(_one(lot, KEPT), kind, fault, ranks)


def _kept_as(kept: str, kind: str, fault: Fault | None, ranks: int) -> str:
    """What was drawn, or what is kept instead where that would not do."""
    if ranks == 1 and kept in ("no-victim", "no-culprit"):
        return "folder"
    if fault and fault.needs_console:
        return "both" if kept not in ("console", "both") else kept
    if kept in ("no-culprit", "only-culprit") and (
        kind != "fault" or (fault and fault.who != "one")
    ):
        return "folder"
    if kept == "no-victim" and fault and fault.who == "all":
        return "folder"
    return kept


def _one(lot: Random, weights: Mapping[Thing, int] | Sequence[Thing]) -> Thing:
    if isinstance(weights, Mapping):
        return lot.choices(list(weights), list(weights.values()))[0]
    return lot.choice(weights)
