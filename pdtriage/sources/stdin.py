"""Standard input: read once, held packed, so that it can be read again like a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from pdtriage.sources.archives.packing import packed
from pdtriage.sources.byte_stream import Memory
from pdtriage.sources.find.candidate import Candidate
from pdtriage.sources.limits import Limits
from pdtriage.sources.notes import Notes


def piped(stream: BinaryIO, shown: str, limits: Limits, notes: Notes) -> Candidate:
    """Everything `stream` gives until it ends, or until there is no memory for more."""
    content, complete = packed(_pieces(stream, shown, notes), limits.held)
    if not complete:
        notes.add("pipe", shown)
    return Candidate(name=shown, folder="", origin=Memory(content), layers=("held",), asked=True)


def _pieces(stream: BinaryIO, shown: str, notes: Notes) -> Iterator[bytes]:
    try:
        while piece := stream.read(1 << 20):
            yield piece
    except OSError:
        notes.add("unreadable", shown)
