"""A stand-in for the API server of a cluster: the few REST paths that kubectl needs here.

It is no Kubernetes: it answers from what a test puts into it, and fails where a test says so.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Document = dict[str, Any]
PADDLE = "batch.paddlepaddle.org"
KUBEFLOW = "kubeflow.org"


@dataclass
class Cluster:
    """What the API server knows, and where it fails."""

    pods: list[Document] = field(default_factory=list)
    events: list[Document] = field(default_factory=list)
    jobs: list[Document] = field(default_factory=list)
    logs: dict[tuple[str, str, bool], bytes] = field(default_factory=dict)
    """By pod, container and whether it is the life before."""
    groups: tuple[str, ...] = (PADDLE,)
    """Operators whose PaddleJob is installed."""
    faults: dict[str, str] = field(default_factory=dict)
    """A pattern of paths to an HTTP status, or `break`, `stall`."""
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    """The most logs that were asked for at the same time."""


@contextmanager
def standing_in(cluster: Cluster, home: Path) -> Iterator[dict[str, str]]:
    """Serves on loopback; yields the environment in which kubectl finds it."""
    server = _Server(("127.0.0.1", 0), _handler(cluster))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    config = home / "kubeconfig"
    config.write_text(kubeconfig(f"http://127.0.0.1:{server.server_port}"))
    try:
        yield {"KUBECONFIG": str(config), "HOME": str(home), "KUBECACHEDIR": str(home / "cache")}
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a kubectl that was killed
            super().handle_error(request, client_address)


def kubeconfig(server: str) -> str:
    """A kubeconfig is YAML, and JSON is YAML."""
    context = {"cluster": "stand-in", "user": "tester", "namespace": "ml"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stand-in", "cluster": {"server": server}}],
            "users": [{"name": "tester", "user": {}}],
            "contexts": [{"name": "lab", "context": context}],
            "current-context": "lab",
        }
    )


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()
    busy = [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_words: object) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            cluster.asked.append(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            whole = f"{parts.path}?{parts.query}"
            fault = next((f for at, f in cluster.faults.items() if re.search(at, whole)), "")
            if fault.isdecimal():
                self.refuse(int(fault), parts.path)
            elif found := re.fullmatch(r"/api/v1/namespaces/ml/pods/([^/]+)/log", parts.path):
                with lock:
                    busy[0] += 1
                    cluster.at_once = max(cluster.at_once, busy[0])
                try:
                    self.print_log(found[1], query, fault)
                finally:
                    with lock:
                        busy[0] -= 1
            else:
                answer = answered(cluster, parts.path, query)
                tables = "as=Table" in self.headers.get("Accept", "")
                if answer and answer.get("kind") == "Pod" and tables:
                    answer = table(answer)
                if answer is None:
                    self.refuse(404, parts.path)
                else:
                    self.answer(200, answer)

        def answer(self, status: int, document: Document) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def refuse(self, status: int, path: str) -> None:
            reasons = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 500: "InternalError"}
            name = path.rpartition("/")[2]
            words = {
                403: f'{name} is forbidden: User "tester" cannot get resource in namespace "ml"',
                404: f'paddlejobs "{name}" not found',
            }
            self.answer(
                status,
                {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "reason": reasons[status],
                    "code": status,
                    "message": words.get(status, reasons[status]),
                    "details": {"name": name},
                },
            )

        def print_log(self, pod: str, query: dict[str, str], fault: str) -> None:
            key = (pod, query.get("container", "paddle"), query.get("previous") == "true")
            text = cluster.logs.get(key)
            if text is None:
                self.refuse(404, f"/{pod}")
                return
            text = cut(text, query)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            half = len(text) // 2 if fault else len(text)
            self.chunk(text[:half])
            if fault == "stall":
                time.sleep(300)  # whoever waits for it waits longer than any test
            if fault:
                self.close_connection = True
                self.connection.shutdown(2)  # without the closing chunk: the client knows
                return
            self.chunk(b"")

        def chunk(self, piece: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    return Handler


def table(pod: Document) -> Document:
    """One pod as `kubectl get` wants to print it."""
    status = pod["status"]
    state = next(iter(status["containerStatuses"]), {"state": {}, "restartCount": 0})
    reason = state["state"].get("terminated", {}).get("reason", status["phase"])
    row = {
        "Name": pod["metadata"]["name"],
        "Ready": "0/1",
        "Status": reason,
        "Restarts": str(state["restartCount"]),
        "Age": "62m",
        "IP": status.get("podIP", "<none>"),
        "Node": pod["spec"].get("nodeName", "<none>"),
    }
    columns = [{"name": name, "type": "string", "priority": 0} for name in row]
    rows = [{"cells": list(row.values())}]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": columns,
        "rows": rows,
    }


def cut(text: bytes, query: dict[str, str]) -> bytes:
    lines = text.splitlines(keepends=True)
    if "tailLines" in query:
        lines = lines[-int(query["tailLines"]) :]
    if query.get("timestamps") == "true":
        lines = [
            b"2026-01-01T00:%02d:%02d.%09dZ " % (n // 60 % 60, n % 60, n) + line
            for n, line in enumerate(lines)
        ]
    text = b"".join(lines)
    return text[: int(query["limitBytes"])] if "limitBytes" in query else text


def answered(cluster: Cluster, path: str, query: dict[str, str]) -> Document | None:
    """Discovery, pods, events and PaddleJobs."""
    fixed = _discovery(cluster).get(path)
    if fixed is not None:
        return fixed
    if path == "/api/v1/namespaces/ml/events":
        return {"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": cluster.events}
    if path == "/api/v1/namespaces/ml/pods":
        meant = [pod for pod in cluster.pods if _fits(pod, query.get("labelSelector", ""))]
        return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": meant}
    if found := re.fullmatch(r"/api/v1/namespaces/ml/pods/([^/]+)", path):
        return next((p for p in cluster.pods if p["metadata"]["name"] == found[1]), None)
    if found := re.fullmatch(r"/apis/([^/]+)/v1/namespaces/ml/paddlejobs/([^/]+)", path):
        return next(
            (
                job
                for job in cluster.jobs
                if job["apiVersion"] == f"{found[1]}/v1" and job["metadata"]["name"] == found[2]
            ),
            None,
        )
    return None


def _fits(pod: Document, selector: str) -> bool:
    labels = pod["metadata"].get("labels", {})
    for wanted in filter(None, selector.split(",")):
        name, equals, value = wanted.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    return True


def _discovery(cluster: Cluster) -> dict[str, Document]:
    def resource(name: str, kind: str) -> Document:
        return {
            "name": name,
            "singularName": kind.lower(),
            "namespaced": True,
            "kind": kind,
            "verbs": ["get", "list"],
        }

    def version(group: str) -> Document:
        return {"groupVersion": f"{group}/v1", "version": "v1"}

    found: dict[str, Document] = {
        "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [
                {"name": group, "versions": [version(group)], "preferredVersion": version(group)}
                for group in cluster.groups
            ],
        },
        "/api/v1": {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [
                resource("pods", "Pod"),
                resource("pods/log", "Pod"),
                resource("events", "Event"),
            ],
        },
    }
    for group in cluster.groups:
        found[f"/apis/{group}/v1"] = {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/v1",
            "resources": [resource("paddlejobs", "PaddleJob")],
        }
    return found
