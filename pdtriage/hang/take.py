"""Takes the stacks of the processes of a job: by py-spy, and else what the kernel tells."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.hang.kernel_view import children_by_parent, descendants_of, vitals_of, waits_in
from pdtriage.hang.py_spy import PythonStack, how_to_allow, python_stacks
from pdtriage.hang.stack_groups import STOPPED
from pdtriage.hang.written_stacks import written_stacks
from pdtriage.model.logs import Frame
from pdtriage.model.stacks import ProcessStack
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

MOST_HELPERS = 8
"""Of one rank: what one loader worker waits for, the others do as well."""
MOST_RANKS = 256
WRITTEN_IN = 10.0
"""Seconds, for processes that write their stacks themselves."""


class StackTarget(NamedTuple):
    """A process of a job, and what part it has there."""

    pid: int
    role: str = "worker"
    rank: int | None = None
    step: int | None = None
    quiet: float | None = None


class TakenStacks(NamedTuple):
    """What came of it, and how to see more."""

    stacks: tuple[ProcessStack, ...]
    notes: tuple[Text, ...] = ()


def take_stacks(
    targets: Sequence[StackTarget], seconds: float, *, native: bool = False
) -> TakenStacks:
    """Takes the stacks of ranks and their children, in so many seconds at most."""
    children = children_by_parent()
    listed: list[ProcessStack] = []
    for target in targets[:MOST_RANKS]:
        helpers = descendants_of(target.pid, children)[:MOST_HELPERS]
        for pid in (target.pid, *helpers):
            seen = _by_kernel(pid, target, helper=pid != target.pid)
            if seen is not None:
                listed.append(seen)
    held = [stack.pid for stack in listed if stack.state in STOPPED]
    pids = [stack.pid for stack in listed if not stack.helper]
    pids += [stack.pid for stack in listed if stack.helper]
    answers = python_stacks(pids, seconds, native=native, stopped=held)
    refused = [pid for pid in pids if not (answer := answers.get(pid)) or not answer.frames]
    written = written_stacks([pid for pid in refused if pid not in held], WRITTEN_IN)
    stacks = [_joined(stack, answers.get(stack.pid), written.get(stack.pid)) for stack in listed]
    told = len(refused) < len(pids) or written
    allow = None if told else how_to_allow([answer.refusal for answer in answers.values()])
    return TakenStacks(tuple(stacks), (allow,) if allow is not None else ())


def _by_kernel(pid: int, target: StackTarget, *, helper: bool) -> ProcessStack | None:
    vitals = vitals_of(pid)
    if vitals is None or vitals.state in "ZX":
        return None
    return ProcessStack(
        pid,
        target.role,
        target.rank,
        helper,
        state=vitals.state,
        waits_in=waits_in(pid) if vitals.state != "R" else "",
        cpu_seconds=round(vitals.cpu_seconds, 2),
        step=None if helper else target.step,
        quiet=None if helper else target.quiet,
    )


def _joined(
    stack: ProcessStack, answer: PythonStack | None, written: tuple[Frame, ...] | None
) -> ProcessStack:
    if answer is not None and answer.frames:
        frames = _since_fork(answer.frames) if stack.helper else answer.frames
        return stack._replace(frames=frames, native=answer.native, source="py-spy")
    if written:
        frames = _since_fork(written) if stack.helper else written
        return stack._replace(frames=frames, source="faulthandler")
    return stack


def _since_fork(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """What a forked process does itself; below that stands what its parent did then."""
    for place, frame in enumerate(frames):
        if frame.function.endswith("_bootstrap") and "/multiprocessing/" in frame.file:
            return frames[: place + 1]
    return frames
