"""Which PaddleJob is meant, which pods are its own, and what becomes of them when it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pdtriage.collect.kubectl import HOPELESS, Kubectl, KubectlError
from pdtriage.scan.kubernetes.documents import items_at, object_at, text_at
from pdtriage.scan.kubernetes.pods import phase_of
from pdtriage.support.language import Text

OPERATORS = {
    "paddlejobs.batch.paddlepaddle.org": "paddle-res-type",
    "paddlejobs.kubeflow.org": "training.kubeflow.org/job-name={job}",
}
"""The kinds of PaddleJob there are, and the labels their operators give to pods."""

ENDED_WELL = frozenset({"Completed", "Succeed", "Succeeded"})
ENDED_BADLY = frozenset({"Failed", "Aborted", "Terminated"})

Document = Mapping[str, object]


@dataclass
class PodSelection:
    name: str
    job: Document | None = None
    pods: list[Document] = field(default_factory=list)
    troubles: list[tuple[str, KubectlError]] = field(default_factory=list)
    """What was asked for, and why it was not answered."""


def select(kubectl: Kubectl, job: str, selector: str | None) -> PodSelection:
    """The job and its pods. Raises KubectlError where the cluster does not answer at all."""
    found = PodSelection(job)
    labels = [selector] if selector else []
    for resource, label in OPERATORS.items():
        try:
            document = kubectl.get(resource, job)
        except KubectlError as error:
            if error.trouble in HOPELESS:
                raise
            found.troubles.append((resource, error))
            continue
        if isinstance(document, Mapping) and found.job is None:
            found.job = document
            labels = labels or [label.format(job=job)]
            break
    for label in labels or [label.format(job=job) for label in OPERATORS.values()]:
        listed = kubectl.get("pods", f"--selector={label}")
        meant = list(items_at(listed, "items"))
        found.pods.extend(meant if selector else _own(meant, job, found.job))
    found.pods.sort(key=lambda pod: text_at(pod, "metadata", "name"))
    return found


def job_events(kubectl: Kubectl, job: str, names: set[str]) -> dict[str, object]:
    """The events about these pods, the job, and pods of it that are gone."""
    listed = kubectl.get("events")
    own = [
        event
        for event in items_at(listed, "items")
        if (about := text_at(event, "involvedObject", "name")) in names
        or about == job
        or _name_of_pod(job).fullmatch(about)
    ]
    return {"apiVersion": "v1", "kind": "EventList", "items": own}


def deletion_warnings(job: Document) -> list[Text]:
    """Whether `cleanPodPolicy` has deleted logs, or will.

    paddle-operator deletes the pods of a completed job unless told otherwise; the training
    operator of Kubeflow keeps them unless told otherwise.
    """
    phase = phase_of(job)
    policy, on_failure, on_success = _policy(job)
    shown = f"cleanPodPolicy: {policy}" if policy else "cleanPodPolicy is not set"
    shown_zh = f"cleanPodPolicy: {policy}" if policy else "未设置 cleanPodPolicy"
    if (phase in ENDED_BADLY and on_failure) or (phase in ENDED_WELL and on_success):
        return [
            Text(
                f"{shown}: the operator deletes the pods of the job, and their logs with them, "
                "since it has ended; what is missing here is gone",
                f"{shown_zh}：任务已结束，operator 会删除其 Pod 及日志；此处缺少的部分已无法取得",
            )
        ]
    if phase in ENDED_BADLY | ENDED_WELL or not (on_failure or on_success):
        return []
    when = ("fails or completes", "失败或完成") if on_failure and on_success else None
    when = when or (("fails", "失败") if on_failure else ("completes", "完成"))
    keep = "None" if _is_kubeflow(job) else "Never"
    return [
        Text(
            f"{shown}: when the job {when[0]}, its pods are deleted and their logs with them; "
            f"collect before that, or set cleanPodPolicy: {keep}",
            f"{shown_zh}：任务{when[1]}后其 Pod 与日志会被删除；请在此之前收集，"
            f"或设置 cleanPodPolicy: {keep}",
        )
    ]


def _own(pods: list[Document], job: str, document: Document | None) -> Iterator[Document]:
    """The pods that the job owns; where no owner is named, those that are called like it."""
    uid = text_at(document, "metadata", "uid") if document else ""
    for pod in pods:
        owners = list(items_at(pod, "metadata", "ownerReferences"))
        mine = [
            o for o in owners if text_at(o, "kind") == "PaddleJob" and text_at(o, "name") == job
        ]
        if uid and mine and text_at(mine[0], "uid") not in ("", uid):
            continue  # of an earlier job with the same name
        if mine or (not owners and _name_of_pod(job).fullmatch(text_at(pod, "metadata", "name"))):
            yield pod


def _name_of_pod(job: str) -> re.Pattern[str]:
    return re.compile(re.escape(job) + r"-(?:ps|worker|heter|master)-\d+")


def _policy(job: Document) -> tuple[str, bool, bool]:
    """The job's words for it, whether pods of a failed job are removed, and of a completed one."""
    if _is_kubeflow(job):
        policy = text_at(object_at(job, "spec", "runPolicy"), "cleanPodPolicy")
        return policy, policy == "All", policy == "All"
    policy = text_at(job, "spec", "cleanPodPolicy")
    return policy, policy in ("Always", "OnFailure"), policy in ("", "Always", "OnCompletion")


def _is_kubeflow(job: Document) -> bool:
    return text_at(job, "apiVersion").startswith("kubeflow.org/")
