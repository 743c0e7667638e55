"""Small helpers: text to events with all the knowledge that ships."""

from __future__ import annotations

from functools import cache
from textwrap import dedent

from pdtriage.knowledge import load_knowledge
from pdtriage.model import Event, FileFacts, FileKind, LogFile
from pdtriage.scan import Engine, FileScanner

MODIFIED = 1_700_000_000.0  # 2023-11-14


@cache
def engine() -> Engine:
    return Engine(load_knowledge())


def facts_of(text: str | bytes, kind: FileKind = "worker", piece: int | None = None) -> FileFacts:
    """The facts of a log, fed whole or in pieces of `piece` bytes."""
    raw = dedent(text).encode() if isinstance(text, str) else text
    scanner = FileScanner(LogFile("workerlog.0", kind, "", 0, modified=MODIFIED), engine())
    step = piece or max(1, len(raw))
    for start in range(0, len(raw), step):
        scanner.feed(raw[start : start + step])
    return scanner.facts()


def telling(facts: FileFacts) -> list[Event]:
    return [event for event in facts.events if event.role in ("cause", "symptom", "victim")]
