"""A second look at logs that merely stop: their last lines, and whether they are still written."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Rank, RunFacts
from pdtriage.scan.lines import LONGEST, Prefixes
from pdtriage.sources.chained import pieces_of
from pdtriage.sources.head_tail import OutOfReachError, stretches_of
from pdtriage.verdict.good_ends import last_step_in_training

if TYPE_CHECKING:
    from pdtriage.sources import Source

RECENT = 86400.0
"""Seconds; nobody looks for the writers of a log that has not changed for longer."""
LAST_LINES, LAST_BYTES = 40, 1 << 14
MOST_RANKS = 1024
"""Of more the last lines of the first ones are read; the others say the same, if anything."""


def with_last_lines(run: RunFacts, sources: Mapping[str, Source], prefixes: Prefixes) -> RunFacts:
    """The run with some dozens of lines of each rank: a trainer's last word need not be its last
    line. What is behind a URL is not asked for again, nor a console on which a launcher speaks.
    What a wrapper put before every line (`prefixes`) is not among them."""
    ranks = [
        rank if rank.mixed and run.launcher else _with_last_lines(rank, sources, prefixes)
        for rank in run.ranks[:MOST_RANKS]
    ]
    return run._replace(ranks=(*ranks, *run.ranks[MOST_RANKS:]))


def _with_last_lines(rank: Rank, sources: Mapping[str, Source], prefixes: Prefixes) -> Rank:
    file, begin, end = rank.parts[-1] if rank.parts else ("", 0, None)
    source = sources.get(file)
    if source is None:
        return rank
    try:
        parts = stretches_of(source, begin, end, LAST_BYTES).parts
    except OutOfReachError:
        return rank
    lines: list[tuple[int, str]] = []
    for part in parts[-1:]:
        offset = part.offset
        raws = part.content.removesuffix(b"\n").split(b"\n")
        for raw, text in zip(raws, prefixes.lines_of(part.content), strict=True):
            lines.append((offset, text))
            offset += len(raw) + 1
    return rank._replace(
        last_lines=tuple(lines[-LAST_LINES:]),
        up_to_last_step=tuple(_up_to_last_step(rank, lines, source, prefixes)),
    )


def _up_to_last_step(
    rank: Rank, lines: Sequence[tuple[int, str]], source: Source, prefixes: Prefixes
) -> list[str]:
    """`lines` are the last ones; where the step stands above them, its own line alone."""
    step = last_step_in_training(rank)
    if step is None or not lines:
        return []
    if step.offset < lines[0][0]:
        parts = stretches_of(source, step.offset, step.offset + LONGEST, 2 * LONGEST).parts
        return prefixes.lines_of(parts[0].content)[:1] if parts else []
    return [text for offset, text in lines if offset <= step.offset]


def with_liveness(run: RunFacts, sources: Mapping[str, Source]) -> RunFacts:
    """The run with what its files and the processes of this machine tell; archives tell nothing."""
    files = {path for rank in run.ranks for path in rank.files}
    own = [sources[path] for path in files if path in sources]
    found = [piece.plain for source in own for piece in pieces_of(source)]
    paths = {os.path.realpath(path) for path in found if path is not None}
    if not paths:
        return run
    now = time.time()
    run = run._replace(seen_at=now)
    changed = [rank.modified for rank in run.ranks if rank.modified is not None]
    if not changed or now - max(changed) > RECENT:
        return run
    from pdtriage.support.open_files import may_have_hidden_writers, writers_of

    if writers_of(paths):
        return run._replace(running=True)
    return run._replace(writers_gone=not may_have_hidden_writers(paths))
