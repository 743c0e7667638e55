"""How far clocks of hosts are apart, from what both ends of a job saw at the same moment.

A job starts on all its hosts at once, and who loses a peer says so at once. Where both moments are
apart by the same span, it is the clocks; where somebody mourned before the other died, they are
apart by that span at least. Anything else may be what it seems: a node that was started later, a
rank that waited for half an hour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pdtriage.verdict.judgement import Judgement
from pdtriage.verdict.rank_reading import RankReading

LEAST = 5.0
"""Seconds below which nodes are merely started one after the other."""
NOTICED = 2.0
"""Seconds within which the loss of a peer is noticed, and nodes of one job start."""


def culprit_places(judgement: Judgement) -> list[int]:
    """Which readings are of those whom the first cause blames."""
    blamed = {(cause.role, rank) for cause in judgement.causes[:1] for rank in cause.ranks}
    ranks = [reading.rank for reading in judgement.readings]
    return [n for n, rank in enumerate(ranks) if (rank.role, rank.rank) in blamed]


def clock_offsets(readings: Sequence[RankReading], guilty: Collection[int]) -> Mapping[str, float]:
    """By host, how many seconds its clock is ahead of the culprit's; hosts that agree are left out.

    `guilty` are places in `readings`.
    """
    culprits = [readings[place] for place in guilty]
    homes = {reading.rank.host for reading in culprits}
    died = min(
        (t for r in culprits for t in (_failure(r), _death(r)) if t is not None), default=None
    )
    if died is None or len(homes) != 1 or None in homes:
        return {}
    by_host: dict[str, list[RankReading]] = {}
    for reading in readings:
        if reading.rank.host is not None:
            by_host.setdefault(reading.rank.host, []).append(reading)
    (home,) = homes
    began = _first(reading.rank.first_time for reading in by_host.get(home or "", ()))
    found: dict[str, float] = {}
    for host, there in by_host.items():
        noticed = _first(_loss(reading) for reading in there)
        if host == home or noticed is None:
            continue
        start = _first(reading.rank.first_time for reading in there)
        lag = None if start is None or began is None else start - began
        offset = _offset(noticed - died, lag)
        if offset:
            found[host] = offset
    return found


def _offset(ends: float, starts: float | None) -> float:
    """How far ahead a clock is, by when the loss was noticed and by when the job began."""
    agree = starts is not None and abs(starts - ends) <= max(NOTICED, abs(ends) / 20)
    if starts is not None and agree and abs(ends) >= LEAST:
        return min(starts, ends)
    return ends if ends < -NOTICED else 0.0


def _failure(reading: RankReading) -> float | None:
    return reading.causes[0].event.time if reading.causes else None


def _death(reading: RankReading) -> float | None:
    return reading.rank.exit.time if reading.rank.exit else None


def _loss(reading: RankReading) -> float | None:
    seen = [found.event.time for found in reading.symptoms[:1]]
    return _first([*seen, reading.stopped.event.time if reading.stopped else None])


def _first(times: Iterable[float | None]) -> float | None:
    return min((t for t in times if t is not None), default=None)
