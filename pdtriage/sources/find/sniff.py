"""What the first 64 kB of a text say about its writer."""

from __future__ import annotations

import re
from functools import cache

from pdtriage.model import FileKind


def is_text(head: bytes) -> bool:
    """Logs may hold stray bytes, and runs of NUL where a file was emptied while it was written."""
    body = head.replace(b"\0", b"")
    odd = len(body) - len(body.translate(None, _UNPRINTABLE))
    return odd * 50 <= len(body)


def kind_of_text(head: bytes, stem: str = "") -> FileKind | None:
    """The kind of log this is the beginning of, or None if nothing in it is known."""
    if not is_text(head):
        return None
    body = head.lstrip(b"\0\xef\xbb\xbf \t\r\n")
    for prefix, kind in _PREFIXES:
        if body.startswith(prefix):
            return kind
    if _is_of_kubectl(body):
        return "k8s"
    if body.startswith(b"{") and b'"PADDLE_TRAINER_ID"' in body:
        return "backup_env"
    if _share(_variable(), body) > 0.7 and b"PADDLE_" in body:
        return "env"
    if _share(_kernel_line(), body) > 0.5:
        return "kernel"
    if stem.lower().startswith(("syslog", "messages", "journal")):
        return "kernel" if b" kernel: " in body else None
    if any(literal in body for literal in _LITERALS) or _telling().search(body):
        return "console"
    return None


def _is_of_kubectl(body: bytes) -> bool:
    """Pods, events and PaddleJobs: as JSON, as `describe` shows them, or as a table."""
    if body[:1] in (b"{", b"["):
        return bool(_kubernetes_object().search(body))
    return bool(_kubectl_text().match(body))


def _share(pattern: re.Pattern[bytes], body: bytes) -> float:
    lines = [line for line in body[:8192].splitlines()[:60] if line.strip()]
    return sum(1 for line in lines if pattern.match(line)) / len(lines) if lines else 0.0


_UNPRINTABLE = bytes(set(range(1, 32)) - {0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x1B})
_PREFIXES: tuple[tuple[bytes, FileKind], ...] = (
    (b"environ({", "pod"),
    (b"PADDLE_TRAINER_ENDPOINTS:", "endpoints"),
    (b"index,uuid,driver_version", "gpu"),
)
_LITERALS: tuple[bytes, ...] = (
    # Both launchers, and those of other people that start Paddle.
    b"LAUNCH INFO ",
    b"LAUNCH WARNING ",
    b"LAUNCH ERROR ",
    b"Configuration Arguments",
    b"ABORT!!!",
    b"launch_utils.py",
    b"terminate all the procs",
    b"launch train in ",
    b"launch proc_id:",
    b"Container failed",
    b"usage: launch.py",
    b"server not ready, wait ",
    b"mpirun noticed",
    b"mpirun has exited",
    b"srun: error:",
    # Ends of a process, in any of the languages involved.
    b"Traceback (most recent call last)",
    b"Error Message Summary",
    b"*** Aborted at ",
    b"*** Check failure stack trace",
    b"terminate called ",
    b"Segmentation fault",
    b"core dumped",
    b"Log line format: [IWEF]",
    # Communication libraries.
    b" NCCL INFO ",
    b" NCCL WARN ",
    b"][BKCL]",
    b"[HCCL]",
)


@cache
def _telling() -> re.Pattern[bytes]:
    return re.compile(
        rb"\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,6} +\d+ [\w.+/-]{1,100}:\d+\]"
        rb"|\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,80}\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
        rb"|\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b[^\n]{0,40}\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d"
        rb"|\b[Ll](?:evel|vl)=\w+ msg="
        rb"|\[\d{1,9},\d{1,6}\]<std(?:err|out|diag)>:"
        rb"|(?i:\b(?:epoch|pass|iter|iters|iteration|step|batch)\b[^\n]{0,200}\b(?:loss|cost))"
        rb"|(?m:^[\w.]{0,100}(?:Error|Exception|Interrupt|Warning): )"
    )


@cache
def _kubernetes_object() -> re.Pattern[bytes]:
    return re.compile(
        rb'"kind":\s*"(?:Pod|Event|PaddleJob)(?:List)?"|"schema":\s*"pdtriage\.k8s/\d'
    )


@cache
def _kubectl_text() -> re.Pattern[bytes]:
    return re.compile(
        rb"Name: +\S+\s*\nNamespace: +\S+\s*\n(?:[^\n]*\n){0,8}?(?:Node|Service Account): "
        rb"|(?:NAMESPACE +)?NAME +READY +STATUS +RESTARTS +AGE"
        rb"|(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +OBJECT +MESSAGE"
    )


@cache
def _kernel_line() -> re.Pattern[bytes]:
    return re.compile(
        rb"(?:kern  :\w+ *: )?\[ *\d{1,9}\.\d{6}\](?: \[ *T?\d+\])? |[^\n]{10,80}? kernel: "
        rb"|\[\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}\] "
    )


@cache
def _variable() -> re.Pattern[bytes]:
    return re.compile(rb"[A-Za-z_][A-Za-z0-9_]{0,200}=")
