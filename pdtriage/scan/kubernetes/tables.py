"""Tables that `kubectl get pods` and `kubectl get events` print."""

from __future__ import annotations

import re
from collections.abc import Iterator

PODS = re.compile(r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b")
EVENTS = re.compile(r"^(?:NAMESPACE\s+)?LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE\b")
_POD = re.compile(
    r"^(?:\S+\s+)??(?P<name>[a-z0-9][a-z0-9.-]*)\s+\d+/\d+\s+(?P<status>[\w:/-]+)\s+"
    r"(?P<restarts>\d+)(?: \([^)]*\))?\s+\S+(?:\s+(?P<address>[\d.a-f:]+|<none>)\s+(?P<node>\S+))?"
)
_EVENT = re.compile(
    r"^(?:\S+\s+)??\S+\s+(?:Normal|Warning)\s+(?P<reason>\w+)\s+pod/(?P<name>\S+)\s+(?P<message>\S.*)$"
)
_WAITING = re.compile(r"(?:Err|Image|Invalid|Create|Run|Registry)\w+|CrashLoopBackOff")
_PHASES = {"Completed": "Succeeded", "Running": "Running", "Pending": "Pending"}
Document = dict[str, object]


def listed_pods(lines: list[str]) -> Iterator[Document]:
    """A pod for each row; the column STATUS mixes phases, reasons and states."""
    for line in lines:
        found = _POD.match(line)
        if not found:
            continue
        word = found["status"]
        state: Document = {}
        status: Document = {"phase": _PHASES.get(word, "")}
        if word == "Completed":
            state = {"terminated": {"reason": word, "exitCode": 0}}
        elif word in ("OOMKilled", "ContainerCannotRun", "StartError"):
            state = {"terminated": {"reason": word}}
            status["phase"] = "Failed"
        elif word == "Error":
            state, status["phase"] = {"terminated": {"reason": word, "exitCode": 1}}, "Failed"
        elif word == "Running":
            state = {"running": {"startedAt": ""}}
        elif _WAITING.fullmatch(word):
            state, status["phase"] = {"waiting": {"reason": word}}, "Pending"
        elif word not in _PHASES:
            status |= {"phase": "Failed", "reason": word}
        name = found["name"]
        status["containerStatuses"] = [
            {"name": "paddle", "restartCount": found["restarts"], "state": state}
        ]
        address, node = found["address"], found["node"]
        status["podIP"] = address if address and address != "<none>" else ""
        spec: Document = {"nodeName": node if node and node != "<none>" else ""}
        yield {"kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": status}


def listed_events(lines: list[str]) -> Iterator[Document]:
    for line in lines:
        if found := _EVENT.match(line):
            yield {
                "involvedObject": {"kind": "Pod", "name": found["name"]},
                "reason": found["reason"],
                "message": found["message"],
            }
