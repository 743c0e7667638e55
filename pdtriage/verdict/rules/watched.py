"""Logs that are gone: what `pdtriage run` reported while it had them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdtriage.model import CATEGORIES, Event, Exit, LiveCause, Rank, Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.deaths import by_exit
from pdtriage.verdict.rules.rule import Rule, no_success_and_over
from pdtriage.verdict.suspects import (
    SIGKILL,
    Suspect,
    own_suspects,
    silent_suspect,
    speaking_suspect,
)

if TYPE_CHECKING:
    from pdtriage.verdict.suspects import More


def logs_were_lost(evidence: RunEvidence) -> bool:
    """Whether a rank whose log was read when the run had ended has none here."""
    live = evidence.facts.live
    if live is None or not no_success_and_over(evidence):
        return False
    if evidence.interrupted or evidence.facts.ended_by_record == "interrupted":
        return False  # by itself: whatever ranks said of it follows from that
    here = {(r.rank.role, r.rank.rank) for r in evidence.readings if r.rank.files}
    return bool(live.logged - here)


def reported_live(evidence: RunEvidence) -> list[Suspect]:
    """Whom `pdtriage run` blamed when the run ended; by their own words, where those are here."""
    live = evidence.facts.live
    causes = [cause for cause in live.causes if _is_known(cause, evidence)] if live else []
    if not causes:
        return []
    blamed = _blamed_readings(causes[0], evidence)
    keys = {reading.rank.key for reading in blamed}
    own = [s for s in own_suspects(evidence) if s.rank and s.rank.key in keys]
    if own and (own[0].signature == causes[0].signature or not own[0].is_consequence):
        return own
    return [_by_report(causes[0], reading, evidence) for reading in blamed]


def _is_known(cause: LiveCause, evidence: RunEvidence) -> bool:
    known = evidence.signatures.get(cause.signature)
    return known is not None and cause.category in CATEGORIES


def _blamed_readings(cause: LiveCause, evidence: RunEvidence) -> list[RankReading]:
    return [
        r for r in evidence.readings if r.rank.role == cause.role and r.rank.rank in cause.ranks
    ]


def _by_report(cause: LiveCause, reading: RankReading, evidence: RunEvidence) -> Suspect:
    rank, why = reading.rank, wording.REPORTED_LIVE
    signature = evidence.signatures[cause.signature]
    lines = [
        Observation(
            file,
            Event(signature.id, "cause", cause.category, line, offset, words, frame=cause.frame),
            signature,
        )
        for file, line, offset, words in cause.evidence
    ]
    known: More = {
        "told": cause.confidence or "guess",
        "accusers": evidence.accusers.get(rank.key, ()),
        "position": reading.position,
    }
    if not lines or signature.trigger == "verdict":
        lines = [] if rank.files else lines
        return silent_suspect(signature.id, cause.category, rank, lines, why, **known)
    if _has_ended_otherwise(cause, rank):
        return by_exit(rank, **known).because(why)
    return speaking_suspect(lines[0], rank, lines[1:], why, **known)


def _has_ended_otherwise(cause: LiveCause, rank: Rank) -> bool:
    """Python ends with 1 of an exception that nobody caught: it went on to end by itself. Nor does
    SIGKILL come from anything but lack of memory."""
    ending = rank.exit or Exit()
    if ending.signal == SIGKILL and not ending.stopped:
        return cause.category.partition(".")[0] != "memory"
    return cause.frame is not None and ending.code not in (None, 0, 1)


RULES = (
    Rule(
        "watched",
        Text(
            "a log is gone that `pdtriage run` had read when the run ended",
            "缺少一份日志，而 `pdtriage run` 在运行结束时读过它",
        ),
        logs_were_lost,
        reported_live,
    ),
)
