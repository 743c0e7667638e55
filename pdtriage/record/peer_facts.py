"""What nodes tell each other of their ranks, as JSON: in a message and in the run record.

A peer is a stranger: what has the wrong type is left out and what is long is cut. Whether any of
it is true is for others to judge (`runs.peer_ranks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.record.fields import Json, as_count, count, items, mapping, mappings, number
from pdtriage.record.schema import PeerFacts
from pdtriage.record.stack_codec import plain_stack, read_stacks
from pdtriage.support.fast_namedtuple import NamedTuple

MOST_RANKS = 512
MOST_EVENTS = 8
"""Of a rank, in what one node tells another."""
MOST_STEPS = 4
MOST_PIDS = 8
MOST_FIELDS = 12
LONGEST_TEXT = 500
LONGEST_NAME = 200


PeerStep = tuple[int, int, int, int | None]
"""Line, offset, step and epoch."""


class PeerEvent(NamedTuple):
    """Something a log on another node says: what it means is for our own knowledge to tell."""

    file: str
    signature: str
    line: int
    offset: int = 0
    first_line: int = 0
    last_line: int = 0
    last_seen: int = 0
    count: int = 1  # type: ignore[assignment]
    block: int = 0
    final: bool = False
    time: float | None = None
    pid: int | None = None
    text: str = ""
    fields: Mapping[str, str] = {}
    frame: tuple[str, int, str] | None = None
    ends_at: int = 0
    """Where its process had ended with it."""


class PeerExit(NamedTuple):
    """How a process on another node ended."""

    order: int | None = None
    code: int | None = None
    signal: int | None = None
    time: float | None = None
    stopped: bool = False


class PeerRank(NamedTuple):
    """One process of another node, as that node tells."""

    role: str
    rank: int | None
    local_rank: int | None = None
    host: str | None = None
    device: str | None = None
    lines: int = 0
    pids: tuple[int, ...] = ()
    exit: PeerExit | None = None
    last_time: float | None = None
    steps: tuple[PeerStep, ...] = ()
    events: tuple[PeerEvent, ...] = ()


def encode_facts(facts: PeerFacts) -> dict[str, object]:
    """A node's facts as JSON: the keys are the names of the fields."""
    encoded = {"failed": facts.failed, **facts._asdict()}
    if facts.interrupted is None:
        del encoded["interrupted"]
    stacks = [plain_stack(stack) for stack in facts.stacks]
    del encoded["stacks"]
    encoded["ranks"] = [_encode_rank(rank) for rank in facts.ranks]
    return encoded | ({"stacks": stacks} if stacks else {})


def decode_facts(entry: Json) -> PeerFacts:
    """What can be used of it; anything may stand there."""
    return PeerFacts(
        role=_name(entry, "role") or None,
        rank=count(entry, "rank"),
        code=_below(entry, "code", 256),
        signal=_below(entry, "signal", 65) or None,
        ranks=tuple(_decode_rank(item) for item in mappings(entry, "ranks", MOST_RANKS)),
        interrupted=_below(entry, "interrupted", 65),
        stacks=read_stacks(entry, "stacks"),
        state=_name(entry, "state") or ("failed" if entry.get("failed") is True else ""),
    )


def _encode_rank(rank: PeerRank) -> dict[str, object]:
    return rank._asdict() | {
        "exit": rank.exit._asdict() if rank.exit else None,
        "events": [event._asdict() for event in rank.events],
    }


def _decode_rank(item: Json) -> PeerRank:
    ending = mapping(item, "exit")
    events = map(_decode_event, mappings(item, "events", 2 * MOST_EVENTS))
    steps = map(_decode_step, items(item, "steps")[:MOST_STEPS])
    pids = map(as_count, items(item, "pids")[:MOST_PIDS])
    return PeerRank(
        role=_name(item, "role"),
        rank=count(item, "rank"),
        local_rank=count(item, "local_rank"),
        host=_name(item, "host") or None,
        device=_name(item, "device") or None,
        lines=count(item, "lines") or 0,
        pids=tuple(pid for pid in pids if pid is not None),
        exit=_decode_exit(ending) if ending else None,
        last_time=_moment(item, "last_time"),
        steps=tuple(step for step in steps if step is not None),
        events=tuple(event for event in events if event is not None),
    )


def _decode_exit(item: Json) -> PeerExit:
    return PeerExit(
        order=count(item, "order"),
        code=_below(item, "code", 256),
        signal=_below(item, "signal", 65) or None,
        time=_moment(item, "time"),
        stopped=item.get("stopped") is True,
    )


def _decode_step(value: object) -> PeerStep | None:
    parts = [as_count(part) for part in value] if isinstance(value, (list, tuple)) else []
    if len(parts) != 4 or parts[0] is None or parts[2] is None:
        return None
    return parts[0], parts[1] or 0, parts[2], parts[3]


def _decode_event(item: Json) -> PeerEvent | None:
    line = count(item, "line")
    if line is None:
        return None
    fields = list(mapping(item, "fields").items())[:MOST_FIELDS]
    return PeerEvent(
        file=_name(item, "file"),
        signature=_name(item, "signature"),
        line=line,
        offset=count(item, "offset") or 0,
        first_line=count(item, "first_line") or 0,
        last_line=count(item, "last_line") or 0,
        last_seen=count(item, "last_seen") or line,
        count=count(item, "count") or 1,
        block=count(item, "block") or 0,
        final=item.get("final") is True,
        ends_at=count(item, "ends_at") or 0,
        time=_moment(item, "time"),
        pid=count(item, "pid"),
        # On one line: what a peer says must not look like lines of our own.
        text=" ".join(_cut(item.get("text"), LONGEST_TEXT).split()),
        fields={_cut(name, 40): _cut(value, LONGEST_NAME) for name, value in fields},
        frame=_decode_frame(items(item, "frame")),
    )


def _decode_frame(parts: Sequence[object]) -> tuple[str, int, str] | None:
    line = as_count(parts[1]) if len(parts) == 3 else None
    if line is None:
        return None
    return _cut(parts[0], LONGEST_NAME), line, _cut(parts[2], LONGEST_NAME)


def _below(entry: Json, key: str, bound: int) -> int | None:
    value = count(entry, key)
    return value if value is not None and value < bound else None


def _moment(entry: Json, key: str) -> float | None:
    value = number(entry, key)
    return value if value is not None and abs(value) < 1e12 else None


def _name(entry: Json, key: str) -> str:
    return _cut(entry.get(key), LONGEST_NAME)


def _cut(value: object, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""
