"""Everybody else: who ended only because another one did, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pdtriage.model import Cause, RunFacts, VerdictWord, Victim, VictimReason
from pdtriage.support.fast_namedtuple import maker
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.silent_suspects import by_node, launcher_pids

_made = maker(Victim)


def victims_of(
    readings: Sequence[RankReading],
    causes: Sequence[Cause],
    facts: RunFacts,
    verdict: VerdictWord,
    accused: Collection[tuple[str, int, int, str]] = (),
) -> tuple[Victim, ...]:
    """Ranks that ended only because another one did; nobody of those whose key is `accused`."""
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
    because_of = causes[0].rank
    victims = []
    for reading in readings:
        rank = reading.rank
        role, number, local, _, host = rank[:5]
        if (role, number) in guilty or not rank.files or host in removed:
            continue
        if accused and (number is None or rank.mixed) and rank.key in accused:
            continue
        reason = _reason(reading, launchers.get(id(reading)))
        if reason is not None:
            victims.append(_made((number, role, host, reason, because_of, local)))
    return tuple(victims)


def _reason(reading: RankReading, launchers: frozenset[int] | None) -> VictimReason | None:
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
