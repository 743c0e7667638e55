"""One row of the report for every rank: how it ended, how far it came, the course of its life."""

from __future__ import annotations

from pdtriage.model import Rank, RankRow, RankStatus, Role, VerdictWord
from pdtriage.support.fast_namedtuple import maker
from pdtriage.verdict.judgement import Judgement
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.rank_timelines import Life, lives_of

_made = maker(RankRow)


def rank_rows(judgement: Judgement) -> tuple[RankRow, ...]:
    """In the order of the readings; made only for the run that is reported on."""
    readings, verdict = judgement.readings, judgement.verdict
    guilty = {(cause.role, rank) for cause in judgement.causes for rank in cause.ranks}
    suffered = {(role, rank, local) for rank, role, _, _, _, local in judgement.victims}
    statuses = [_status(reading, guilty, suffered, verdict) for reading in readings]
    ranks = [reading.rank for reading in readings]
    return tuple(map(_row, ranks, statuses, lives_of(readings, statuses)))


def _row(rank: Rank, status: RankStatus, life: Life) -> RankRow:
    role, number, local_rank, _, host, _, device = rank[:7]
    ending, progress = rank.exit, rank.progress
    code, signal = (ending.code, ending.signal) if ending else (None, None)
    last = progress[-1] if progress else None
    step, time = (last.step, last.time) if last else (None, None)
    return _made(
        (
            number,
            role,
            host,
            local_rank,
            device,
            rank.files,
            status,
            code,
            signal,
            step,
            rank.last_time,
            _first_seen(rank),
            time,
            *life,
        )
    )


def _first_seen(rank: Rank) -> float | None:
    first = rank.first_time
    step = rank.progress[0].time if rank.progress else None
    for time in (rank.started, step):
        if time is not None and (first is None or time < first):
            first = time
    for _, event in rank.events:
        if event.time is not None and (first is None or event.time < first):
            first = event.time
    return first


def _status(
    reading: RankReading,
    guilty: set[tuple[Role, int]],
    suffered: set[tuple[Role, int | None, int | None]],
    verdict: VerdictWord,
) -> RankStatus:
    rank = reading.rank
    role, number, local_rank = rank[:3]
    if number is not None and (role, number) in guilty:
        return "failed"
    if (role, number, local_rank) in suffered:
        return "victim"
    if verdict == "succeeded" or reading.ended or (rank.exit and rank.exit.code == 0):
        return "finished"
    if verdict == "running":
        return "running"
    return "unknown" if rank.lines else "silent"
