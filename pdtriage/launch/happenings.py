"""What the launcher tells whoever watches: typed, in the order it happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from pdtriage.launch.flags import LaunchFlags
from pdtriage.launch.plan import Plan
from pdtriage.launch.record import DeathRecord, ProcessRecord, RunRecord
from pdtriage.model import Text

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


@dataclass(frozen=True, slots=True)
class Noted:
    """A line for people."""

    text: Text
    level: Level = "INFO"


@dataclass(frozen=True, slots=True)
class Configured:
    """The flags are understood; nothing was started yet."""

    flags: LaunchFlags


@dataclass(frozen=True, slots=True)
class Invited:
    """No master was given: this command starts the other nodes."""

    command: tuple[str, ...]
    master: str


@dataclass(frozen=True, slots=True)
class Planned:
    """About to start these processes."""

    plan: Plan
    record_file: str


@dataclass(frozen=True, slots=True)
class Started:
    """A process runs, and writes into `folder/process.log` from `process.offset` on."""

    process: ProcessRecord
    folder: str


@dataclass(frozen=True, slots=True)
class Watching:
    """All processes run."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Died:
    """A process ended, in whatever way; `first` marks the first failure."""

    death: DeathRecord
    first: bool = False


@dataclass(frozen=True, slots=True)
class Stopping:
    """SIGTERM (or, in the end, SIGKILL) goes to the processes of these ranks."""

    reason: str
    signal: int
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Somebody told us to stop; `again` means now."""

    signal: int
    again: bool = False


@dataclass(frozen=True, slots=True)
class PeerSpoke:
    """Another node says what it saw; already checked for size and shape, not for truth."""

    node: int
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PeerSilent:
    """A node has not been heard of for so many seconds."""

    node: int
    seconds: float
    since: float
    """Wall clock of the last sign of life."""


@dataclass(frozen=True, slots=True)
class PeerDiffers:
    """A node starts another number of processes than this one: such a job cannot run."""

    node: int
    processes: int
    own: int


@dataclass(frozen=True, slots=True)
class PeerBack:
    """A silent node is heard of again."""

    node: int


@dataclass(frozen=True, slots=True)
class Finished:
    """Everything has ended and the record is complete."""

    record: RunRecord
    exit_code: int
    culprits: tuple[int, ...]


Happening = (
    Noted
    | Configured
    | Invited
    | Planned
    | Started
    | Watching
    | Died
    | Stopping
    | Interrupted
    | PeerSpoke
    | PeerSilent
    | PeerDiffers
    | PeerBack
    | Finished
)


class Observer(Protocol):
    """Watches a launch. Called from the one loop that decides, so it must return quickly."""

    beat_seconds: float | None
    """How often `beat` is called while processes run; None for never."""

    def notice(self, happening: Happening) -> None: ...

    def beat(self) -> None: ...
