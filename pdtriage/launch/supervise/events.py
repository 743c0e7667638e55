"""What the launcher tells whoever watches: typed, in the order it happened.

Named tuples and not dataclasses, because a launcher must start fast and these are cheap to define.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.record.schema import DeathRecord, PeerFacts, ProcessRecord, RunRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.launch.supervise.outcome import Conclusion
    from pdtriage.launch.supervise.restart import Decision
    from pdtriage.model import CardEvent
    from pdtriage.model.stacks import StacksReason, Standstill

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


class Noted(NamedTuple):
    """A line for people."""

    text: Text
    level: Level = "INFO"


class Configured(NamedTuple):
    """The flags are understood; nothing was started yet."""

    flags: LaunchFlags


class Invited(NamedTuple):
    """No master was given: this command starts the other nodes."""

    command: tuple[str, ...]
    master: str


class Planned(NamedTuple):
    """About to start these processes."""

    plan: Plan


class Started(NamedTuple):
    """A process runs, and writes into `folder/process.log` from `process.offset` on."""

    process: ProcessRecord
    folder: str


class AllStarted(NamedTuple):
    """All processes run."""

    plan: Plan
    note_silence: Callable[[Text], None] | None = None
    """Puts into the record that the job seemed to hang; may be called from any thread."""


class StacksTaken:
    """Whoever watches has written down where the processes stand, or cannot."""


class StopHung:
    """Whoever watches saw the job stand still, and was told to end such a job."""


class Supervised(NamedTuple):
    """The processes are supervised from now on. All may be called from any thread."""

    note: Callable[[Standstill], None]
    """Puts the stacks of a job that stands still into the record."""
    tell: Callable[[StacksTaken | StopHung], None]
    note_text: Callable[[Text], None] = lambda _text: None
    """Puts a sentence for the report into the record."""
    note_card: Callable[[CardEvent], None] = lambda _event: None
    """Puts what the driver told of a card into the record."""


class StacksWanted(NamedTuple):
    """Somebody asks where the processes stand; `StacksTaken` is to be told when that is known."""

    reason: StacksReason


class Died(NamedTuple):
    """A process ended, in whatever way; `first` marks the first failure."""

    death: DeathRecord
    first: bool = False


class Stopping(NamedTuple):
    """SIGTERM (or, in the end, SIGKILL) goes to these processes."""

    reason: str
    signal: int
    who: tuple[tuple[str, int | None], ...]
    """Role and rank."""


class Trained(NamedTuple):
    """All trainers of the job have ended well; its servers are not needed any more."""

    unreported: tuple[int, ...] = ()
    """Nodes that did not tell whether theirs have."""


class Interrupted(NamedTuple):
    """Somebody told us to stop; `again` means now."""

    signal: int
    again: bool = False


class PeerSpoke(NamedTuple):
    """Another node says what it saw; already checked for size and shape, not for truth."""

    node: int
    facts: PeerFacts
    hearsay: bool = False
    """Nothing shows that it was that node that said so: the job has no secret."""
    host: str = ""


class PeerSilent(NamedTuple):
    """A node has not been heard of for so many seconds."""

    node: int
    seconds: float
    since: float
    """Wall clock of the last sign of life."""
    host: str = ""


class PeerDiffers(NamedTuple):
    """A node starts another number of processes than this one: such a job cannot run."""

    node: int
    processes: int
    own: int
    hearsay: bool = False
    why: Text | None = None
    """In words, where it is not only the number of processes."""

    @property
    def text(self) -> Text:
        return self.why or Text(
            f"node {self.node} starts {self.processes} processes, this node "
            f"{self.own}: use the same number of cards on every node",
            f"节点 {self.node} 启动 {self.processes} 个进程，本节点 {self.own} 个："
            "各节点的卡数必须一致",
        )


class PeerBack(NamedTuple):
    """A silent node is heard of again."""

    node: int


class Restarting(NamedTuple):
    """An attempt failed, its record is complete, and another one follows."""

    record: RunRecord
    conclusion: Conclusion
    decision: Decision
    most: int | None
    """Attempts there may be in all; None where nodes that come and go make more of them."""
    restarts: int = 0
    """Those there may be after failures, in all."""


class Reforming(NamedTuple):
    """An attempt was cut short because nodes came or went, and another one follows."""

    record: RunRecord
    why: Text


class Finished(NamedTuple):
    """Everything has ended and the record is complete."""

    record: RunRecord
    exit_code: int
    culprits: tuple[int, ...]
    role: str = "worker"
    """Of the culprits."""
    decision: Decision | None = None
    """Why no other attempt follows; None where nobody asked for one."""


LaunchEvent = (
    Noted
    | Configured
    | Invited
    | Planned
    | Started
    | AllStarted
    | Supervised
    | StacksWanted
    | Died
    | Stopping
    | Trained
    | Interrupted
    | PeerSpoke
    | PeerSilent
    | PeerDiffers
    | PeerBack
    | Restarting
    | Reforming
    | Finished
)


class Observer(Protocol):
    """Watches a launch. Called from the one loop that decides, so it must return quickly."""

    beat_seconds: float | None
    """How often `beat` is called while processes run; None for never."""

    def notice(self, event: LaunchEvent) -> None: ...

    def beat(self) -> None: ...
