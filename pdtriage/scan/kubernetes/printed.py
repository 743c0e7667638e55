"""What kubectl prints for people (`describe pod`, tables of `get`), to the shape it has as JSON.

Only what tells something of an end is read; what is indented in another way is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_POD_BEGINS = re.compile(r"(?m)^Name:\s+(\S+)\s*$")
_FIELD = re.compile(
    r"^(?P<indent> *)(?P<name>[A-Za-z][\w ./-]*?):(?:\s+(?P<value>\S(?:.*\S)?))?\s*$"
)
_VARIABLE = re.compile(r"^ {6}(?P<name>[A-Z_a-z][\w]*):\s+(?P<value>\S(?:.*\S)?)\s*$")
_MOUNT = re.compile(r"^ {6}(?P<path>/\S*) from (?P<volume>\S+) \(")
_CONDITION = re.compile(r"^ {2}(?P<type>\w+)\s+(?P<status>True|False|Unknown)\s*$")
_EVENT = re.compile(
    r"^ {2}(?P<type>Normal|Warning)\s+(?P<reason>\w+)\s+(?P<age>[\dhmsdy]+(?: \([^)]*\))?)\s+"
    r"(?P<source>[\w./-]+(?:, \S+)?)\s+(?P<message>\S.*)$"
)
_INNER = {
    "Reason": "reason",
    "Message": "message",
    "Exit Code": "exitCode",
    "Signal": "signal",
    "Started": "startedAt",
    "Finished": "finishedAt",
}
PODS = re.compile(r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b")
EVENTS = re.compile(r"^(?:NAMESPACE\s+)?LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE\b")
_POD_ROW = re.compile(
    r"^(?:\S+\s+)??(?P<name>[a-z0-9][a-z0-9.-]*)\s+\d+/\d+\s+(?P<status>[\w:/-]+)\s+"
    r"(?P<restarts>\d+)(?: \([^)]*\))?\s+\S+(?:\s+(?P<address>[\d.a-f:]+|<none>)\s+(?P<node>\S+))?"
)
_EVENT_ROW = re.compile(
    r"^(?:\S+\s+)??\S+\s+(?:Normal|Warning)\s+(?P<reason>\w+)\s+pod/(?P<name>\S+)\s+(?P<message>\S.*)$"
)
_WAITING = re.compile(r"(?:Err|Image|Invalid|Create|Run|Registry)\w+|CrashLoopBackOff")
_PHASES = {"Completed": "Succeeded", "Running": "Running", "Pending": "Pending"}
Document = dict[str, object]


def pods_in_description(text: str) -> Iterator[tuple[Document, list[Document]]]:
    """Each pod with the events listed below it."""
    starts = [found.start() for found in _POD_BEGINS.finditer(text)]
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield _pod(text[begin:end].splitlines())


def _pod(lines: list[str]) -> tuple[Document, list[Document]]:
    sections = _sections(lines)
    top = {name: value for name, (value, _) in sections.items()}
    name, machine = top.get("Name", ""), top.get("Node", "").partition("/")[0]
    status: Document = {
        "phase": top.get("Status", "").partition(" ")[0],
        "reason": top.get("Reason", ""),
        "message": top.get("Message", ""),
        "podIP": top.get("IP", ""),
        "containerStatuses": list(_states(sections, "Containers")),
        "initContainerStatuses": list(_states(sections, "Init Containers")),
        "conditions": _conditions(sections),
    }
    owner = top.get("Controlled By", "").partition("/")
    metadata: Document = {
        "name": name,
        "namespace": top.get("Namespace", ""),
        "labels": dict(_labels(sections)),
        "ownerReferences": [{"kind": owner[0], "name": owner[2]}] if owner[2] else [],
    }
    spec: Document = {
        "nodeName": "" if machine == "<none>" else machine,
        "containers": list(_containers(sections)),
    }
    document: Document = {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    return document, list(_events(sections, name))


def _sections(lines: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Sections by the names at the left margin: the value beside each, and the lines below."""
    found: dict[str, tuple[str, list[str]]] = {}
    below: list[str] = []
    for line in lines:
        field = _FIELD.match(line)
        if field and not field["indent"]:
            below = [line] if field["name"] == "Labels" else []
            found.setdefault(field["name"], (field["value"] or "", below))
        else:
            below.append(line)
    return found


