"""Several logs in one text, each below its name: what `tail -n 100 log/workerlog.*` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pdtriage.sources.byte_stream import Memory, Unpacked
from pdtriage.sources.display_path import join_display, member_parts
from pdtriage.sources.find.candidates import Candidate
from pdtriage.sources.limits import HEAD, Limits, Room
from pdtriage.sources.notes import Notes

_HEADER = re.compile(rb"(?:\A|(?<=\n))==> ([^\r\n]{1,1000}) <==\r?\n")


def headed_members(
    text: Candidate, limits: Limits, notes: Notes, room: Room
) -> Iterator[Candidate]:
    """The logs in it; what `tail -f` shows of one log in turns with others is one log."""
    most = min(limits.in_memory, room.left)
    content = bytearray()
    pieces = Unpacked(text.origin, text.layers, limits).pieces(
        HEAD, lambda reason: notes.add(reason, text.path)
    )
    for piece in pieces:
        if len(content) + len(piece) > most:
            notes.add("large", text.path)
            return
        content += piece
    room.left -= len(content)
    for count, (name, log) in enumerate(_parts(bytes(content)).items()):
        if count >= limits.entries:
            notes.add("entries", text.path)
            return
        parts = member_parts(name)
        if not parts:
            continue
        yield Candidate(
            name=parts[-1],
            folder=join_display(text.path, "/".join(parts[:-1])) if parts[:-1] else text.path,
            origin=Memory(bytes(log)),
            size=len(log),
            modified=text.modified,
            inside=text.inside + 1,
        )


def _parts(content: bytes) -> dict[str, bytearray]:
    """The logs by name, without the empty line that `tail` puts before the next."""
    pieces = _HEADER.split(content)
    logs: dict[str, bytearray] = {}
    last = len(pieces) - 2
    for at in range(1, len(pieces), 2):
        name, log = pieces[at].decode(errors="replace"), pieces[at + 1]
        if at < last and log.endswith(b"\n\n"):
            log = log[:-1]
        logs.setdefault(name, bytearray()).extend(log)
    return logs
