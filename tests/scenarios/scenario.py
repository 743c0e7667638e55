"""What a scenario is: the launches that make its log folder, and the truth about them."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

LauncherKind = Literal["new", "legacy", "pdtriage"]


@dataclass(frozen=True)
class RunTruth:
    """What became of one of several launches into a folder."""

    verdict: str
    culprits: tuple[int, ...] = ()
    ranks: int = 2


@dataclass(frozen=True)
class Truth:
    """What happened: known from the script that was run, never from a tool that read the logs."""

    verdict: str
    category: str | None = None
    also_ok: tuple[str, ...] = ()
    verdict_also_ok: tuple[str, ...] = ()
    culprit_ranks: tuple[int, ...] = ()
    culprit_roles: tuple[str, ...] = ()
    culprit_host: str | None = None
    victim_ranks: tuple[int, ...] = ()
    runs: int = 1
    key_line: str | None = None
    history: tuple[RunTruth, ...] = ()
    """Of every launch, where that is told."""

    def label(self, story: str) -> dict[str, object]:
        """The content of ``label.json``."""
        claims: dict[str, object] = {
            "source": "tests/scenarios",
            "paddle": "3.3.1",
            "verdict": self.verdict,
            "verdict_also_ok": list(self.verdict_also_ok),
            "category": self.category,
            "also_ok": list(self.also_ok),
            "culprit_ranks": list(self.culprit_ranks) or None,
            "culprit_roles": list(self.culprit_roles) or None,
            "culprit_host": self.culprit_host,
            "victim_ranks": list(self.victim_ranks) or None,
            "runs": self.runs,
            "key_line": self.key_line,
            "history": [[run.verdict, run.ranks, list(run.culprits)] for run in self.history],
            "note": story,
        }
        return {name: claim for name, claim in claims.items() if claim not in (None, [])}


def blame(
    category: str,
    *ranks: int,
    of: int = 2,
    also: tuple[str, ...] = (),
    key: str | None = None,
    runs: int = 1,
) -> Truth:
    """These ranks of so many failed of themselves, all others only because of them."""
    victims = tuple(rank for rank in range(of) if rank not in ranks)
    return Truth(
        "failed",
        category,
        also_ok=also,
        culprit_ranks=ranks,
        victim_ranks=victims,
        key_line=key,
        runs=runs,
    )


@dataclass(frozen=True)
class Stop:
    """A signal from outside, sent once some file of the log folder holds a text."""

    when: str
    signal: signal.Signals = signal.SIGINT
    target: str = "launcher"
    """``launcher``, its ``group`` as by a terminal, or the log file whose writer is hit, such as
    ``log/workerlog.1``."""
    after: float = 0.0
    """Seconds to wait once the text is there."""


@dataclass(frozen=True)
class Launch:
    """One start of the launcher on every node of the job."""

    ranks: int = 2
    """Processes on each node."""
    launcher: LauncherKind = "new"
    script: str | None = None
    """File in ``scripts/``; the scenario's own name unless told. It always runs as ``train.py``."""
    modules: tuple[str, ...] = ()
    """Further files of ``scripts/`` that the script or the launcher imports."""
    flags: tuple[str, ...] = ()
    node_flags: tuple[tuple[str, ...], ...] = ((),)
    """Further flags of each node; their number is the number of nodes."""
    env: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    tmpfs: Mapping[str, str] = field(default_factory=dict)
    """Mount point (relative to the work directory, or absolute) to mount options."""
    prepare: str | None = None
    """Python file in ``scripts/`` run beforehand on every node."""
    keep_running: bool = False
    """``prepare`` goes on beside the job, as the owner of a busy port would."""
    stop: Stop | None = None
    memory_mb: int | None = None
    """Memory limit of the job's cgroup."""
    hours: float = 0.0
    """What the clock of this launch shows beyond the real time."""
    rotate: str = ""
    """Beforehand every worker's log gets this ending, as by logrotate; ``.gz`` packs it."""
    entry: tuple[str, ...] | None = None
    """Whole command after ``python``, for launches that are wrong in themselves."""


@dataclass(frozen=True)
class Scenario:
    name: str
    story: str
    truth: Truth
    launches: tuple[Launch, ...] = (Launch(),)
    root: str | None = None
    """Why it cannot run without root, if so."""
    kernel_log: bool = False
    """Keep what the kernel logged meanwhile as ``dmesg.log``."""
    limit: float = 90.0
    """Seconds after which a launch is stopped by force and the recording fails."""

    @property
    def nodes(self) -> int:
        return max(len(launch.node_flags) for launch in self.launches)

    @property
    def launchers(self) -> str:
        return "+".join(dict.fromkeys(launch.launcher for launch in self.launches))
