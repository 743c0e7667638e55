"""The ranks of a node as facts for the other nodes, and the facts of others as ranks.

A peer is a stranger: titles and categories come from our own knowledge, and nobody can speak for a
rank whose log lies here. What of a message has the right shape at all, `record.peer_facts` says.
"""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, cast, get_args

from pdtriage.model import (
    Event,
    Exit,
    Frame,
    LauncherStop,
    Node,
    Progress,
    Rank,
    Report,
    Role,
    RunFacts,
    Standstill,
)
from pdtriage.record.peer_facts import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_EVENTS,
    MOST_FIELDS,
    MOST_PIDS,
    MOST_STEPS,
    PeerEvent,
    PeerExit,
    PeerRank,
    encode_facts,
)
from pdtriage.record.schema import PeerFacts, PeerRecord, RunRecord, named_node
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.knowledge import Knowledge

MOST_BYTES = 48 << 10
MOST_SERVERS = 65_536
NEWS_TRAVEL = 3.0
"""Seconds it may take until a node reads what another one wrote."""
WORTH_TELLING = frozenset({"cause", "symptom", "victim", "end"})


def facts_of(run: RunFacts, report: Report) -> PeerFacts:
    """What the other nodes should know of the ranks of this one, as much as fits."""
    own = [rank for rank in run.ranks if rank.files]
    cause = report.root_causes[0] if report.root_causes else None
    culprit = next(
        (r for r in own if cause and (r.role, r.rank) == (cause.role, cause.rank) and r.exit), None
    )
    ending = culprit.exit if culprit and culprit.exit else Exit()
    facts = PeerFacts(
        role=cause.role if cause else None,
        rank=cause.rank if cause else None,
        code=ending.code,
        signal=ending.signal,
    )
    for most in (MOST_EVENTS, 4, 2, 1, 0):
        full = facts._replace(ranks=tuple(_peer_rank(rank, most) for rank in own))
        if len(json.dumps(encode_facts(full))) <= MOST_BYTES:
            return full
    return facts


def with_peers(run: RunFacts, record: RunRecord, knowledge: Knowledge) -> RunFacts:
    """The run as all nodes together know it."""
    if not record.peers:
        return run
    size = run.world_size or 0
    remote = {
        (rank.role, rank.rank): rank
        for peer in record.peers
        for rank in _ranks_by_hearsay(peer, knowledge, size)
    }
    ranks = []
    for rank in run.ranks:
        other = None if rank.files or rank.exit else remote.get((rank.role, rank.rank))
        # Where a rank can be reached is known here.
        ranks.append(rank if other is None else other._replace(endpoint=rank.endpoint))
    known = {node.rank for node in run.nodes}
    silent = [peer for peer in record.peers if peer.kind == "silent" and peer.host]
    nodes: dict[int | None, str | None] = {peer.node: peer.host for peer in silent}
    nodes |= {rank.node: rank.host for rank in remote.values()}
    nodes = {node: host for node, host in nodes.items() if node not in known}
    run = _with_stops(run, record)
    return run._replace(
        ranks=tuple(ranks),
        nodes=(*run.nodes, *(Node(node, host) for node, host in sorted(nodes.items(), key=str))),
        unanswered=tuple(sorted({*run.unanswered, *_unanswered(record, run.standstill)})),
        notes=(*run.notes, *_silences(record)),
        standstill=_with_their_stacks(run, record),
    )


def _with_their_stacks(run: RunFacts, record: RunRecord) -> Standstill | None:
    """Adds the stacks of all nodes of a job that stood still; each node's last word counts."""
    still = run.standstill
    if still is None:
        return None
    known = {(stack.role, stack.rank) for stack in still.stacks}
    newest = {peer.node: peer for peer in record.peers if peer.kind == "facts"}
    added = [
        stack._replace(host=peer.host or None)
        for _, peer in sorted(newest.items())
        for stack in peer.facts.stacks
        if (stack.role, stack.rank) not in known
    ]
    return still._replace(stacks=(*still.stacks, *added)) if added else still


def _ranks_by_hearsay(peer: PeerRecord, knowledge: Knowledge, world_size: int) -> list[Rank]:
    ranks = ranks_of(peer.node, peer.facts, knowledge, world_size)
    return [rank._replace(hearsay=peer.hearsay) for rank in ranks]


def ranks_of(node: int, facts: PeerFacts, knowledge: Knowledge, world_size: int) -> list[Rank]:
    """The ranks a node tells of, as far as they can be believed."""
    believed = []
    for rank in facts.ranks:
        most = world_size if rank.role == "worker" else MOST_SERVERS
        if rank.role in get_args(Role) and rank.rank is not None and rank.rank < most:
            believed.append(_rank(rank, node, knowledge))
    return believed


def _peer_rank(rank: Rank, most_events: int) -> PeerRank:
    telling = [(file, event) for file, event in rank.events if event.role in WORTH_TELLING]
    cause = next((pair for pair in telling if pair[1].role == "cause"), None)
    chosen = telling[-most_events:] if most_events else []
    if cause is not None and cause not in chosen and most_events:
        chosen = [cause, *chosen[1:]]
    return PeerRank(
        role=rank.role,
        rank=rank.rank,
        local_rank=rank.local_rank,
        host=rank.host,
        device=rank.device,
        lines=rank.lines,
        pids=rank.pids[:MOST_PIDS],
        exit=PeerExit(*rank.exit[:5]) if rank.exit else None,
        last_time=rank.last_time,
        steps=tuple((p.line, p.offset, p.step, p.epoch) for p in rank.progress[-MOST_STEPS:]),
        events=tuple(_peer_event(file, event) for file, event in chosen),
    )


