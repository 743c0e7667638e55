"""Pods and their jobs: which node of the job a pod is, its lives, and what ended them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pdtriage.model import Life, Pod, PodJob, Role, Text
from pdtriage.scan.kubernetes import reasons
from pdtriage.scan.kubernetes.documents import (
    VARIABLES,
    items_at,
    moment,
    number_at,
    object_at,
    text_at,
)
from pdtriage.scan.kubernetes.reasons import Sign
from pdtriage.support.lazy_regex import lazy_compile

ROLES: dict[str, Role] = {
    "worker": "worker",
    "trainer": "worker",
    "ps": "server",
    "pserver": "server",
    "server": "server",
    "master": "server",  # of the training operator: it holds the servers
    "heter": "heter",
}
_NAME = lazy_compile(rf"(?P<job>.+?)-(?P<role>{'|'.join(ROLES)})-(?P<index>\d{{1,6}})")


def pod_name_parts(name: str) -> tuple[str, Role, int] | None:
    """Job, role and index of `train-worker-0`."""
    found = _NAME.fullmatch(name)
    return (found["job"], ROLES[found["role"]], int(found["index"])) if found else None


_ROLES_BY_VARIABLE: dict[str, Role] = {
    "TRAINER": "worker",
    "PSERVER": "server",
    "HETER": "heter",
    "HETER_TRAINER": "heter",
}
_SHM = "/dev/shm"


def pod_of(document: Mapping[str, object]) -> Pod | None:
    name = text_at(document, "metadata", "name")
    if not name:
        return None
    labels = object_at(document, "metadata", "labels")
    environment = _environment(document)
    role, index = _role_and_index(name, labels, environment)
    container = _training(document)
    status = _status(document, container)
    return Pod(
        name=name,
        role=role,
        index=index,
        job=_job(document, name, labels),
        numbered="paddle-res-type" in labels or "PADDLE_TRAINER_ID" in environment,
        machine=text_at(document, "spec", "nodeName") or None,
        address=text_at(document, "status", "podIP") or None,
        phase=text_at(document, "status", "phase"),
        container=container,
        restarts=number_at(status, "restartCount") or 0,
        lives=tuple(_lives(status)),
        environment=environment,
    )


def signs_of(document: Mapping[str, object], pod: Pod) -> Iterator[Sign]:
    """What the status says went wrong; the needle of each stands in a line of the document."""
    yield from _ends(document, pod)
    yield from _removal(document, pod)
    if not pod.lives:
        yield from _never_started(document, pod)
    if _lacks_shm(document, pod):
        fields = _fields(pod, container=pod.container)
        yield Sign("k8s.no-shm", pod.name, '"volumeMounts"', fields, role="context")


def shm_volume(document: Mapping[str, object], container: str) -> str | None:
    """The name of the volume that is mounted at /dev/shm."""
    for one in items_at(document, "spec", "containers"):
        for mount in items_at(one, "volumeMounts"):
            if (
                text_at(one, "name") == container
                and text_at(mount, "mountPath").rstrip("/") == _SHM
            ):
                return text_at(mount, "name")
    return None


def _role_and_index(
    name: str, labels: Mapping[str, object], environment: Mapping[str, str]
) -> tuple[Role, int | None]:
    """A pod's role and number, by labels of either operator, by its variables, by its name."""
    named = pod_name_parts(name)
    kind = text_at(labels, "paddle-res-type") or text_at(
        labels, "training.kubeflow.org/replica-type"
    )
    told = environment.get("TRAINING_ROLE") or environment.get("PADDLE_TRAINING_ROLE", "")
    role = (
        ROLES.get(kind.lower())
        or _ROLES_BY_VARIABLE.get(told)
        or (named[1] if named else "unknown")
    )
    index = number_at(labels, "training.kubeflow.org/replica-index")
    if index is None and named:
        index = named[2]
    if index is None:
        index = number_at(environment, "PADDLE_TRAINER_ID")
    return role, index


def _job(document: Mapping[str, object], name: str, labels: Mapping[str, object]) -> str | None:
    for owner in items_at(document, "metadata", "ownerReferences"):
        if text_at(owner, "kind") == "PaddleJob":
            return text_at(owner, "name") or None
    named = pod_name_parts(name)
    return text_at(labels, "training.kubeflow.org/job-name") or (named[0] if named else None)


def _environment(document: Mapping[str, object]) -> dict[str, str]:
    return {
        text_at(variable, "name"): text_at(variable, "value")
        for container in items_at(document, "spec", "containers")
        for variable in items_at(container, "env")
        if variable.get("name") in VARIABLES and "value" in variable
    }


def _training(document: Mapping[str, object]) -> str:
    """The container called paddle, as both operators ask for, else the first."""
    names = [text_at(container, "name") for container in items_at(document, "spec", "containers")]
    names = names or [
        text_at(one, "name") for one in items_at(document, "status", "containerStatuses")
    ]
    return "paddle" if "paddle" in names or not names else names[0]


def _status(document: Mapping[str, object], container: str) -> Mapping[str, object]:
    listed = items_at(document, "status", "containerStatuses")
    return next((status for status in listed if text_at(status, "name") == container), {})


def _lives(status: Mapping[str, object]) -> Iterator[Life]:
    for state in (object_at(status, "lastState"), object_at(status, "state")):
        ended = object_at(state, "terminated")
        if ended:
            yield Life(
                moment(ended, "startedAt"),
                moment(ended, "finishedAt"),
                number_at(ended, "exitCode"),
                text_at(ended, "reason"),
            )
        elif running := object_at(state, "running"):
            yield Life(moment(running, "startedAt"), running=True)


