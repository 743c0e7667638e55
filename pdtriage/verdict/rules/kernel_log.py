"""What the kernel's log says of the ranks and of the machine they ran on."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Event, Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation
from pdtriage.verdict.rules.rule import Rule, kernel_log
from pdtriage.verdict.suspects import Suspect, silent_suspect, speaking_suspect

OOM_KILL = "verdict.oom-kill"
LONG_AGO = 3600.0
"""Seconds; a rank may need minutes to notice, and the kernel's clock wanders."""
FAULTS_OF_CARDS = frozenset({"device.cuda", "device.hardware"})


def killed_for_memory(evidence: RunEvidence) -> list[Suspect]:
    """Ranks whose pid the kernel names as killed for memory."""
    by_pid: dict[str, list[Observation]] = {}
    for found in evidence.kernel:
        if found.category == "memory.host" and "pid" in found.event.fields:
            by_pid.setdefault(found.event.fields["pid"], []).append(found)
    suspects = []
    for reading in evidence.readings if by_pid else ():
        named = [found for pid in reading.rank.pids for found in by_pid.get(str(pid), ())]
        if named:
            why = wording.KERNEL_SAYS
            suspects.append(silent_suspect(OOM_KILL, "memory.host", reading.rank, named, why))
    return suspects


def faults(evidence: RunEvidence) -> list[Suspect]:
    """The first fault of the machine, and whose it is where the kernel names a process."""
    told = [f for f in evidence.kernel if f.event.role == "cause"]
    if not evidence.readings:  # the machine's log alone: what may have hit a training job
        told = [f for f in told if _may_hit_training(f)] or told
    if not told:
        return []
    found = told[0]
    pid = found.event.fields.get("pid")
    ranks = [r.rank for r in evidence.readings if pid and pid in map(str, r.rank.pids)][:1]
    rank = ranks[0] if ranks else None
    why, nobody = wording.KERNEL_TELLS, "launcher" if evidence.readings else "unknown"
    role = rank.role if rank else nobody
    return [speaking_suspect(found, rank, (), why, last_words=tuple(ranks), role=role)]


def _may_hit_training(found: Observation) -> bool:
    """A fault of a card, or something that befell a Python process."""
    program = found.event.fields.get("symbol", "")
    return found.category in FAULTS_OF_CARDS or program.startswith(("python", "pt_main", "paddle"))


def with_hardware(suspect: Suspect, kernel: Sequence[Observation]) -> Suspect:
    """A rank whose card failed in its hands, on a machine whose kernel says that a card broke.

    An error that comes back every time (`retry = "no"`) is the program's, whatever the card did.
    """
    own = suspect.found
    if not own or own.category not in FAULTS_OF_CARDS or own.signature.retry == "no":
        return suspect
    broken = [f for f in kernel if f.category == "device.hardware" and f.event.role == "cause"]
    then = next((f for f in broken if _about_then(f.event, own.event)), None)
    if then is None:
        return suspect
    return suspect.explained_by_line(then).because(wording.KERNEL_TELLS)


def _about_then(event: Event, other: Event) -> bool:
    """A card that broke last week broke no job today; `dmesg` without -T tells no time."""
    if event.time is None or other.time is None:
        return True
    return abs(event.time - other.time) < LONG_AGO


RULES = (
    Rule(
        "kernel-kill",
        Text("the kernel killed it for lack of memory", "内核因内存不足杀死了它"),
        kernel_log,
        killed_for_memory,
        {
            "own-cause": Text(
                "that one names whom the kernel killed, and who failed besides",
                "那条规则既指出被内核杀死的进程，也指出其他失败者",
            )
        },
    ),
    Rule(
        "kernel-fault",
        Text("the kernel's log tells of a broken machine", "内核日志显示机器有故障"),
        kernel_log,
        faults,
        {
            "elsewhere": Text(
                "which rank was not with the others says more than a fault of a machine",
                "哪个 rank 没有与其他 rank 在一起，比机器故障更能说明问题",
            )
        },
    ),
)
