"""Who did not come to a collective, or came with something else, by what the others say of it."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.suspects import Suspect, silent_suspect

HANG = "verdict.hang"


class _Overdue(NamedTuple):
    """A collective of a group that one rank waits in, by its own watchdog."""

    reading: RankReading
    found: Observation
    sequence: int


def did_not_arrive(evidence: RunEvidence) -> list[Suspect]:
    """The one rank of a group that stands at an earlier collective than all others, or the only one
    whose watchdog has nothing to complain of."""
    groups: dict[frozenset[int], list[_Overdue]] = {}
    for reading in evidence.readings:
        overdue = _overdue(reading)
        if overdue is not None:
            groups.setdefault(_members(overdue.found), []).append(overdue)
    for members, waiting in groups.items():
        suspects = _behind(waiting) or _missing(members, waiting, evidence)
        if suspects:
            return suspects
    return []


def with_the_odd_one(strong: Sequence[Suspect], evidence: RunEvidence) -> list[Suspect]:
    """Where several ranks complain of the very same about what they got: one sent it to all of
    them, the only one that does not complain, or the first rank, from which broadcasts come."""
    workers = [r for r in evidence.readings if r.rank.role == "worker"]
    found = [s.found for s in strong if s.found is not None and s.found.says("between-ranks")]
    complaining = {s.rank.key for s in strong if s.rank}
    silent = [r for r in workers if r.rank.key not in complaining]
    alike = {(f.signature.id, tuple(sorted(f.event.fields.items()))) for f in found}
    if len(found) != len(strong) or len(complaining) < 2 or len(alike) != 1:
        return [*strong]
    if found[0].category != "config.rank" or evidence.others_are_missing:
        return [*strong]
    source = silent if len(silent) == 1 else [r for r in silent if r.rank.rank == 0]
    if not source:
        return [*strong]
    why = wording.SENT_TO_ALL_OTHERS if len(silent) == 1 else wording.SENT_TO_SEVERAL
    signature, rank, position = found[0].signature.id, source[0].rank, source[0].position
    return [silent_suspect(signature, "config.rank", rank, found[:2], why, position=position)]


def _behind(waiting: Sequence[_Overdue]) -> list[Suspect]:
    """Collectives are numbered in their order: who is at a lower number has not come to where the
    others wait. These have to be two at least, at one number."""
    last = min(waiting, key=lambda one: one.sequence)
    others = {one.sequence for one in waiting if one is not last}
    if len(waiting) < 3 or len(others) != 1 or last.sequence in others:
        return []
    why = wording.at_earlier_collective(last.sequence, others.pop())
    return [_suspect(last.reading, [last.found], why)]


def _missing(
    members: frozenset[int], waiting: Sequence[_Overdue], evidence: RunEvidence
) -> list[Suspect]:
    """The one rank that is missing where all others of its group wait in the same collective."""
    ranks = {one.reading.rank.rank for one in waiting}
    absent = members - ranks
    if len(absent) != 1 or len(waiting) < 2 or len({one.sequence for one in waiting}) > 1:
        return []
    (number,) = absent
    for reading in evidence.readings:
        rank = reading.rank
        ended = rank.exit is not None and not rank.exit.stopped
        if (rank.role, rank.rank) == ("worker", number) and reading.quiet and not ended:
            fields = waiting[0].found.event.fields
            why = wording.not_in_collective(fields.get("operator", ""), waiting[0].sequence)
            return [_suspect(reading, [one.found for one in waiting[:2]], why)]
    return []


def _suspect(reading: RankReading, support: Sequence[Observation], why: Text) -> Suspect:
    position = reading.position
    return silent_suspect(HANG, "comm.timeout", reading.rank, support, why, position=position)


def _overdue(reading: RankReading) -> _Overdue | None:
    """The first its watchdog told of: what came later waits for that."""
    for found in reading.symptoms:
        number = found.event.fields.get("sequence", "")
        if number.isdecimal() and _members(found):
            return _Overdue(reading, found, int(number))
    return None


def _members(found: Observation) -> frozenset[int]:
    words = found.event.fields.get("ranks", "").replace(" ", "").split(",")
    return frozenset(int(word) for word in words if word.isdecimal())