def _ends(document: Mapping[str, object], pod: Pod) -> Iterator[Sign]:
    """How the lives of the training container ended."""
    status = _status(document, pod.container)
    limit = ""
    for one in items_at(document, "spec", "containers"):
        if text_at(one, "name") == pod.container:
            limit = text_at(one, "resources", "limits", "memory")
    attempt = pod.restarts - len(pod.lives)
    for state in ("lastState", "state"):
        ended = object_at(status, state, "terminated")
        attempt += bool(ended or object_at(status, state, "running"))
        reason = text_at(ended, "reason")
        if reason not in reasons.TERMINATED:
            continue
        fields = _fields(
            pod,
            container=pod.container,
            reason=reason,
            message=text_at(ended, "message"),
            exit_code=text_at(ended, "exitCode"),
            attempt=str(attempt),
            limit=limit if reason == "OOMKilled" else "",
        )
        when = moment(ended, "finishedAt")
        yield Sign(reasons.TERMINATED[reason], pod.name, reason, fields, when)


def _removal(document: Mapping[str, object], pod: Pod) -> Iterator[Sign]:
    """Why the pod as a whole was ended."""
    reason, message = text_at(document, "status", "reason"), text_at(document, "status", "message")
    signature = reasons.POD.get(reason)
    if signature == "k8s.evicted":
        signature = reasons.of_eviction(message, shm_volume(document, pod.container))
    if signature:
        yield Sign(signature, pod.name, reason, _fields(pod, reason=reason, message=message))
    for condition in items_at(document, "status", "conditions"):
        why = text_at(condition, "reason")
        if text_at(condition, "type") == "DisruptionTarget" and why in reasons.DISRUPTION:
            said = text_at(condition, "message")
            found = reasons.DISRUPTION[why]
            if found == "k8s.evicted":
                found = reasons.of_eviction(said, shm_volume(document, pod.container))
            when = moment(condition, "lastTransitionTime")
            yield Sign(found, pod.name, why, _fields(pod, reason=why, message=said), when)


def _never_started(document: Mapping[str, object], pod: Pod) -> Iterator[Sign]:
    for group in ("initContainerStatuses", "containerStatuses"):
        for status in items_at(document, "status", group):
            waiting, name = object_at(status, "state", "waiting"), text_at(status, "name")
            reason, said = text_at(waiting, "reason"), text_at(waiting, "message")
            if reason in reasons.WAITING:
                fields = _fields(pod, container=name, reason=reason, message=said)
                yield Sign(reasons.WAITING[reason], pod.name, reason, fields)
    yield from _failed_before(document, pod)
    for condition in items_at(document, "status", "conditions"):
        if text_at(condition, "type") == "PodScheduled" and text_at(condition, "status") == "False":
            why, said = text_at(condition, "reason"), text_at(condition, "message")
            fields = _fields(pod, reason=why, message=said)
            when = moment(condition, "lastTransitionTime")
            yield Sign("k8s.unschedulable", pod.name, why or "PodScheduled", fields, when)
    if pod.phase == "Pending":
        yield Sign("k8s.pending", pod.name, "Pending", _fields(pod, reason="Pending"))


def _failed_before(document: Mapping[str, object], pod: Pod) -> Iterator[Sign]:
    """An init container that ended badly, so that the training container waits for ever."""
    for status in items_at(document, "status", "initContainerStatuses"):
        ended = object_at(status, "state", "terminated") or object_at(
            status, "lastState", "terminated"
        )
        code = number_at(ended, "exitCode")
        if code:
            fields = _fields(
                pod,
                container=text_at(status, "name"),
                reason=text_at(ended, "reason"),
                message=text_at(ended, "message"),
                exit_code=str(code),
            )
            when = moment(ended, "finishedAt")
            yield Sign("k8s.init-failed", pod.name, f'"exitCode": {code}', fields, when)


def _lacks_shm(document: Mapping[str, object], pod: Pod) -> bool:
    known = any(
        text_at(one, "name") == pod.container for one in items_at(document, "spec", "containers")
    )
    shared = object_at(document, "spec").get("hostIPC") is True
    return known and not shared and shm_volume(document, pod.container) is None


def _fields(pod: Pod, **told: str) -> dict[str, str]:
    fields = {"pod": pod.name, "machine": pod.machine or "", **told}
    return {name: value for name, value in fields.items() if value}


_GROUPS: tuple[tuple[Role, tuple[str, ...]], ...] = (
    ("worker", ("worker",)),
    ("server", ("ps",)),
    ("heter", ("heter",)),
    ("worker", ("paddleReplicaSpecs", "Worker")),
    ("server", ("paddleReplicaSpecs", "Master")),
)


def job_of(document: Mapping[str, object]) -> PodJob | None:
    name = text_at(document, "metadata", "name")
    if not name:
        return None
    replicas: dict[Role, int] = {}
    for role, path in _GROUPS:
        count = number_at(object_at(document, "spec", *path), "replicas")
        if count is not None:
            replicas[role] = count
    return PodJob(name, phase_of(document), replicas)


def phase_of(document: Mapping[str, object]) -> str:
    """paddle-operator has a phase; the training operator the newest condition that holds."""
    phase = text_at(document, "status", "phase")
    if phase:
        return phase
    holding = [
        text_at(condition, "type")
        for condition in items_at(document, "status", "conditions")
        if text_at(condition, "status") == "True"
    ]
    return holding[-1] if holding else ""


def manifest_notes(document: Mapping[str, object]) -> Iterator[Text]:
    """What could not be collected, in the words the manifest has for it."""
    for group in ("left_out", "warnings"):
        for entry in items_at(document, group):
            en, zh = text_at(entry, "en"), text_at(entry, "zh")
            if en and entry.get("report") is not False:
                yield Text(en, zh or en)