def _peer_event(file: str, event: Event) -> PeerEvent:
    frame = event.frame
    fields = list(event.fields.items())[:MOST_FIELDS]
    return PeerEvent(
        file=file.rpartition("/")[2],
        signature=event.signature,
        line=event.line,
        offset=event.offset,
        first_line=event.first_line,
        last_line=event.last_line,
        last_seen=event.last_seen,
        count=event.count,
        block=event.block,
        final=event.final,
        ends_at=event.ends_at,
        time=event.time,
        pid=event.pid,
        text=event.text[:LONGEST_TEXT],
        fields={name: value[:LONGEST_NAME] for name, value in fields},
        frame=(frame.file[-LONGEST_NAME:], frame.line, frame.function[:LONGEST_NAME])
        if frame
        else None,
    )


def _rank(told: PeerRank, node: int, knowledge: Knowledge) -> Rank:
    events = [
        (f"{told.host or f'node {node}'}:{event.file}", known)
        for event in sorted(told.events, key=lambda event: event.line)
        if (known := _event(event, knowledge)) is not None
    ]
    steps = sorted(told.steps, key=lambda step: step[0])
    return Rank(
        role=cast(Role, told.role),
        rank=told.rank,
        local_rank=told.local_rank,
        node=node,
        host=told.host,
        device=told.device,
        pids=told.pids,
        files=tuple(dict.fromkeys(file for file, _ in events)) or (f"{told.host or node}",),
        events=tuple(events),
        progress=tuple(Progress(*step) for step in steps),
        lines=told.lines,
        exit=Exit(*told.exit) if told.exit else None,
        last_time=told.last_time,
    )


def _event(told: PeerEvent, knowledge: Knowledge) -> Event | None:
    signature = knowledge.signatures.get(told.signature)
    if signature is None:
        return None
    return Event(
        signature=signature.id,
        role=signature.role,
        category=signature.category,
        line=told.line,
        offset=told.offset,
        text=told.text,
        first_line=told.first_line,
        last_line=told.last_line,
        fields=told.fields,
        frame=Frame(*told.frame) if told.frame else None,
        time=told.time,
        pid=told.pid,
        count=told.count,
        last_seen=told.last_seen,
        block=told.block,
        final=told.final,
        ends_at=told.ends_at,
        says=signature.says,
    )


def _with_stops(run: RunFacts, record: RunRecord) -> RunFacts:
    """The run, where another node was told to stop before anything had failed here."""
    failed = [death.time for death in record.deaths if death.code != 0 and not death.stopped]
    told = {
        peer.node: peer
        for peer in reversed(record.peers)  # its first word counts
        if peer.facts.interrupted is not None and peer.time - NEWS_TRAVEL < min(failed, default=inf)
    }
    if not told:
        return run
    signed = [peer for peer in told.values() if not peer.hearsay]
    known = {stop.node for stop in run.stops}
    added = tuple(
        LauncherStop(
            peer.node, peer.host or None, peer.facts.interrupted or 0, peer.time, here=False
        )
        for peer in signed or told.values()
        if peer.node not in known
    )
    if signed:
        run = run._replace(stopped_by_hearsay=False, ended_by_record="interrupted")
    elif any(not stop.here for stop in run.stops):
        return run
    else:
        run = run._replace(stopped_by_hearsay=bool(added))
    return run._replace(stops=(*run.stops, *added))


def _unanswered(record: RunRecord, still: Standstill | None) -> set[int]:
    """Nodes that had fallen silent before anything failed here, and never came back; who was heard
    of while the job stood still is not the reason why it did."""
    failed = min((death.time for death in record.deaths if death.code != 0), default=None)
    if still is not None and still.is_hang:
        stood = still.time - (still.still or 0.0) + NEWS_TRAVEL
        failed = stood if failed is None else min(failed, stood)
    silent: set[int] = set()
    for peer in record.peers:
        since = peer.time - (peer.silent_seconds or 0)
        if peer.kind == "silent" and (failed is None or since <= failed):
            silent.add(peer.node)
        elif peer.kind in ("back", "facts"):
            silent.discard(peer.node)
    return silent


def _silences(record: RunRecord) -> list[Text]:
    """A note for every node that fell silent: when it did."""
    failed = [d.time for d in record.deaths if d.code != 0]
    notes = []
    for peer in record.peers:
        if peer.kind != "silent":
            continue
        name = named_node(peer.node, peer.host)
        since = peer.time - (peer.silent_seconds or 0)
        before = failed[0] - since if failed else None
        if before is not None and before >= 0:
            notes.append(
                Text(
                    f"{name.en} stopped answering {before:.1f} s before the first failure "
                    "on this node",
                    f"{name.zh}在本节点首个失败之前 {before:.1f} 秒停止响应",
                )
            )
        else:
            notes.append(Text(f"{name.en} stopped answering", f"{name.zh}停止响应"))
    return notes
