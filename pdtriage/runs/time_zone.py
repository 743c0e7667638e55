"""What was told by UTC in a job whose logs tell the time of a clock on the wall.

Our own record, Kubernetes and glog's `*** Aborted at` tell the same moment everywhere; of all other
stamps nobody knows the time zone. People read logs, so what is told by UTC is moved to the time
that the logs tell. By how much follows from what must be: nothing is written before its process was
started or after it had ended, and a log tells no time twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import ceil

from pdtriage.model import FileFacts, Rank, RunFacts
from pdtriage.runs.node_run import NodeRun

STEP = 1800.0
"""Time zones differ by half hours."""
SLACK = 120.0
"""Seconds for which a log may be late or early by its own clock."""
MOST_DRIFT = 1200.0
"""Seconds by which the clock of a host may be wrong: that is no time zone."""
MOST_LOGS = 512
"""Logs of a job that are asked; a thousand say the same."""
WEST, EAST = -12 * 3600.0, 14 * 3600.0

_Bounds = tuple[float, float]
"""The time zone is at least this and at most that many seconds ahead of UTC."""
_OPEN: _Bounds = (WEST, EAST)


def in_local_time(run: RunFacts, group: Sequence[NodeRun]) -> RunFacts:
    """A run with all its moments in the time that its logs tell."""
    pieces = {
        piece.file.path: piece
        for node in group
        for log in node.node.logs
        for piece in log.pieces
        if piece.unix_times
    }
    by_utc = {time for piece in pieces.values() for time in piece.unix_times}
    own = [bounds for rank in run.ranks for bounds in _of_rank(rank, by_utc)]
    told = [_of_log(piece) for piece in islice(pieces.values(), MOST_LOGS)]
    zone = _zone([*own, *told])
    if zone is None:  # the folder was written in several
        zone = _zone(own)
    if not zone:
        return run
    return _moved(run, zone, by_utc, any(node.record for node in group))


def _zone(bounds: Iterable[_Bounds]) -> float | None:
    """The nearest to UTC within all bounds; None where there is none."""
    lowest, highest = WEST, EAST
    for low, high in bounds:
        lowest, highest = max(lowest, low), min(highest, high)
    if lowest <= MOST_DRIFT and highest >= -MOST_DRIFT:
        return 0.0
    zone = STEP * ceil(lowest / STEP) if lowest > 0 else -STEP * ceil(-highest / STEP)
    return zone if lowest <= zone <= highest else None


def _of_rank(rank: Rank, by_utc: Collection[float]) -> Iterator[_Bounds]:
    """By when somebody else saw it start and end."""
    first, last, ended = rank.first_time, rank.last_time, _seen_end(rank)
    if rank.started is not None and first is not None and first not in by_utc:
        yield WEST, first - rank.started + SLACK
    if ended is not None and last is not None and last not in by_utc:
        yield last - ended - SLACK, EAST


def _seen_end(rank: Rank) -> float | None:
    return rank.exit.time if rank.exit and rank.exit.seen_by != "console" else None


def _of_log(facts: FileFacts) -> _Bounds:
    """By the local times above and below what it tells by UTC."""
    by_utc = set(facts.unix_times)
    told = [(stamp.offset, stamp.time) for stamp in facts.stamps]
    told += [(p.offset, p.time) for p in facts.progress if p.time is not None]
    told += [(e.offset, e.time) for e in facts.events if e.time is not None]
    lowest, highest = _OPEN
    above: float | None = None
    utc: float | None = None
    for _, time in sorted(told):
        if time in by_utc:
            utc = time
            if above is not None:
                lowest = max(lowest, above - utc - SLACK)
        else:
            above = time
            if utc is not None:
                highest = min(highest, above - utc + SLACK)
    return lowest, highest


def _moved(run: RunFacts, zone: float, by_utc: Collection[float], is_recorded: bool) -> RunFacts:
    """With all that is told by UTC, by logs or by somebody else, so many seconds later."""

    def local(time: float | None) -> float | None:
        return time + zone if time is not None and time in by_utc else time

    def later(time: float | None) -> float | None:
        return None if time is None else time + zone

    def moved(rank: Rank) -> Rank:
        return rank._replace(
            started=later(rank.started),
            first_time=local(rank.first_time),
            last_time=local(rank.last_time),
            exit=rank.exit._replace(time=later(rank.exit.time))
            if rank.exit and _seen_end(rank) is not None
            else rank.exit,
            events=tuple((path, e._replace(time=local(e.time))) for path, e in rank.events),
        )

    ranks = tuple(moved(rank) for rank in run.ranks)
    span = run.run.started, run.run.ended
    if is_recorded:
        began, ended = map(later, span)
    else:
        told = [
            *map(local, span),
            *(t for rank in ranks for t in (rank.first_time, rank.last_time)),
        ]
        times = [time for time in told if time is not None]
        began, ended = min(times, default=None), max(times, default=None)
    still = run.standstill
    return run._replace(
        run=run.run._replace(started=began, ended=ended),
        ranks=ranks,
        standstill=still and still._replace(time=still.time + zone),
        card_events=tuple(one._replace(time=one.time + zone) for one in run.card_events),
        stops=tuple(stop._replace(time=stop.time + zone) for stop in run.stops),
        vanished=tuple(gone._replace(time=later(gone.time)) for gone in run.vanished),
    )
