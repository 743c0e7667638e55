"""What `pdtriage run` and the process that reads its logs tell each other: one JSON text a line.

Both sides may meet a process that was killed in the middle of a word, so that a line is whole or
does not count, and only nouns of a closed list are made of it.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pdtriage.record.schema import PeerRecord, ProcessRecord, RunRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text

MOST = 64 << 20
"""Bytes of one line."""


class Setup(NamedTuple):
    """The first word: what to read with, where the logs lie, in which language to answer."""

    parsers: tuple[str, ...]
    folder: str
    language: Language


class Follow(NamedTuple):
    """Tells the reader that a process was started."""

    process: ProcessRecord
    folder: str


class Dead(NamedTuple):
    """Tells the reader that a process will write no more."""

    pid: int


class PeerReported(NamedTuple):
    """Tells the reader what another node saw."""

    peer: PeerRecord


class Turn(NamedTuple):
    """`muted`: the job is being stopped, only those that died before may still be told of;
    `again`: another attempt begins, in the same files."""

    what: Literal["muted", "again"]


class Ask(NamedTuple):
    """A question; `Answered` or `Failed` with its number follows."""

    number: int
    what: Literal["facts", "conclude", "publish"]
    record: RunRecord
    seconds: float
    """For reading what was not read yet."""
    decisions: Mapping[int, tuple[bool, Text]] = {}
    files: str | None = None
    """Where the report is to go, besides the log folder and the terminal."""


class Alert(NamedTuple):
    """Tells the launcher what people have to know at once."""

    text: Text
    failure: bool = True
    """Else it is only a warning."""


class Statuses(NamedTuple):
    """How far each process has come, see `ProcessStatus`."""

    rows: tuple[tuple[object, ...], ...]


class Beat(NamedTuple):
    """A question takes its time, and somebody is at work on it."""

    number: int


class Answered(NamedTuple):
    """Tells the launcher the answer to the question of that number."""

    number: int
    value: Any


class Failed(NamedTuple):
    """A question that cannot be answered."""

    number: int
    why: str


class Published(NamedTuple):
    """What to show of a report, and what went wrong with its files."""

    shown: str
    trouble: Text | None = None


_HOMES = {
    __name__: (
        *("Setup", "Follow", "Dead", "PeerReported", "Turn", "Ask"),
        *("Alert", "Statuses", "Beat", "Answered", "Failed", "Published"),
    ),
    "pdtriage.support.language": ("Text",),
    "pdtriage.record.schema": (
        *("ProcessRecord", "DeathRecord", "SignalRecord", "PeerFacts", "PeerRecord"),
        *("RestartRecord", "RunRecord"),
    ),
    "pdtriage.model.stacks": ("Standstill", "ProcessStack"),
    "pdtriage.model.logs": ("Frame", "CardEvent"),
    "pdtriage.record.peer_facts": ("PeerRank", "PeerExit", "PeerEvent"),
    "pdtriage.launch.supervise.outcome": ("Conclusion", "Failure", "Reached"),
    "pdtriage.launch.supervise.restart": ("Decision",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MAPPING = ""
"""Stands where a noun has its name."""


def pack_message(message: object) -> bytes:
    return json.dumps(_plain(message)).encode() + b"\n"


def unpack_message(line: bytes) -> Any:
    """ValueError for what is none of our nouns, or of another shape."""
    try:
        return _noun(json.loads(line))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        items = [_plain(item) for item in value]
        return {type(value).__name__: items} if hasattr(value, "_fields") else items
    if isinstance(value, Mapping):
        return {_MAPPING: [[key, _plain(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _noun(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_noun, value))
    if not isinstance(value, dict):
        return value
    ((name, items),) = value.items()
    if name == _MAPPING:
        return {key: _noun(item) for key, item in items}
    return getattr(importlib.import_module(_HOME_OF[name]), name)(*map(_noun, items))
