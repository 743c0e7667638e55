"""A PaddleJob of either operator, and the notes of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pdtriage.model import PodJob, Role, Text
from pdtriage.scan.kubernetes.values import items, mapping, number, text

_GROUPS: tuple[tuple[Role, tuple[str, ...]], ...] = (
    ("worker", ("worker",)),
    ("server", ("ps",)),
    ("heter", ("heter",)),
    ("worker", ("paddleReplicaSpecs", "Worker")),
    ("server", ("paddleReplicaSpecs", "Master")),
)


def job_of(document: Mapping[str, object]) -> PodJob | None:
    name = text(document, "metadata", "name")
    if not name:
        return None
    replicas: dict[Role, int] = {}
    for role, path in _GROUPS:
        count = number(mapping(document, "spec", *path), "replicas")
        if count is not None:
            replicas[role] = count
    return PodJob(name, phase_of(document), replicas)


def phase_of(document: Mapping[str, object]) -> str:
    """paddle-operator has a phase; the training operator the newest condition that holds."""
    phase = text(document, "status", "phase")
    if phase:
        return phase
    holding = [
        text(condition, "type")
        for condition in items(document, "status", "conditions")
        if text(condition, "status") == "True"
    ]
    return holding[-1] if holding else ""


def manifest_notes(document: Mapping[str, object]) -> Iterator[Text]:
    """What could not be collected, in the words the manifest has for it."""
    for group in ("left_out", "warnings"):
        for entry in items(document, group):
            en, zh = text(entry, "en"), text(entry, "zh")
            if en and entry.get("report") is not False:
                yield Text(en, zh or en)
