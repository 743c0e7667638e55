"""Everything heavy, imported at once: scanner, knowledge, verdict, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pdtriage.analysis.pipeline
import pdtriage.report.masking.redact
import pdtriage.runs.peer_ranks  # noqa: F401 (the first report must not wait for them)
from pdtriage.knowledge import load_knowledge
from pdtriage.live.alerts import Announcer
from pdtriage.live.followed_log import Tuned
from pdtriage.scan import Engine


def tuned(parsers: Sequence[Path]) -> Tuned:
    return Tuned(Engine(load_knowledge(parsers)))


def announcer(tuned: Tuned, only: frozenset[int] | None) -> Announcer:
    return Announcer(tuned.engine.knowledge, only=only)
