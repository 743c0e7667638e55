"""The user's own `kubectl`: asked for documents and logs, its complaints told apart."""

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

from pdtriage.scan.lines import clean

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
    """`patience` is how long one answer may take, and how long a log may stand still."""

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
                    words, stdin=subprocess.DEVNULL, stdout=output, stderr=complaints
                )
            except OSError as error:
                raise KubectlError("missing", str(error)) from error
            trouble = self._wait(process, output)
            complaints.seek(0)
            said = _shortened(complaints.read(1 << 16))
            if trouble:
                raise KubectlError(trouble, said)
            if process.returncode:
                raise KubectlError(trouble_of(said), said or f"exit code {process.returncode}")

    def _wait(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> Trouble | None:
        """Until it ends, or nothing has come for too long."""
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


def found_kubectl() -> str:
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


def _shortened(raw: bytes) -> str:
    """The last telling line: warnings and hints come before it."""
    lines = [line for part in raw.splitlines() if (line := " ".join(clean(part).split()))]
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
