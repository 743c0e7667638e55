"""Stacks as plain values: in `pdtriage stacks --format json`, the run record and the report.

Whoever reads them back believes no type: a record may have been written by anybody.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args

from pdtriage.model.logs import Frame
from pdtriage.model.stacks import ProcessStack, StackSource, StacksReason, Standstill
from pdtriage.record.fields import Json, as_count, count, items, mappings, number, text
from pdtriage.support.language import Text

MOST_STACKS = 4_096
MOST_FRAMES = 64
SHARED_FRAMES, MOST_SHARED_BYTES = (12, 8, 5, 3), 14 << 10
"""Of what one node tells the others."""
LONGEST = 500
_SOURCES: tuple[str, ...] = get_args(StackSource)
_REASONS: tuple[str, ...] = get_args(StacksReason)


def plain_standstill(taken: Standstill) -> dict[str, object]:
    return {
        "time": round(taken.time, 3),
        "reason": taken.reason,
        "still": _rounded(taken.still),
        "limit": _rounded(taken.limit),
        "moved_on": taken.moved_on,
        "gone": list(taken.gone),
        "stacks": [plain_stack(stack) for stack in taken.stacks],
        "notes": [{"en": note.en, "zh": note.zh} for note in taken.notes],
    }


def plain_stack(stack: ProcessStack) -> dict[str, object]:
    frames = [{"file": f.file, "line": f.line, "function": f.function} for f in stack.frames]
    values = stack._asdict() | {"frames": frames, "native": list(stack.native)}
    return values | {"quiet": _rounded(stack.quiet)}


def short_stacks(stacks: Sequence[ProcessStack]) -> tuple[ProcessStack, ...]:
    """What another node needs of them, as much as fits: ranks without their helpers, the innermost
    frames."""
    ranks = [stack for stack in stacks if not stack.helper and stack.rank is not None]
    for most in SHARED_FRAMES:
        short = [stack._replace(frames=stack.frames[:most], native=()) for stack in ranks]
        if len(json.dumps([plain_stack(stack) for stack in short])) <= MOST_SHARED_BYTES:
            return tuple(short)
    return ()


def read_standstill(entry: Json) -> Standstill:
    """What can be used of it; anything may stand there."""
    reason = text(entry, "reason")
    gone = (as_count(rank) for rank in items(entry, "gone")[:MOST_STACKS])
    notes = (_read_note(note) for note in mappings(entry, "notes", 8))
    return Standstill(
        time=number(entry, "time") or 0.0,
        reason=reason if reason in _REASONS else "asked",  # type: ignore[arg-type]
        still=number(entry, "still"),
        limit=number(entry, "limit"),
        stacks=read_stacks(entry, "stacks"),
        gone=tuple(rank for rank in gone if rank is not None),
        notes=tuple(note for note in notes if note.en),
        moved_on=entry.get("moved_on") is True,
    )


def read_stacks(entry: Json, key: str) -> tuple[ProcessStack, ...]:
    """The stacks of a list that have the right shape."""
    stacks = map(_read_stack, mappings(entry, key, MOST_STACKS))
    return tuple(stack for stack in stacks if stack is not None)


def _read_stack(entry: Json) -> ProcessStack | None:
    pid = count(entry, "pid")
    if pid is None:
        return None
    frames = map(_read_frame, mappings(entry, "frames", MOST_FRAMES))
    native = [name for name in items(entry, "native")[:MOST_FRAMES] if isinstance(name, str)]
    source = text(entry, "source")
    return ProcessStack(
        pid,
        text(entry, "role")[:40] or "worker",
        count(entry, "rank"),
        entry.get("helper") is True,
        tuple(frames),
        tuple(name[:LONGEST] for name in native),
        text(entry, "state")[:1],
        text(entry, "waits_in")[:LONGEST],
        number(entry, "cpu_seconds"),
        source if source in _SOURCES else "kernel",  # type: ignore[arg-type]
        count(entry, "step"),
        number(entry, "quiet"),
        text(entry, "host")[:LONGEST] or None,
    )


def _read_frame(entry: Json) -> Frame:
    line = count(entry, "line") or 0
    return Frame(_line(text(entry, "file")), line, _line(text(entry, "function")))


def _read_note(entry: Json) -> Text:
    english = _line(text(entry, "en"))
    return Text(english, _line(text(entry, "zh")) or english)


def _line(words: str) -> str:
    """Text on one line: what a stranger wrote must not look like lines of our own."""
    return " ".join(words[:LONGEST].split())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
