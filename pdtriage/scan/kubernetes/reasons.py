"""The words Kubernetes has for an end or for a start that never came, and what they mean here.

Each leads to a signature of parsers/k8s.toml, which has the title, the category and the advice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pdtriage.model import SignatureRole
from pdtriage.scan.kubernetes.documents import moment, object_at, text_at

TERMINATED = {
    "OOMKilled": "k8s.oom-killed",
    "ContainerCannotRun": "k8s.cannot-start",
    "StartError": "k8s.cannot-start",
    "DeadlineExceeded": "k8s.deadline",
}
"""Of a container that ended. `Error` and `Completed` say no more than its exit code."""
WAITING = {
    "ErrImagePull": "k8s.image",
    "ImagePullBackOff": "k8s.image",
    "InvalidImageName": "k8s.image",
    "ErrImageNeverPull": "k8s.image",
    "ImageInspectError": "k8s.image",
    "RegistryUnavailable": "k8s.image",
    "CreateContainerConfigError": "k8s.cannot-start",
    "CreateContainerError": "k8s.cannot-start",
    "RunContainerError": "k8s.cannot-start",
    "PostStartHookError": "k8s.cannot-start",
}
"""Of a container that never started; `CrashLoopBackOff` waits after lives it has had."""
POD = {
    "Evicted": "k8s.evicted",
    "Preempting": "k8s.preempted",
    "DeadlineExceeded": "k8s.deadline",
    "NodeLost": "k8s.node-lost",
    "NodeShutdown": "k8s.node-lost",
    "Shutdown": "k8s.node-lost",
    "Terminated": "k8s.node-lost",  # "in response to imminent node shutdown"
    "UnexpectedAdmissionError": "k8s.unschedulable",
    "NodeAffinity": "k8s.unschedulable",
    "OutOfcpu": "k8s.unschedulable",
    "OutOfmemory": "k8s.unschedulable",
    "OutOfpods": "k8s.unschedulable",
    "OutOfnvidia.com/gpu": "k8s.unschedulable",
}
DISRUPTION = {
    "PreemptionByScheduler": "k8s.preempted",
    "PreemptionByKubeScheduler": "k8s.preempted",
    "DeletionByTaintManager": "k8s.node-lost",
    "DeletionByPodGC": "k8s.node-lost",
    "EvictionByEvictionAPI": "k8s.evicted",
    "TerminationByKubelet": "k8s.evicted",
}
"""Of the condition `DisruptionTarget`."""
HAPPENED = {
    "Preempted": "k8s.preempted",
    "Evicted": "k8s.evicted",
    "Evict": "k8s.evicted",  # volcano
    "NodeNotReady": "k8s.node-lost",
    "TaintManagerEviction": "k8s.node-lost",
    "DeadlineExceeded": "k8s.deadline",
}
"""Events that end a pod."""
HINDERED = {
    "FailedScheduling": "k8s.unschedulable",
    "Unschedulable": "k8s.unschedulable",  # volcano
    "FailedMount": "k8s.volume",
    "FailedAttachVolume": "k8s.volume",
    "ErrImageNeverPull": "k8s.image",
    "InspectFailed": "k8s.image",
}
"""Events that come again and again while a pod waits; once it has started they mean nothing."""
STRONGEST = (
    "k8s.shm-limit",
    "k8s.oom-killed",
    "k8s.disk-limit",
    "k8s.memory-pressure",
    "k8s.preempted",
    "k8s.node-lost",
    "k8s.evicted",
    "k8s.deadline",
    "k8s.probe",
    "k8s.image",
    "k8s.cannot-start",
    "k8s.volume",
    "k8s.unschedulable",
    "k8s.init-failed",
    "k8s.pending",
)
"""Where several are told of one pod, the one that says most comes first."""

_OWN_DISK = re.compile(
    r"ephemeral local storage usage exceeds|exceeds? (?:its |the )?local ephemeral storage limit"
    r"|Usage of EmptyDir volume"
)
_EMPTY_DIR = re.compile(r'Usage of EmptyDir volume "(?P<volume>[^"]{1,253})"')
_NODE_MEMORY = re.compile(r"The node was low on resource: \[?memory|node had condition:.*Memory")
_SHUTDOWN = re.compile(r"node shutdown|node is shutting down|NodeNotReady|not ready", re.IGNORECASE)
_PROBE = re.compile(r"failed (?P<probe>liveness|startup) probe, will be restarted")
_PULL = re.compile(r"(?:Failed to pull|Back-off pulling|Error: (?:ErrImagePull|ImagePullBackOff))")


_EVENT_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")


@dataclass(frozen=True, slots=True)
class Sign:
    """Something Kubernetes says that explains an end, or a start that never came."""

    signature: str
    pod: str
    needle: str
    """What stands on the line that carries the evidence."""
    fields: Mapping[str, str] = field(default_factory=dict)
    time: float | None = None
    role: SignatureRole = "cause"


def of_eviction(message: str, shm_volume: str | None) -> str:
    """An eviction has many reasons, and the message alone says which."""
    volume = _EMPTY_DIR.search(message)
    if volume and shm_volume is not None and volume["volume"] == shm_volume:
        return "k8s.shm-limit"
    if _OWN_DISK.search(message):
        return "k8s.disk-limit"
    if _NODE_MEMORY.search(message):
        return "k8s.memory-pressure"
    return "k8s.node-lost" if _SHUTDOWN.search(message) else "k8s.evicted"


def of_event(reason: str, message: str) -> tuple[str | None, bool]:
    """The signature of a cluster event, and whether it only hindered a start."""
    if reason in HAPPENED:
        return HAPPENED[reason], False
    if reason in HINDERED:
        return HINDERED[reason], True
    if reason == "Killing" and _PROBE.search(message):
        return "k8s.probe", False
    if reason in ("Failed", "BackOff") and _PULL.search(message):
        return "k8s.image", True
    return None, False


def sign_of_event(document: Mapping[str, object]) -> Iterator[Sign]:
    """The sign in an event, if any; most events are the ordinary life of a pod."""
    about = object_at(document, "involvedObject") or object_at(document, "regarding")
    if text_at(about, "kind") not in ("Pod", ""):
        return
    reason = text_at(document, "reason")
    message = text_at(document, "message") or text_at(document, "note")
    signature, hindered = of_event(reason, message)
    pod = text_at(about, "name")
    if signature is None or not pod:
        return
    if signature == "k8s.evicted":
        signature = of_eviction(message, None)
    fields = {
        "pod": pod,
        "reason": reason,
        "message": message,
        "machine": text_at(document, "source", "host"),
        "hindered": "yes" if hindered else "",
    }
    times = (moment(document, name) for name in _EVENT_TIMES)
    when = next((time for time in times if time is not None), None)
    yield Sign(signature, pod, reason, {n: v for n, v in fields.items() if v}, when)
