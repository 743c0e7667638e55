"""Where the processes of a job stood at one moment, and since when it had not moved."""

from __future__ import annotations

from typing import Literal

from pdtriage.model.logs import Frame
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

StackSource = Literal["py-spy", "faulthandler", "kernel"]
StacksReason = Literal["hang", "timeout", "interrupt", "asked"]


class ProcessStack(NamedTuple):
    """One process, and what its main thread was doing."""

    pid: int
    role: str = "worker"
    rank: int | None = None
    helper: bool = False
    """A child of the rank, as a rule one that loads data for it."""
    frames: tuple[Frame, ...] = ()
    """The innermost first; empty where only the kernel told of it."""
    native: tuple[str, ...] = ()
    """Functions of C and C++ below the innermost frame, the innermost first."""
    state: str = ""
    """By the kernel: `R` runs, `S` waits, `D` waits for a device, `T` was stopped by a signal."""
    waits_in: str = ""
    """The system call it waits in; empty while it runs."""
    cpu_seconds: float | None = None
    source: StackSource = "kernel"
    step: int | None = None
    """The last it printed."""
    quiet: float | None = None
    """Seconds since its last line."""
    host: str | None = None


class Standstill(NamedTuple):
    """The stacks of a job that stood still, and why somebody wanted them."""

    time: float
    """When that was last looked at; of one hang the stacks may have been taken before."""
    reason: StacksReason
    still: float | None = None
    """Seconds since anything had moved; None where nobody measured."""
    limit: float | None = None
    """Seconds that this job may stand still, by its own rhythm so far."""
    stacks: tuple[ProcessStack, ...] = ()
    gone: tuple[int, ...] = ()
    """Ranks that had ended before, with 0."""
    notes: tuple[Text, ...] = ()
    moved_on: bool = False
    """The job went on after that."""

    def limit_or(self, otherwise: float) -> float:
        return otherwise if self.limit is None else self.limit

    @property
    def is_hang(self) -> bool:
        """Whether a job stood still for longer than it ever did, and nothing moved after that."""
        known = self.still is not None and self.limit is not None
        return known and not self.moved_on and (self.still or 0.0) >= (self.limit or 0.0)

    @property
    def readable(self) -> int:
        """Stacks that name lines of a program."""
        return sum(1 for stack in self.stacks if stack.frames)

    @property
    def is_complete(self) -> bool:
        """Whether every rank's stack names lines of a program, or a note says why none can."""
        ranks = [stack for stack in self.stacks if not stack.helper]
        return bool(self.stacks and self.notes) or bool(ranks and all(s.frames for s in ranks))

    def with_stacks_of(self, before: Standstill | None) -> Standstill:
        """What is known now, where `before` was known: of one hang the stacks that say most.

        Who asks again for stacks of a job that stands still may get fewer: ranks are being stopped
        by then, or have ended.
        """
        if before is None or self.reason == "hang" or not (before.is_hang and self.is_hang):
            return self
        if not before.readable or before.readable < self.readable:
            return self
        return before.still_at(self.time)._replace(still=self.still)

    def still_at(self, time: float) -> Standstill:
        """The same where nothing has moved until then."""
        passed = max(0.0, time - self.time)
        stacks = tuple(
            stack if stack.quiet is None else stack._replace(quiet=stack.quiet + passed)
            for stack in self.stacks
        )
        still = None if self.still is None else round(self.still + passed, 1)
        return self._replace(time=self.time + passed, still=still, stacks=stacks)
