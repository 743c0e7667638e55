"""Suspects that Kubernetes names: pods that were killed, removed, or never started."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Rank, RunFacts
from pdtriage.verdict import wording
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.silent_suspects import CRASH_SIGNALS, by_exit
from pdtriage.verdict.suspects import SIGKILL, Accusers, Suspect, suspect_of

NEVER_STARTED = frozenset(
    {
        "k8s.cannot-start",
        "k8s.image",
        "k8s.init-failed",
        "k8s.pending",
        "k8s.unschedulable",
        "k8s.volume",
    }
)
NO_SHM = "k8s.no-shm"


def told_by_cluster(
    facts: RunFacts,
    readings: Sequence[RankReading],
    accusers: Accusers,
    cluster: Sequence[Observation],
) -> list[Suspect]:
    """One for every pod of which Kubernetes says why it ended or never began.

    This is the word of the parent: the kubelet saw the end, the scheduler refused the start.
    """
    suspects: dict[str, Suspect] = {}
    for found in cluster:
        pod = found.event.fields.get("pod", "")
        if found.event.role != "cause":
            continue
        if pod in suspects:
            if len(suspects[pod].support) < 2:
                suspects[pod].support.append(found)
            continue
        rank = _rank_of(pod, facts, readings)
        suspect = suspect_of(found.event.signature, found.signature.category or "", rank, [])
        suspect.found, suspect.host = found, pod
        suspect.fields = dict(found.event.fields)
        suspect.accusers = accusers.get(rank.key, ()) if rank else ()
        suspect.why.append(wording.cluster_says(found.event.fields))
        suspects[pod] = suspect
    return sorted(suspects.values(), key=Suspect.strength)


def with_words_of_their_own(told: list[Suspect], strong: Sequence[Suspect]) -> list[Suspect]:
    """Both kinds of evidence together; of one pod the more telling, with the other as support.

    A pod that the cluster ended did not also fail by itself, unless its own words are about
    something else: then they came first.
    """
    own = {suspect.rank.key: suspect for suspect in strong if suspect.rank}
    kept: list[Suspect] = []
    merged: set[tuple[str, int, int, str]] = set()
    for suspect in told:
        spoken = own.get(suspect.rank.key) if suspect.rank else None
        if spoken is None:
            kept.append(suspect)
        elif spoken.category == suspect.category or suspect.category == "memory.host":
            suspect.support = [f for f in (spoken.found, *spoken.support) if f] + suspect.support
            merged |= {spoken.rank.key} if spoken.rank else set()
            kept.append(suspect)
        elif suspect.found:
            spoken.support.append(suspect.found)
    others = [s for s in strong if not (s.rank and s.rank.key in merged)]
    for suspect in kept:
        suspect.certain = not others
    return [*kept, *others]


def ended_badly(readings: Sequence[RankReading]) -> list[Suspect]:
    """Pods that ended with an error code and say nothing of it themselves."""
    quiet = [
        reading
        for reading in readings
        if reading.quiet
        and (ending := reading.rank.exit) is not None
        and ending.seen_by == "kubelet"
        and not ending.stopped
        and (ending.signal is not None or ending.code)
    ]
    crashed = [r for r in quiet if r.rank.exit and r.rank.exit.signal in CRASH_SIGNALS]
    suspects = []
    for reading in crashed or quiet:
        suspect = by_exit(reading.rank)
        suspect.position = reading.position
        suspect.why.append(wording.seen_by_kubelet())
        suspects.append(suspect)
    return sorted(suspects, key=Suspect.strength)


def with_mounts(suspects: list[Suspect], cluster: Sequence[Observation]) -> list[Suspect]:
    """A bus error in a pod without memory at /dev/shm has its reason in the PaddleJob."""
    bare = {f.event.fields.get("pod"): f for f in cluster if f.event.signature == NO_SHM}
    for suspect in suspects:
        lacking = bare.get(suspect.rank.host if suspect.rank else suspect.host)
        if lacking is None:
            continue
        if suspect.signature == "verdict.bus-error":
            suspect.signature, suspect.category = NO_SHM, "memory.shm"
        if suspect.category == "memory.shm":
            suspect.support.insert(0, lacking)
            suspect.why.append(wording.no_shared_memory())
    return suspects


def _rank_of(pod: str, facts: RunFacts, readings: Sequence[RankReading]) -> Rank | None:
    """The process of the pod; of several the one that was killed, else nobody in particular."""
    own = [r for r in readings if pod in (r.rank.host, *r.rank.addresses)]
    if len(own) == 1:
        several = own[0].rank.role == "worker" and (facts.world_size or 0) > len(facts.nodes)
        return None if several and own[0].rank.lines else own[0].rank
    killed = [r.rank for r in own if r.rank.exit and r.rank.exit.signal == SIGKILL]
    quiet = [r.rank for r in own if r.quiet]  # who complains of a lost peer outlived it
    meant = killed if len(killed) == 1 else quiet
    return meant[0] if len(meant) == 1 else None
