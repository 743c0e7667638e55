"""Cluster events: what the scheduler and the kubelets did to the pods of the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pdtriage.scan.kubernetes import reasons
from pdtriage.scan.kubernetes.pod import Sign
from pdtriage.scan.kubernetes.values import mapping, moment, text


def sign_of_event(document: Mapping[str, object]) -> Iterator[Sign]:
    """At most one sign; most events are the ordinary life of a pod."""
    about = mapping(document, "involvedObject") or mapping(document, "regarding")
    if text(about, "kind") not in ("Pod", ""):
        return
    reason = text(document, "reason")
    message = text(document, "message") or text(document, "note")
    signature, hindered = reasons.of_event(reason, message)
    pod = text(about, "name")
    if signature is None or not pod:
        return
    if signature == "k8s.evicted":
        signature = reasons.of_eviction(message, None)
    fields = {
        "pod": pod,
        "reason": reason,
        "message": message,
        "machine": text(document, "source", "host"),
        "hindered": "yes" if hindered else "",
    }
    when = next((time for name in _TIMES if (time := moment(document, name)) is not None), None)
    yield Sign(signature, pod, reason, {n: v for n, v in fields.items() if v}, when)


_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")
