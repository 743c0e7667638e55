"""A third look at small logs: every step they tell, for the curves of the report.

The scan reads both ends of a log and what stands around events, which is all that a verdict needs.
Curves of so few points would show straight lines where there was a life. No verdict depends on
what is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Progress, Rank, RankRow
from pdtriage.scan.clock import Clock
from pdtriage.scan.lines import Lines
from pdtriage.scan.step_lines import Counters
from pdtriage.sources.head_tail import OutOfReachError, stretches_of
from pdtriage.verdict.rank_rows import MOST_OF_COURSE, losses_of, pace_of

if TYPE_CHECKING:
    from pdtriage.scan import Engine
    from pdtriage.sources import Source

MOST_BYTES = 1 << 20
"""Of all logs of a run together; those of more are drawn from what was sampled."""
MOST_RANKS = 64
MOST_READ = 2 * MOST_OF_COURSE
"""Lines of one log, spread evenly over those that tell a step."""
SAME = 1e-3
"""Seconds by which one and the same stamp may differ."""


def with_whole_curves(
    rows: Sequence[RankRow], ranks: Sequence[Rank], sources: Mapping[str, Source], engine: Engine
) -> tuple[RankRow, ...]:
    """The rows of these ranks with the pace and losses of all steps that small logs tell."""
    if len(ranks) > MOST_RANKS or sum(rank.last_offset for rank in ranks) > MOST_BYTES:
        return tuple(rows)
    return tuple(
        _with_whole_curves(row, rank, sources, engine)
        for row, rank in zip(rows, ranks, strict=True)
    )


def _with_whole_curves(
    row: RankRow, rank: Rank, sources: Mapping[str, Source], engine: Engine
) -> RankRow:
    if rank.mixed or len(rank.parts) != 1 or len(rank.progress) < 2:
        return row
    steps = _in_the_time_of(rank.progress, _steps_in(rank, sources, engine))
    if len(steps) <= len(rank.progress):
        return row
    return row._replace(
        pace=pace_of(steps, MOST_OF_COURSE), losses=losses_of(steps, MOST_OF_COURSE)
    )


def _steps_in(rank: Rank, sources: Mapping[str, Source], engine: Engine) -> list[Progress]:
    file, begin, end = rank.parts[0]
    source = sources.get(file)
    if source is None or source.plain is None:  # nothing is unpacked or fetched for a picture
        return []
    try:
        stretches = stretches_of(source, begin, end, MOST_BYTES)
    except OutOfReachError:
        return []
    if not stretches.whole:
        return []
    text = stretches.parts[0].content
    lines = Lines(text, 1, engine.prefixes.of_log(text))
    clock, counters = Clock(engine.clocks, source.file.modified), Counters(engine.counters)
    clock.learn_year(text)
    found = engine.step_lines.find(lines, 0, len(text)).counters
    wanted = [*found[: -1 : len(found) // MOST_READ + 1], *found[-1:]]
    read = [counters.read(lines, line, begin, clock) for line in wanted]
    return [step for step in read if step is not None]


def _in_the_time_of(known: Sequence[Progress], steps: Sequence[Progress]) -> list[Progress]:
    """These steps and those `known` of the same log, in their time; none if that is not one shift.

    Years and time zones were given to a log by what stands beside it.
    """
    told = {step.offset: step for step in known}
    apart = [
        own.time - step.time
        for step in steps
        if step.time is not None and (own := told.get(step.offset)) and own.time is not None
    ]
    if any(abs(each - apart[0]) > SAME for each in apart):
        return []
    shift = apart[0] if apart else 0.0
    moved = {
        step.offset: step if step.time is None else step._replace(time=step.time + shift)
        for step in steps
    }
    return [step for _, step in sorted({**moved, **told}.items())]
