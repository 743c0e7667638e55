"""Suspects that Kubernetes names: pods that were killed, removed, or never started."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Rank, Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.life import CRASH_SIGNALS
from pdtriage.verdict.rank_reading import Observation
from pdtriage.verdict.rules.deaths import BUS_ERROR, by_exit
from pdtriage.verdict.rules.rule import Rule, no_success
from pdtriage.verdict.suspects import SIGKILL, Suspect, speaking_suspect


def pods_ended(evidence: RunEvidence) -> list[Suspect]:
    """Pods of which Kubernetes says why they ended or never began."""
    return with_words_of_their_own(ended_by_cluster(evidence), ())


def ended_by_cluster(evidence: RunEvidence) -> list[Suspect]:
    """One for every pod of which Kubernetes says why it ended or never began.

    This is the word of the parent: the kubelet saw the end, the scheduler refused the start.
    """
    by_pod: dict[str, list[Observation]] = {}
    for found in evidence.cluster:
        if found.event.role == "cause":
            by_pod.setdefault(found.event.fields.get("pod", ""), []).append(found)
    suspects = []
    for pod, (found, *more) in by_pod.items():
        rank = _rank_of(pod, evidence)
        suspects.append(
            speaking_suspect(
                found,
                rank,
                more[:2],
                wording.cluster_says(found.event.fields),
                accusers=evidence.accusers.get(rank.key, ()) if rank else (),
                last_words=(rank,) if rank else (),
                category=found.signature.category or "",
                host=pod,
            )
        )
    return sorted(suspects, key=Suspect.strength)


def with_words_of_their_own(ended: Sequence[Suspect], strong: Sequence[Suspect]) -> list[Suspect]:
    """Pods by both kinds of evidence together; of one pod the more telling, supported by the other.

    A pod that the cluster ended did not also fail by itself, unless its own words are about
    something else: then they came first.
    """
    own = {suspect.rank.key: suspect for suspect in strong if suspect.rank}
    believed: list[Suspect] = []
    others = {id(suspect): suspect for suspect in strong}
    for suspect in ended:
        key = suspect.rank.key if suspect.rank else None
        spoken = own.get(key) if key else None
        if key is None or spoken is None:
            believed.append(suspect)
        elif spoken.category == suspect.category or suspect.category == "memory.host":
            words = [f for f in (spoken.found, *spoken.support) if f]
            believed.append(suspect.supported_by(*words))
            others.pop(id(spoken), None)
        elif suspect.found:
            others[id(spoken)] = spoken.supported_last_by(suspect.found)
    return [*(s.because(certain=not others) for s in believed), *others.values()]


def ended_with_error(evidence: RunEvidence) -> list[Suspect]:
    """Pods that ended with an error code and say nothing of it themselves."""
    quiet = [
        reading
        for reading in evidence.readings
        if reading.quiet
        and (ending := reading.rank.exit) is not None
        and ending.seen_by == "kubelet"
        and not ending.stopped
        and (ending.signal is not None or ending.code)
    ]
    crashed = [r for r in quiet if r.rank.exit and r.rank.exit.signal in CRASH_SIGNALS]
    suspects = [
        by_exit(reading.rank, position=reading.position).because(wording.SEEN_BY_KUBELET)
        for reading in crashed or quiet
    ]
    return sorted(suspects, key=Suspect.strength)


def with_mounts(suspects: Sequence[Suspect], cluster: Sequence[Observation]) -> list[Suspect]:
    """Adds to a bus error in a pod without memory at /dev/shm its reason in the PaddleJob."""
    bare = {f.event.fields.get("pod"): f for f in cluster if f.says("lacks-shm")}
    return [_with_mounts(s, bare.get(s.rank.host if s.rank else s.host)) for s in suspects]


def _with_mounts(suspect: Suspect, lacking: Observation | None) -> Suspect:
    if lacking is None:
        return suspect
    if suspect.category != "memory.shm":  # as that of a bus error is
        return suspect
    told = lacking.signature.id if suspect.signature == BUS_ERROR else suspect.signature
    return suspect.explained_by(told, "memory.shm", lacking).because(wording.NO_SHARED_MEMORY)


def _rank_of(pod: str, evidence: RunEvidence) -> Rank | None:
    """The process of the pod; of several the one that was killed, else nobody in particular."""
    facts = evidence.facts
    own = [r for r in evidence.readings if pod in (r.rank.host, *r.rank.addresses)]
    if len(own) == 1:
        several = own[0].rank.role == "worker" and (facts.world_size or 0) > len(facts.nodes)
        return None if several and own[0].rank.lines else own[0].rank
    killed = [r.rank for r in own if r.rank.exit and r.rank.exit.signal == SIGKILL]
    quiet = [r.rank for r in own if r.quiet]  # who complains of a lost peer outlived it
    meant = killed if len(killed) == 1 else quiet
    return meant[0] if len(meant) == 1 else None


def pod_states(evidence: RunEvidence) -> bool:
    """Kubernetes says something of the pods."""
    return bool(evidence.cluster) and no_success(evidence)


RULES = (
    Rule(
        "pod-end",
        Text("Kubernetes says how its pod ended", "Kubernetes 说明了其 pod 如何结束"),
        pod_states,
        pods_ended,
        {
            "kernel-kill": Text(
                "the kernel names the process, the cluster only its pod",
                "内核指出进程，集群只指出 pod",
            )
        },
    ),
    Rule(
        "pod-exit",
        Text("it ended with an error code", "它以错误码结束"),
        no_success,
        ended_with_error,
        {
            "lost-peer": Text(
                "whom the others miss was gone before who merely ended badly",
                "其他 rank 找不到的那个，比只是异常退出的更早消失",
            )
        },
    ),
)
