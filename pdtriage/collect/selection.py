"""Which PaddleJob is meant, and which pods are its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pdtriage.collect.kubectl import HOPELESS, Kubectl, KubectlError
from pdtriage.scan.kubernetes.documents import items, text

OPERATORS = {
    "paddlejobs.batch.paddlepaddle.org": "paddle-res-type",
    "paddlejobs.kubeflow.org": "training.kubeflow.org/job-name={job}",
}
"""The kinds of PaddleJob there are, and the labels their operators give to pods."""

Document = Mapping[str, object]


@dataclass
class Selection:
    name: str
    job: Document | None = None
    pods: list[Document] = field(default_factory=list)
    troubles: list[tuple[str, KubectlError]] = field(default_factory=list)
    """What was asked for, and why it was not answered."""


def select(kubectl: Kubectl, job: str, selector: str | None) -> Selection:
    """The job and its pods. Raises KubectlError where the cluster does not answer at all."""
    found = Selection(job)
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
        meant = list(items(listed, "items"))
        found.pods.extend(meant if selector else _own(meant, job, found.job))
    found.pods.sort(key=lambda pod: text(pod, "metadata", "name"))
    return found


def events_of(kubectl: Kubectl, job: str, names: set[str]) -> dict[str, object]:
    """The events about these pods, the job, and pods of it that are gone."""
    listed = kubectl.get("events")
    own = [
        event
        for event in items(listed, "items")
        if (about := text(event, "involvedObject", "name")) in names
        or about == job
        or _name_of_pod(job).fullmatch(about)
    ]
    return {"apiVersion": "v1", "kind": "EventList", "items": own}


def _own(pods: list[Document], job: str, document: Document | None) -> Iterator[Document]:
    """Those the job owns; where nobody says who owns them, those that are called like it."""
    uid = text(document, "metadata", "uid") if document else ""
    for pod in pods:
        owners = list(items(pod, "metadata", "ownerReferences"))
        mine = [o for o in owners if text(o, "kind") == "PaddleJob" and text(o, "name") == job]
        if uid and mine and text(mine[0], "uid") not in ("", uid):
            continue  # of an earlier job with the same name
        if mine or (not owners and _name_of_pod(job).fullmatch(text(pod, "metadata", "name"))):
            yield pod


def _name_of_pod(job: str) -> re.Pattern[str]:
    return re.compile(re.escape(job) + r"-(?:ps|worker|heter|master)-\d+")
