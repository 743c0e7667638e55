"""Pods of a PaddleJob as the operators make them, and the ends Kubernetes has for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.collect.standin import KUBEFLOW, PADDLE, Cluster

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
STARTED, ENDED, AGAIN = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T01:00:12Z"
ROLES = {"worker": "TRAINER", "ps": "PSERVER", "heter": "HETER"}
SECRET = "s3cr3t-of-the-cluster"
Document = dict[str, Any]


def ended(code: int, reason: str = "Error", **more: str) -> Document:
    times = {"startedAt": STARTED, "finishedAt": ENDED}
    return {"terminated": {"exitCode": code, "reason": reason, **times, **more}}


def running(since: str = STARTED) -> Document:
    return {"running": {"startedAt": since}}


def pod(
    role: str,
    index: int,
    state: Document | None = None,
    *,
    before: Document | None = None,
    restarts: int = 0,
    phase: str = "Failed",
    shm: bool = True,
    job: str = "train",
    **status: object,
) -> Document:
    """As paddle-operator makes it; without a `state` its container never was."""
    name = f"{job}-{role}-{index}"
    container: Document = {
        "name": "paddle",
        "image": "registry.example/paddle:3",
        "args": ["train.py", f"--token={SECRET}"],
        "env": [
            {"name": "PADDLE_TRAINER_ID", "value": str(index)},
            {"name": "TRAINING_ROLE", "value": ROLES[role]},
            {"name": "STORE_PASSWORD", "value": SECRET},
        ],
        "resources": {"limits": {"memory": "16Gi"}},
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}] if shm else [],
    }
    statuses = [
        {
            "name": "paddle",
            "restartCount": restarts,
            "state": state or {},
            "lastState": before or {},
        }
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ml",
            "labels": {"paddle-res-name": name, "paddle-res-type": role},
            "annotations": {"paddle-resource": role, "last-applied": SECRET},
            "ownerReferences": [
                {"apiVersion": f"{PADDLE}/v1", "kind": "PaddleJob", "name": job, "uid": "u-1"}
            ],
        },
        "spec": {"nodeName": f"gpu{index:02}", "containers": [container]},
        "status": {
            "phase": phase,
            "podIP": f"10.77.0.{index + 1}",
            "containerStatuses": statuses if state else [],
            **status,
        },
    }


def job(workers: int = 2, servers: int = 0, phase: str = "Failed", **spec: object) -> Document:
    replicas = {
        "worker": {"replicas": workers},
        **({"ps": {"replicas": servers}} if servers else {}),
    }
    return {
        "apiVersion": f"{PADDLE}/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "train", "namespace": "ml", "uid": "u-1"},
        "spec": {"cleanPodPolicy": "Never", **replicas, **spec},
        "status": {"phase": phase, "mode": "PS" if servers else "Collective"},
    }


def event(name: str, reason: str, message: str, time: str = ENDED) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": name},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": time,
    }


def kubeflow(document: Document) -> Document:
    """The same pod as the training operator makes it."""
    labels = document["metadata"].pop("labels")
    role, index = labels["paddle-res-type"], labels["paddle-res-name"].rpartition("-")[2]
    owner = document["metadata"]["ownerReferences"][0]
    owner["apiVersion"] = f"{KUBEFLOW}/v1"
    document["metadata"]["labels"] = {
        "training.kubeflow.org/job-name": owner["name"],
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": index,
    }
    document["spec"]["containers"][0]["env"] = []
    return document


def cluster_of(
    pods: list[Document], logs: Mapping[str, bytes | Path | str], **more: Any
) -> Cluster:
    """`logs` by `pod` or `pod/previous`; a text is a scenario's file below `tests/fixtures`."""
    printed = {}
    for name, text in logs.items():
        owner, _, life = name.partition("/")
        found = text if isinstance(text, bytes) else (SCENARIOS / text).read_bytes()
        printed[owner, "paddle", life == "previous"] = found
    return Cluster(pods=pods, logs=printed, **more)
