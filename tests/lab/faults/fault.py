"""The noun: one way in which a job fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from signal import Signals

STRIKES_SERVER = {"kill-self": 9, "segfault-signal": 11, "abort": 6}
"""By which signal; a server that serves runs no Python that could fail."""
ANY_STEP = ("first", "middle", "middle", "middle")
ANYWHERE = (
    *("before-init", "init", *ANY_STEP, "evaluation", "save", "after"),
    *("dataset", "optimizer", "epoch-end", "after-done"),
)


@dataclass(frozen=True)
class Outside:
    """What somebody does to the job once a rank has come to the moment."""

    signal: Signals
    target: str
    """launcher, rank (the culprit's process), group (launcher and ranks) or ranks."""
    again: Signals | None = None
    """What the same get once more, by somebody without patience."""


@dataclass(frozen=True)
class Fault:
    name: str
    family: str
    categories: tuple[str, ...]
    """All that an honest reader of the taxonomy may call it; the first is the best."""
    at: str = ""
    """Python text run by the culprits at the moment."""
    key: str = ""
    """Text that the culprit itself leaves; empty: it dies without a word."""
    sample: str = ""
    """Python text run while the culprits read a sample."""
    top: str = ""
    """Definitions at the top of the script."""
    build: str = ""
    """Run by the culprits before the network is built; may set `hidden`."""
    moments: tuple[str, ...] = ANYWHERE
    verdicts: tuple[str, ...] = ("failed",)
    who: str = "one"
    """one, all, first (rank 0) or nobody."""
    exits: tuple[int, ...] = (1,)
    """What a launcher that passes on the culprit's status exits with."""
    communication: str = ""
    """The only one with which it strikes; empty: any."""
    workers: int = 0
    """Loader workers it needs."""
    least_ranks: int = 1
    outside: Outside | None = None
    is_endless: bool = False
    """Whether the job would never end by itself."""
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int | None = None
    arguments: tuple[str, ...] = ()
    """Further flags of the launcher."""
    script: str = "train.py"
    helper: str = ""
    """Python text of a process that runs beside the job."""
    launchers: tuple[str, ...] = ()
    """Empty: any."""
    needs_console: bool = False
    may_name_nobody: bool = False
    """Whether an answer without a rank is as good."""
    weight: int = 10
    limit: float = 75.0

    @property
    def strikes_servers(self) -> bool:
        return self.name in STRIKES_SERVER

    @property
    def strikes_trainers(self) -> bool:
        """Whether it can strike a trainer of parameter servers, which has no other ranks."""
        fits = self.family in ("exception", "exit", "native", "import") or self.name == "kill-self"
        return self.is_plain and fits and self.who == "one" and "exit-0" not in self.name

    @property
    def strikes_several(self) -> bool:
        """Whether two ranks may fail of it, each by itself."""
        differs = self.family in ("disagree", "hang")
        return self.is_plain and self.who == "one" and not differs

    @property
    def is_plain(self) -> bool:
        """Whether it needs nothing of its surroundings, and strikes on several nodes as on one."""
        wants = self.outside or self.helper or self.mounts or self.memory_mb or self.arguments
        return not wants and self.who != "first" and self.script == "train.py"
