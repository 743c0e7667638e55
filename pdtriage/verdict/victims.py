"""Everybody else: who ended only because another one did, and why."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Cause, VerdictWord, Victim, VictimReason
from pdtriage.support.fast_namedtuple import maker
from pdtriage.verdict.evidence import RunEvidence, by_node, launcher_pids
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.suspects import Suspect

_made = maker(Victim)


def victims_of(
    evidence: RunEvidence,
    suspects: Sequence[Suspect],
    causes: Sequence[Cause],
    verdict: VerdictWord,
) -> tuple[Victim, ...]:
    """Ranks that ended only because another one did."""
    if verdict not in ("failed", "hung", "interrupted") or not causes:
        return ()
    others = _bystanders(evidence, suspects, causes)
    launchers = _launchers_of_the_stopped(evidence)
    because_of = causes[0].rank
    victims = []
    for reading in others:
        reason = _reason(reading, launchers.get(id(reading)))
        if reason == "collateral" and _had_finished(reading, evidence):
            continue
        if reason is not None:
            role, number, local, _, host = reading.rank[:5]
            victims.append(_made((number, role, host, reason, because_of, local)))
    return tuple(victims)


def _had_finished(reading: RankReading, evidence: RunEvidence) -> bool:
    """It had done all its work, whatever became of the others: it says so, or told its last step
    (which some count from 0) and not a word after that."""
    last = reading.rank.progress[-1] if reading.rank.progress else None
    at_the_end = last is not None and last.total is not None and last.step + 1 >= last.total
    return evidence.says_finished(reading) or (at_the_end and reading.quiet)


def _bystanders(
    evidence: RunEvidence, suspects: Sequence[Suspect], causes: Sequence[Cause]
) -> list[RankReading]:
    """Ranks that left a log, are blamed for nothing, and were not in a pod that was taken away."""
    guilty = {(cause.role, rank) for cause in causes for rank in cause.ranks}
    by_cluster = (c for c in causes if "by-cluster" in evidence.signatures[c.signature].says)
    removed = {cause.host for cause in by_cluster}
    accused = {suspect.rank.key for suspect in suspects if suspect.rank}
    return [
        reading
        for reading in evidence.readings
        for rank in (reading.rank,)
        if rank.files
        and (rank.role, rank.rank) not in guilty
        and rank.host not in removed
        and not ((rank.rank is None or rank.mixed) and rank.key in accused)
    ]


def _launchers_of_the_stopped(evidence: RunEvidence) -> dict[int, frozenset[int]]:
    """By the id of a reading the pids of those that may have stopped it, where that is known."""
    return {
        id(reading): pids
        for node in by_node([r for r in evidence.readings if r.stopped]).values()
        for pids in (launcher_pids(evidence.facts, node),)
        for reading in node
    }


def _reason(reading: RankReading, launchers: frozenset[int] | None) -> VictimReason | None:
    """`launchers` are the pids of those that may have stopped it, where that is known."""
    ending = reading.rank.exit
    if reading.stopped is not None or (ending and ending.stopped):
        if not launchers or (ending and ending.stopped):
            return "stopped"  # by the launcher of its node, which may not be this one
        return "stopped" if reading.sender in (*launchers, None) else "collateral"
    if reading.symptoms:
        return "peer"
    if ending and ending.code == 0:
        return None
    return "collateral"