def _labels(sections: dict[str, tuple[str, list[str]]]) -> Iterator[tuple[str, str]]:
    for line in sections.get("Labels", ("", []))[1]:
        name, equals, value = line.removeprefix("Labels:").strip().partition("=")
        if equals:
            yield name, value


def _blocks(sections: dict[str, tuple[str, list[str]]], section: str) -> dict[str, list[str]]:
    """The containers of a section, each with its own lines."""
    found: dict[str, list[str]] = {}
    below: list[str] = []
    for line in sections.get(section, ("", []))[1]:
        field = _FIELD.match(line)
        if field and len(field["indent"]) == 2 and not field["value"]:
            below = found.setdefault(field["name"], [])
        else:
            below.append(line)
    return found


def _states(sections: dict[str, tuple[str, list[str]]], section: str) -> Iterator[Document]:
    for name, lines in _blocks(sections, section).items():
        status: Document = {"name": name, "state": {}, "lastState": {}}
        inner: Document = {}
        for line in lines:
            field = _FIELD.match(line)
            if not field:
                continue
            key, value = field["name"], field["value"] or ""
            if len(field["indent"]) == 4:
                inner = {}
                if key in ("State", "Last State"):
                    status["state" if key == "State" else "lastState"] = {value.lower(): inner}
                elif key == "Restart Count":
                    status["restartCount"] = value
            elif len(field["indent"]) == 6 and key in _INNER:
                inner[_INNER[key]] = value
        yield status


def _containers(sections: dict[str, tuple[str, list[str]]]) -> Iterator[Document]:
    for name, lines in _blocks(sections, "Containers").items():
        env: list[Document] = []
        mounts: list[Document] = []
        limits: Document = {}
        at = ""
        for line in lines:
            field = _FIELD.match(line)
            if field and len(field["indent"]) == 4:
                at = field["name"]
            elif at == "Environment" and (variable := _VARIABLE.match(line)):
                env.append({"name": variable["name"], "value": variable["value"]})
            elif at == "Mounts" and (mount := _MOUNT.match(line)):
                mounts.append({"mountPath": mount["path"], "name": mount["volume"]})
            elif at == "Limits" and field:
                limits[field["name"]] = field["value"] or ""
        yield {
            "name": name,
            "env": env,
            "volumeMounts": mounts,
            "resources": {"limits": limits},
        }


def _conditions(sections: dict[str, tuple[str, list[str]]]) -> list[Document]:
    found = (_CONDITION.match(line) for line in sections.get("Conditions", ("", []))[1])
    return [{"type": row["type"], "status": row["status"]} for row in found if row]


def _events(sections: dict[str, tuple[str, list[str]]], pod: str) -> Iterator[Document]:
    for line in sections.get("Events", ("", []))[1]:
        if found := _EVENT.match(line):
            yield {
                "involvedObject": {"kind": "Pod", "name": pod},
                "reason": found["reason"],
                "message": found["message"],
            }


def pods_in_table(lines: list[str]) -> Iterator[Document]:
    """A pod for each row; the column STATUS mixes phases, reasons and states."""
    for line in lines:
        found = _POD_ROW.match(line)
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


def events_in_table(lines: list[str]) -> Iterator[Document]:
    for line in lines:
        if found := _EVENT_ROW.match(line):
            yield {
                "involvedObject": {"kind": "Pod", "name": found["name"]},
                "reason": found["reason"],
                "message": found["message"],
            }
