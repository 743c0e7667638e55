"""Whether the logs of a run that merely stop are still written: what the verdict cannot see."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.model import RunFacts
from pdtriage.sources.chained import pieces_of

if TYPE_CHECKING:
    from pdtriage.sources import Source

RECENT = 86400.0
"""Seconds; nobody looks for the writers of a log that has not changed for longer."""


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
