"""What the kernel's log says of the ranks and of the machine they ran on."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Event
from pdtriage.verdict import wording
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.suspects import Suspect, suspect_of

LONG_AGO = 3600.0
"""Seconds; a rank may need minutes to notice, and the kernel's clock wanders."""
FAULTS_OF_CARDS = frozenset({"device.cuda", "device.hardware"})


def killed(readings: Sequence[RankReading], kernel: Sequence[Observation]) -> list[Suspect]:
    """Ranks whose pid the kernel names as killed for memory."""
    by_pid: dict[str, list[Observation]] = {}
    for found in kernel:
        if found.category == "memory.host" and "pid" in found.event.fields:
            by_pid.setdefault(found.event.fields["pid"], []).append(found)
    suspects = []
    for reading in readings if by_pid else ():
        named = [found for pid in reading.rank.pids for found in by_pid.get(str(pid), ())]
        if named:
            suspect = suspect_of("verdict.oom-kill", "memory.host", reading.rank, named)
            suspect.why.append(wording.kernel_says())
            suspects.append(suspect)
    return suspects


def faults(readings: Sequence[RankReading], kernel: Sequence[Observation]) -> list[Suspect]:
    """What the kernel says of the machine, and of a rank where it names its process."""
    suspects = []
    for found in kernel:
        if found.event.role == "cause":
            pid = found.event.fields.get("pid")
            named = [r.rank for r in readings if pid in map(str, r.rank.pids)] if pid else []
            suspect = suspect_of(found.event.signature, found.category, next(iter(named), None), [])
            suspect.found = found
            if suspect.rank is None:
                suspect.role = "launcher"
            suspect.fields = dict(found.event.fields)
            suspect.why.append(wording.kernel_tells())
            suspects.append(suspect)
    return suspects[:1]


def with_memory(gone: list[Suspect], kernel: Sequence[Observation]) -> list[Suspect]:
    """A process that vanished on a machine whose kernel killed for memory at some time."""
    memory = [f for f in kernel if f.category == "memory.host" and f.event.role == "cause"]
    for suspect in gone:
        if memory and suspect.signature in ("verdict.silent", "verdict.killed"):
            suspect.signature, suspect.category = "verdict.oom-kill", "memory.host"
            suspect.support = [*memory[:2], *suspect.support]
            suspect.why.append(wording.kernel_killed_somebody())
    return gone


def with_hardware(strong: list[Suspect], kernel: Sequence[Observation]) -> list[Suspect]:
    """A rank whose card failed in its hands, on a machine whose kernel says that a card broke.

    An error that comes back every time (`retry = "no"`) is the program's, whatever the card did.
    """
    broken = [f for f in kernel if f.category == "device.hardware" and f.event.role == "cause"]
    for suspect in strong if broken else ():
        own = suspect.found
        if not own or own.category not in FAULTS_OF_CARDS or own.signature.retry == "no":
            continue
        then = next((f for f in broken if _about_then(f.event, own.event)), None)
        if then:
            suspect.signature, suspect.category = then.signature.id, then.category
            suspect.found, suspect.support = then, [own, *suspect.support]
            suspect.fields = dict(then.event.fields)
            suspect.why.append(wording.kernel_tells())
    return strong


def _about_then(event: Event, other: Event) -> bool:
    """A card that broke last week broke no job today; `dmesg` without -T tells no time."""
    if event.time is None or other.time is None:
        return True
    return abs(event.time - other.time) < LONG_AGO
