"""What kubectl says of a job's pods, in any of the forms people save it, to facts.

JSON of pods, events and PaddleJobs (single, lists, or our own collection), `kubectl describe pod`,
and the tables of `kubectl get`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pdtriage.model import FileFacts, LogFile, Pod, PodJob, Text
from pdtriage.scan.kubernetes.allowed import reduced
from pdtriage.scan.kubernetes.cluster_events import sign_of_event
from pdtriage.scan.kubernetes.describe import described_pods
from pdtriage.scan.kubernetes.evidence import placed
from pdtriage.scan.kubernetes.paddle_jobs import job_of, manifest_notes
from pdtriage.scan.kubernetes.pod import Sign, pod_of, signs_of
from pdtriage.scan.kubernetes.tables import EVENTS, PODS, listed_events, listed_pods
from pdtriage.scan.kubernetes.values import items, text
from pdtriage.scan.lines import clean

MANIFEST = "pdtriage.k8s/1"
MOST_SIGNS = 2_000


def kubernetes_facts(file: LogFile, raw: bytes) -> FileFacts:
    """The facts of one document; what cannot be read is noted."""
    pods: list[Pod] = []
    signs: list[Sign] = []
    jobs: list[PodJob] = []
    notes: list[Text] = []
    try:
        for document in _documents(raw):
            kind = text(document, "kind")
            if kind == "Pod" and (pod := pod_of(document)):
                pods.append(pod)
                signs.extend(signs_of(document, pod))
            elif kind == "Event":
                signs.extend(sign_of_event(document))
            elif kind == "PaddleJob" and (job := job_of(document)):
                jobs.append(job)
            elif text(document, "schema") == MANIFEST:
                notes.extend(manifest_notes(document))
    except (ValueError, RecursionError):
        notes.append(
            Text(f"{file.path} is damaged and was not used", f"{file.path} 已损坏，未采用")
        )
    return FileFacts(
        file=file,
        events=tuple(placed(signs[:MOST_SIGNS], raw)),
        lines=raw.count(b"\n") + 1,
        bytes=len(raw),
        notes=tuple(notes),
        pods=tuple(pods),
        pod_jobs=tuple(jobs),
    )


def reduced_documents(raw: bytes) -> str:
    """The same as JSON, with what is allowed and nothing else; empty where nothing can be read."""
    try:
        found = list(_documents(raw))
    except (ValueError, RecursionError):
        return ""
    if len(found) == 1 and text(found[0], "schema") == MANIFEST:
        return as_text(found[0])
    kept = [kept for document in found if (kept := reduced(document))]
    listed = {"apiVersion": "v1", "kind": "List", "items": kept}
    return as_text(kept[0] if len(kept) == 1 else listed)


def as_text(document: object) -> str:
    """How a collection stores a document: by lines, since evidence is a line."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _documents(raw: bytes) -> Iterator[Mapping[str, object]]:
    """Every object in it, lists taken apart."""
    head = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head in (b"{", b"["):
        yield from _flat(json.loads(raw.decode("utf-8-sig", "replace")))
        return
    lines = [clean(line) for line in raw.split(b"\n")]
    if any(PODS.match(line) for line in lines[:5]):
        yield from listed_pods(lines)
    elif any(EVENTS.match(line) for line in lines[:5]):
        yield from ({"kind": "Event", **event} for event in listed_events(lines))
    else:
        for pod, events in described_pods("\n".join(lines)):
            yield pod
            yield from ({"kind": "Event", **event} for event in events)


def _flat(document: object) -> Iterator[Mapping[str, object]]:
    if isinstance(document, Mapping) and isinstance(document.get("items"), list):
        own = text(document, "kind").removesuffix("List")
        yield from ({"kind": own, **item} for item in items(document, "items"))
    elif isinstance(document, Mapping):
        yield document
    elif isinstance(document, list):
        yield from items(document)
