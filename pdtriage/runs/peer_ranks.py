"""What other nodes told of their ranks, by the record of this one, and how much is believed.

A peer is a stranger: only what has the right shape is taken, titles and categories come from our
own knowledge, and nobody can speak for a rank whose log lies here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast, get_args

from pdtriage.model import Event, Exit, Frame, Node, Progress, Rank, Role, RunFacts
from pdtriage.record.schema import PeerRecord, RunRecord
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.knowledge import Knowledge

MOST_EVENTS = 8
"""Of a rank, in what one node tells another."""
MOST_STEPS = 4
MOST_SERVERS = 65_536
TEXT = 500
NAME = 200

Json = dict[str, object]


def with_peers(run: RunFacts, record: RunRecord, knowledge: Knowledge) -> RunFacts:
    """The run as all nodes together know it."""
    if not record.peers:
        return run
    size = run.world_size or 0
    heard: dict[tuple[str, int], Rank] = {}
    for peer in record.peers:
        for rank in ranks_of(peer, knowledge, size):
            heard[rank.role, cast(int, rank.rank)] = rank
    ranks = tuple(rank if rank.files else _heard_instead(rank, heard) for rank in run.ranks)
    known = {node.rank for node in run.nodes}
    nodes = {rank.node: rank.host for rank in heard.values() if rank.node not in known}
    return run._replace(
        ranks=ranks,
        nodes=(*run.nodes, *(Node(node, host) for node, host in sorted(nodes.items(), key=str))),
        unanswered=tuple(sorted({*run.unanswered, *_unanswered(record)})),
        notes=(*run.notes, *_silences(record)),
    )


def ranks_of(peer: PeerRecord, knowledge: Knowledge, world_size: int) -> list[Rank]:
    """The ranks a node told of, as far as they can be believed."""
    listed = peer.facts.get("ranks")
    found = []
    for item in listed if isinstance(listed, list) else ():
        rank = _rank_heard(_dict(item), peer.node, knowledge)
        if rank is None or rank.rank is None:
            continue
        most = world_size if rank.role == "worker" else MOST_SERVERS
        if 0 <= rank.rank < most:
            found.append(rank)
    return found


def _heard_instead(rank: Rank, heard: Mapping[tuple[str, int], Rank]) -> Rank:
    """What its own node tells of a rank; where it can be reached is known here."""
    told = heard.get((rank.role, -1 if rank.rank is None else rank.rank))
    return rank if told is None else told._replace(endpoint=rank.endpoint)


def _rank_heard(item: Json, node: int, knowledge: Knowledge) -> Rank | None:
    role = item.get("role")
    if role not in get_args(Role):
        return None
    host = _text(item.get("host"), NAME) or None
    events = []
    for spoken in _list(item.get("events"))[: 2 * MOST_EVENTS]:
        heard = _event_heard(_dict(spoken), host or f"node {node}", knowledge)
        if heard is not None:
            events.append(heard)
    events.sort(key=lambda pair: pair[1].line)
    files = tuple(dict.fromkeys(file for file, _ in events)) or (f"{host or node}",)
    return Rank(
        role=cast(Role, role),
        rank=_whole(item.get("rank")),
        local_rank=_whole(item.get("local_rank")),
        node=node,
        host=host,
        device=_text(item.get("device"), NAME) or None,
        pids=tuple(p for p in map(_whole, _list(item.get("pids"))[:8]) if p is not None),
        files=files,
        events=tuple(events),
        progress=_steps_heard(_list(item.get("steps"))),
        lines=_whole(item.get("lines")) or 0,
        exit=_exit_heard(_dict(item.get("exit"))),
        last_time=_real(item.get("last_time")),
    )


def _event_heard(item: Json, host: str, knowledge: Knowledge) -> tuple[str, Event] | None:
    signature = knowledge.signatures.get(_text(item.get("signature"), NAME))
    line = _whole(item.get("line"))
    if signature is None or line is None:
        return None
    fields = {
        _text(name, 40): _text(value, NAME)
        for name, value in list(_dict(item.get("fields")).items())[:12]
    }
    event = Event(
        signature=signature.id,
        role=signature.role,
        category=signature.category,
        line=line,
        offset=_whole(item.get("offset")) or 0,
        text=" ".join(_text(item.get("text"), TEXT).split()),
        first_line=_whole(item.get("first_line")) or 0,
        last_line=_whole(item.get("last_line")) or 0,
        fields=fields,
        frame=_frame_heard(_list(item.get("frame"))),
        time=_real(item.get("time")),
        pid=_whole(item.get("pid")),
        count=_whole(item.get("count")) or 1,
        last_seen=_whole(item.get("last_seen")) or line,
        block=_whole(item.get("block")) or 0,
        final=item.get("final") is True,
        says=signature.says,
    )
    return f"{host}:{_text(item.get('file'), NAME)}", event


def _frame_heard(parts: Sequence[object]) -> Frame | None:
    line = _whole(parts[1]) if len(parts) == 3 else None
    return None if line is None else Frame(_text(parts[0], NAME), line, _text(parts[2], NAME))


def _steps_heard(steps: Sequence[object]) -> tuple[Progress, ...]:
    found = []
    for step in steps[:MOST_STEPS]:
        numbers = [_whole(part) for part in _list(step)]
        if len(numbers) == 4 and numbers[0] is not None and numbers[2] is not None:
            found.append(Progress(numbers[0], numbers[1] or 0, numbers[2], numbers[3]))
    return tuple(sorted(found, key=lambda progress: progress.line))


def _exit_heard(item: Json) -> Exit | None:
    if not item:
        return None
    code, number = _whole(item.get("code")), _whole(item.get("signal"))
    return Exit(
        order=_whole(item.get("order")),
        code=code if code is not None and code < 256 else None,
        signal=number if number is not None and 0 < number < 65 else None,
        time=_real(item.get("time")),
        stopped=item.get("stopped") is True,
    )


def _unanswered(record: RunRecord) -> set[int]:
    """Nodes that had fallen silent before anything failed here, and never came back."""
    failed = min((death.time for death in record.deaths if death.code != 0), default=None)
    silent: set[int] = set()
    for peer in record.peers:
        since = peer.time - (peer.silent_seconds or 0)
        if peer.kind == "silent" and (failed is None or since <= failed):
            silent.add(peer.node)
        elif peer.kind in ("back", "facts"):
            silent.discard(peer.node)
    return silent


def _silences(record: RunRecord) -> list[Text]:
    """Nodes that fell silent, told by when they did."""
    failed = [d.time for d in record.deaths if d.code != 0]
    notes = []
    for peer in record.peers:
        if peer.kind != "silent":
            continue
        since = peer.time - (peer.silent_seconds or 0)
        before = failed[0] - since if failed else None
        if before is not None and before >= 0:
            notes.append(
                Text(
                    f"node {peer.node} stopped answering {before:.1f} s before the first failure "
                    "on this node",
                    f"节点 {peer.node} 在本节点首个失败之前 {before:.1f} 秒停止响应",
                )
            )
        else:
            notes.append(Text(f"node {peer.node} stopped answering", f"节点 {peer.node} 停止响应"))
    return notes


def _dict(value: object) -> Json:
    return dict(value) if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


def _text(value: object, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    sound = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return cast(int, value) if sound else None


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e12 else None
