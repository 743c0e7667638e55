"""The user's own `kubectl`: its documents and logs, its errors by kind, and words for them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from pdtriage.scan.lines import readable_line
from pdtriage.support.language import Text
from pdtriage.support.parent import ending_with_parent

Trouble = Literal[
    "missing",  # no kubectl
    "forbidden",
    "unauthorized",
    "not-found",
    "no-type",  # the cluster does not know such a resource
    "unreachable",
    "timeout",
    "context",
    "broken",  # in the middle of an answer
    "stopped",  # by us
    "other",
]
HOPELESS: tuple[Trouble, ...] = ("missing", "unauthorized", "unreachable", "timeout", "context")
"""Asking for anything else would end the same way."""
MOST_DOCUMENT = 256 << 20
"""Bytes of one answer; a list of ten thousand pods is smaller."""
COMPLAINT = 300
LOOK = 0.2
"""Seconds between two looks at a log that grows."""


class KubectlError(Exception):
    """What kubectl could not do, and its own words for it."""

    def __init__(self, trouble: Trouble, said: str = "") -> None:
        super().__init__(said)
        self.trouble = trouble
        self.said = said


@dataclass
class Kubectl:
    """Asks the user's `kubectl`; an answer may take `patience`, or a log stand still so long."""

    program: str
    namespace: str | None = None
    context: str | None = None
    patience: float = 60.0
    stop: threading.Event = field(default_factory=threading.Event)

    def get(self, *words: str) -> object:
        """The document `kubectl get … -o json` answers with."""
        whole = [*self._words("get", *words), "--output=json"]
        whole.append(f"--request-timeout={max(1, round(self.patience))}s")
        with tempfile.TemporaryFile() as answer:
            self._run(whole, answer)
            size = answer.seek(0, 2)
            if size > MOST_DOCUMENT:
                raise KubectlError("other", f"an answer of {size:,} bytes")
            answer.seek(0)
            try:
                document: object = json.loads(answer.read().decode("utf-8", "replace") or "null")
            except (ValueError, RecursionError) as error:
                raise KubectlError("other", f"no JSON: {error}") from error
        return document

    def logs(self, pod: str, container: str, into: Path, options: Sequence[str]) -> None:
        """What a container printed, straight into a file: it may be larger than the memory.

        Whatever came before a failure stays in the file.
        """
        words = self._words("logs", f"pod/{pod}", f"--container={container}", *options)
        with into.open("wb") as file:
            self._run(words, file)

    def _words(self, verb: str, *words: str) -> list[str]:
        where = [f"--namespace={self.namespace}"] if self.namespace else []
        where += [f"--context={self.context}"] if self.context else []
        return [self.program, verb, *words, *where]

    def _run(self, words: list[str], output: IO[bytes]) -> None:
        with tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=complaints,
                    preexec_fn=ending_with_parent(),  # a log that stands still has no end
                )
            except OSError as error:
                raise KubectlError("missing", str(error)) from error
            trouble = self._wait(process, output)
            complaints.seek(0)
            said = _last_complaint(complaints.read(1 << 16))
            if trouble:
                raise KubectlError(trouble, said)
            if process.returncode:
                raise KubectlError(trouble_of(said), said or f"exit code {process.returncode}")

    def _wait(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> Trouble | None:
        """Waits until `kubectl` ends, or nothing has come from it for too long."""
        size, still = -1, 0.0
        try:
            while True:
                try:
                    process.wait(LOOK)
                    return None
                except subprocess.TimeoutExpired:
                    pass
                if self.stop.is_set():
                    return "stopped"
                grown = os.fstat(output.fileno()).st_size
                still = 0.0 if grown != size else still + LOOK
                size = grown
                if still >= self.patience:
                    return "timeout"
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def kubectl_on_path() -> str:
    """The program on PATH."""
    program = shutil.which("kubectl")
    if program is None:
        raise KubectlError("missing")
    return program


def trouble_of(said: str) -> Trouble:
    """What kind of complaint this is; kubectl has no exit codes for that."""
    for trouble, pattern in _COMPLAINTS:
        if pattern.search(said):
            return trouble
    return "other"


def why(error: KubectlError) -> Text:
    """The reason, with kubectl's own words behind it."""
    reason = _WHY[error.trouble]
    if not error.said:
        return reason
    return Text(f"{reason.en} ({error.said})", f"{reason.zh}（{error.said}）")


def not_collected(what: str, error: KubectlError, log: bool = False) -> Text:
    reason = why(error)
    if log:
        return Text(
            f"the log of {what} is missing or incomplete: {reason.en}",
            f"{what} 的日志缺失或不完整：{reason.zh}",
        )
    return Text(f"{what} could not be collected: {reason.en}", f"{what} 未能收集：{reason.zh}")


def _last_complaint(raw: bytes) -> str:
    """The last telling line: warnings and hints come before it."""
    lines = [line for part in raw.splitlines() if (line := " ".join(readable_line(part).split()))]
    telling = [line for line in lines if _TELLING.search(line)] or lines
    said = telling[-1] if telling else ""
    return said if len(said) <= COMPLAINT else said[: COMPLAINT - 1] + "…"


_TELLING = re.compile(r"(?i)error|unable|refused|forbidden|not found|timeout|deadline|EOF")
_COMPLAINTS: tuple[tuple[Trouble, re.Pattern[str]], ...] = (
    ("forbidden", re.compile(r"\(Forbidden\)|is forbidden:")),
    (
        "unauthorized",
        re.compile(r"Unauthorized|must be logged in|credentials"),
    ),
    (
        "no-type",
        re.compile(
            r"doesn't have a resource type|could not find the requested resource|no matches for"
        ),
    ),
    (
        "context",
        re.compile(r"context .{0,300}(?:does not exist|was not found)|[Ii]nvalid configuration"),
    ),
    ("not-found", re.compile(r"\(NotFound\)| not found\b")),
    ("broken", re.compile(r"unexpected EOF|connection reset|stream error|broken pipe")),
    ("timeout", re.compile(r"(?i)i/o timeout|deadline exceeded|timeout")),
    (
        "unreachable",
        re.compile(
            r"was refused|connection refused|no such host|no route to host|Unable to connect"
            r"|is unreachable|x509|certificate"
        ),
    ),
)
_WHY: dict[Trouble, Text] = {
    "missing": Text(
        "kubectl is not on PATH: install it (Debian: kubernetes-client), or collect where it is",
        "PATH 中没有 kubectl：请安装（Debian 软件包 kubernetes-client），或在装有它的机器上收集",
    ),
    "forbidden": Text(
        "the cluster forbids it; docs/kubernetes.md has the rights that are needed",
        "集群拒绝访问；所需权限见 docs/kubernetes.md",
    ),
    "unauthorized": Text(
        "the cluster does not accept your credentials: log in again",
        "集群不接受当前凭据：请重新登录",
    ),
    "not-found": Text("there is none", "不存在"),
    "no-type": Text(
        "the cluster knows no PaddleJobs: is the operator installed?",
        "集群中没有 PaddleJob 这种资源：operator 是否已安装？",
    ),
    "unreachable": Text(
        "the cluster cannot be reached: check KUBECONFIG and --context",
        "无法连接集群：请检查 KUBECONFIG 与 --context",
    ),
    "timeout": Text(
        "the cluster did not answer in time: try again, or raise --timeout",
        "集群没有及时响应：请重试，或加大 --timeout",
    ),
    "context": Text("there is no such context", "没有这个 context"),
    "broken": Text(
        "the connection broke in the middle; what came before is kept",
        "连接中途断开；已收到的部分予以保留",
    ),
    "stopped": Text("it was stopped", "已被中止"),
    "other": Text("kubectl failed", "kubectl 失败"),
}
