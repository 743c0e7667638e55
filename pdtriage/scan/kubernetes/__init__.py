"""What kubectl says of a job's pods, in any of the forms people save it, to facts.

JSON of pods, events and PaddleJobs (single, lists, or our own collection), `kubectl describe pod`,
and the tables of `kubectl get`. A spec holds secrets, and a secret may contain any word. So a line
is shown as evidence only where it is nothing but a field of a status with the very word, or a row
of a table that kubectl prints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pdtriage.model import Event, FileFacts, LogFile, Pod, PodJob, Text
from pdtriage.scan.kubernetes.documents import items_at, reduce_document, text_at
from pdtriage.scan.kubernetes.pods import job_of, manifest_notes, pod_of, signs_of
from pdtriage.scan.kubernetes.printed import (
    EVENTS,
    PODS,
    events_in_table,
    pods_in_description,
    pods_in_table,
)
from pdtriage.scan.kubernetes.reasons import Sign, sign_of_event
from pdtriage.scan.lines import readable_line, shorten

MANIFEST = "pdtriage.k8s/1"
MOST_SIGNS = 2_000
LONGEST_LINE = 300
CONTEXT = 2
"""Lines shown around the one that carries the evidence."""

_FIELD = re.compile(
    rb"""(?mx)^(?:
    [ \t]*"name"[ \t]*:[ \t]*"(?P<pod>[^"\\\n]+)"
    | Name:[ \t]+(?P<described>\S+)
    | [ \t]*"(?:reason|phase|type)"[ \t]*:[ \t]*"(?P<word>[^"\\\n]+)"
    | [ \t]*(?:Reason|Status):[ \t]+(?P<said>[\w./]+)
    | [ \t]*(?:"exitCode"[ \t]*:|Exit[ ]Code:)[ \t]*(?P<code>\d{1,9})
    | [ \t]*(?P<mounts>"volumeMounts"[ \t]*:[ \t]*\[\]?|Mounts:(?:[ \t]+<none>)?)
    | [ ]{2}(?P<condition>\w+)[ ]+(?:True|False|Unknown)
    | [ ]{2}(?:Normal|Warning)[ ]+(?P<happened>\w+)[ ]+\S[^\n]*
    | (?:\S+[ ]+)??(?P<row>[a-z0-9][a-z0-9.-]*)[ ]+\d+/\d+[ ]+(?P<state>\S+)[ ]+\d[^\n]*
    | (?:\S+[ ]+)??\S+[ ]+(?:Normal|Warning)[ ]+(?P<reason>\w+)[ ]+pod/(?P<about>\S+)[ ][^\n]*
    )[ \t]*,?[ \t]*\r?$"""
)
_STATUS = re.compile(
    rb'\s*(?:"(?:terminated|waiting|running|state|lastState|exitCode|reason|message|phase|type'
    rb'|status|startedAt|finishedAt|lastTimestamp|count)"|(?:Last )?State|Reason|Message|Exit Code'
    rb"|Started|Finished|Status)\s*:"
)
"""Lines that may be shown beside evidence: the neighbours of a spec hold secrets."""


def kubernetes_facts(file: LogFile, raw: bytes) -> FileFacts:
    """The facts of one document; what cannot be read is noted."""
    pods: list[Pod] = []
    signs: list[Sign] = []
    jobs: list[PodJob] = []
    notes: list[Text] = []
    try:
        for document in _documents(raw):
            kind = text_at(document, "kind")
            if kind == "Pod" and (pod := pod_of(document)):
                pods.append(pod)
                signs.extend(signs_of(document, pod))
            elif kind == "Event":
                signs.extend(sign_of_event(document))
            elif kind == "PaddleJob" and (job := job_of(document)):
                jobs.append(job)
            elif text_at(document, "schema") == MANIFEST:
                notes.extend(manifest_notes(document))
    except (ValueError, RecursionError):
        notes.append(
            Text(f"{file.path} is damaged and was not used", f"{file.path} 已损坏，未采用")
        )
    return FileFacts(
        file=file,
        events=tuple(events_of_signs(signs[:MOST_SIGNS], raw)),
        lines=raw.count(b"\n") + 1,
        bytes=len(raw),
        notes=tuple(notes),
        pods=tuple(pods),
        pod_jobs=tuple(jobs),
    )


def reduced_documents(raw: bytes) -> str:
    """Documents as JSON, with what is allowed and nothing else; empty where none can be read."""
    try:
        found = list(_documents(raw))
    except (ValueError, RecursionError):
        return ""
    if len(found) == 1 and text_at(found[0], "schema") == MANIFEST:
        return as_text(found[0])
    kept = [kept for document in found if (kept := reduce_document(document))]
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
    lines = [readable_line(line) for line in raw.split(b"\n")]
    if any(PODS.match(line) for line in lines[:5]):
        yield from pods_in_table(lines)
    elif any(EVENTS.match(line) for line in lines[:5]):
        yield from ({"kind": "Event", **event} for event in events_in_table(lines))
    else:
        for pod, events in pods_in_description("\n".join(lines)):
            yield pod
            yield from ({"kind": "Event", **event} for event in events)


def _flat(document: object) -> Iterator[Mapping[str, object]]:
    if isinstance(document, Mapping) and isinstance(document.get("items"), list):
        own = text_at(document, "kind").removesuffix("List")
        yield from ({"kind": own, **item} for item in items_at(document, "items"))
    elif isinstance(document, Mapping):
        yield document
    elif isinstance(document, list):
        yield from items_at(document)


def events_of_signs(signs: Sequence[Sign], raw: bytes) -> Iterator[Event]:
    """Each with the line it stands on; where none is found, the pod's, and the word alone."""
    places = _locations(signs, raw) if signs else {}
    for sign in signs:
        place = places.get((sign.pod, sign.needle))
        near = place or places.get((sign.pod, "")) or _Location(0, 1)
        above, line, below = _around(raw, near.start) if place else ([], b"", [])
        margin = len(line) - len(line.lstrip(b" "))
        whole = place is not None and len(line) <= LONGEST_LINE
        yield Event(
            signature=sign.signature,
            role=sign.role,
            category=None,
            line=near.number,
            offset=near.start,
            text=_display_line(line, margin) if whole else sign.needle,
            fields=sign.fields,
            time=sign.time,
            before=tuple(_display_line(line, margin) for line in above if _STATUS.match(line)),
            after=tuple(_display_line(line, margin) for line in below if _STATUS.match(line)),
        )


