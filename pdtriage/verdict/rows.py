"""Everybody else: victims with their reason, and one row for every rank."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import (
    Cause,
    Rank,
    RankRow,
    RankStatus,
    Role,
    RunFacts,
    VerdictWord,
    Victim,
    VictimReason,
)
from pdtriage.verdict.reading import Reading
from pdtriage.verdict.silent import by_node, launcher_pids


def victims_of(
    readings: Sequence[Reading],
    causes: Sequence[Cause],
    facts: RunFacts,
    verdict: VerdictWord,
) -> tuple[Victim, ...]:
    """Ranks that ended only because another one did."""
    if verdict not in ("failed", "hung", "interrupted") or not causes:
        return ()
    guilty = {(cause.role, rank) for cause in causes for rank in cause.ranks}
    removed = {cause.host for cause in causes if cause.signature.startswith("k8s.")}
    launchers = {
        id(reading): pids
        for node in by_node([r for r in readings if r.stopped]).values()
        for pids in (launcher_pids(facts, node),)
        for reading in node
    }
    victims = []
    for reading in readings:
        rank = reading.rank
        if (rank.role, rank.rank) in guilty or not rank.files or rank.host in removed:
            continue
        reason = _reason(reading, launchers.get(id(reading)))
        if reason is not None:
            victims.append(
                Victim(rank.rank, rank.role, rank.host, reason, causes[0].rank, rank.local_rank)
            )
    return tuple(victims)


def _reason(reading: Reading, launchers: frozenset[int] | None) -> VictimReason | None:
    """`launchers` are the pids of those that may have stopped it, where that is known."""
    ending = reading.rank.exit
    if reading.stopped is not None or (ending and ending.stopped):
        sender = reading.sender
        return "stopped" if not launchers or sender in (*launchers, None) else "collateral"
    if reading.symptoms:
        return "peer"
    if ending and ending.code == 0:
        return None
    return "collateral"


def rank_rows(
    readings: Sequence[Reading],
    causes: Sequence[Cause],
    victims: Sequence[Victim],
    verdict: VerdictWord,
) -> tuple[RankRow, ...]:
    guilty = {(cause.role, rank) for cause in causes for rank in cause.ranks}
    suffered = {(v.role, v.rank, v.local_rank) for v in victims}
    return tuple([_row(r.rank, _status(r, guilty, suffered, verdict)) for r in readings])


def _row(rank: Rank, status: RankStatus) -> RankRow:
    ending = rank.exit
    code, signal = (ending.code, ending.signal) if ending else (None, None)
    last = rank.progress[-1] if rank.progress else None
    step, time = (last.step, last.time) if last else (None, None)
    # by place, in the order of the fields: by name it would take twice as long
    return RankRow(
        rank.rank,
        rank.role,
        rank.host,
        rank.local_rank,
        rank.device,
        rank.files,
        status,
        code,
        signal,
        step,
        rank.last_time,
        _first_seen(rank),
        time,
    )


def _first_seen(rank: Rank) -> float | None:
    first = rank.first_time
    step = rank.progress[0].time if rank.progress else None
    events = [event.time for _, event in rank.events] if rank.events else ()
    for time in (rank.started, step, *events):
        if time is not None and (first is None or time < first):
            first = time
    return first


def _status(
    reading: Reading,
    guilty: set[tuple[Role, int]],
    suffered: set[tuple[Role, int | None, int | None]],
    verdict: VerdictWord,
) -> RankStatus:
    rank = reading.rank
    if rank.rank is not None and (rank.role, rank.rank) in guilty:
        return "failed"
    if (rank.role, rank.rank, rank.local_rank) in suffered:
        return "victim"
    if verdict == "succeeded" or reading.ended or (rank.exit and rank.exit.code == 0):
        return "finished"
    if verdict == "running":
        return "running"
    return "unknown" if rank.lines else "silent"
