"""Several logs in one text: each below its name, as `tail -n 100 log/workerlog.*` prints them, or
with the rank, the host or the pod before each line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO

from pdtriage.sources.byte_stream import Memory, Unpacked
from pdtriage.sources.display_path import join_display, member_parts
from pdtriage.sources.find.candidates import Candidate
from pdtriage.sources.find.recognise import label_of
from pdtriage.sources.limits import HEAD, Limits, Room
from pdtriage.sources.notes import Notes

_HEADER = re.compile(rb"(?:\A|(?<=\n))==> ([^\r\n]{1,1000}) <==\r?\n")


def headed_members(
    text: Candidate, limits: Limits, notes: Notes, room: Room
) -> Iterator[Candidate]:
    """The logs in it; what `tail -f` shows of one log in turns with others is one log."""
    content = _content(text, limits, notes, room)
    if content is None:
        notes.add("large", text.path)
        return
    for count, (name, log) in enumerate(_parts(content).items()):
        if count >= limits.entries:
            notes.add("entries", text.path)
            return
        parts = member_parts(name)
        if not parts:
            continue
        folder = join_display(text.path, "/".join(parts[:-1])) if parts[:-1] else text.path
        yield _member(text, parts[-1], folder, log)


def labelled_members(text: Candidate, limits: Limits, notes: Notes, room: Room) -> list[Candidate]:
    """The logs in it; none where one process alone may have labelled its own lines, and of what is
    too large to be held, which is read as it is."""
    content = _content(text, limits, notes, room) or b""
    label = label_of(content[:HEAD])
    if label is None:
        return []
    logs: dict[str, bytearray] = {}
    name, is_foreign = "", False
    for line in BytesIO(content):  # a carriage return ends none
        found = label.pattern.match(line)
        if found is None and label.by_wrapper:
            return []  # it has words of its own, which are of no process
        name = _log_name(found[1].decode()) if found else name
        own = line[found.end() :] if found else line
        # no program labels the frames of a traceback, or empty lines
        is_foreign = is_foreign or (found is not None and not own[:1].strip())
        logs.setdefault(name, bytearray()).extend(own)
    if len(logs) > limits.entries or (label.may_be_own and not is_foreign):
        return []
    if len(logs) < 2 and (label.by_wrapper or not is_foreign):
        return []
    return [_member(text, name, text.path, log) for name, log in logs.items()]


def _log_name(label: str) -> str:
    return f"workerlog.{int(label)}" if label.isdecimal() else f"{label}.log"


def _member(text: Candidate, name: str, folder: str, log: bytearray) -> Candidate:
    return Candidate(
        name=name,
        folder=folder,
        origin=Memory(bytes(log)),
        size=len(log),
        modified=text.modified,
        inside=text.inside + 1,
    )


def _content(text: Candidate, limits: Limits, notes: Notes, room: Room) -> bytes | None:
    """All of the text, unless it is too large to be held."""
    most = min(limits.in_memory, room.left)
    content = bytearray()
    pieces = Unpacked(text.origin, text.layers, limits).pieces(
        HEAD, lambda reason: notes.add(reason, text.path)
    )
    for piece in pieces:
        if len(content) + len(piece) > most:
            return None
        content += piece
    room.left -= len(content)
    return bytes(content)


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