@dataclass(frozen=True, slots=True)
class _Location:
    start: int
    number: int


def _locations(signs: Sequence[Sign], raw: bytes) -> dict[tuple[str, str], _Location]:
    """The first line of each word behind the name of its pod; with "" that of the name."""
    pods = {sign.pod for sign in signs}
    wanted = {(sign.pod, sign.needle) for sign in signs} | {(pod, "") for pod in pods}
    found: dict[tuple[str, str], _Location] = {}
    pod, at, number = "", 0, 1
    for line in _FIELD.finditer(raw):
        number += raw.count(b"\n", at, line.start())
        at = line.start()
        owner, word = _owner_and_word(line)
        if owner in pods and not word:
            pod = owner
        key = (owner or pod, word)
        if key in wanted:
            found.setdefault(key, _Location(at, number))
    return found


def _owner_and_word(line: re.Match[bytes]) -> tuple[str, str]:
    """The pod that the line itself names, and the word it says of one, as `Sign.needle` has it."""
    kind = line.lastgroup or ""
    value = line[kind].decode("utf-8", "replace")
    if kind in ("pod", "described"):
        return value, ""
    if kind == "state":
        return line["row"].decode(), value
    if kind == "about":
        return value, line["reason"].decode("utf-8", "replace")
    if kind == "code":
        return "", f'"exitCode": {int(value)}'
    return "", '"volumeMounts"' if kind == "mounts" else value


def _around(raw: bytes, start: int) -> tuple[list[bytes], bytes, list[bytes]]:
    above = raw[max(0, start - 4_000) : start].splitlines()[-CONTEXT:]
    line, *below = raw[start : start + 8_000].split(b"\n")
    return above, line, below[:CONTEXT]


def _display_line(line: bytes, margin: int) -> str:
    """A line as far to the left as the one that matters."""
    indent = len(line) - len(line.lstrip(b" "))
    return shorten(readable_line(line[min(indent, margin) :])).rstrip()
