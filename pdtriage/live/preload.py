"""Everything heavy, imported at once: scanner, knowledge, verdict, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pdtriage.live.peers
import pdtriage.pipeline
import pdtriage.report.redact  # noqa: F401 (the first report must not wait for it)
from pdtriage.events import Engine
from pdtriage.knowledge import load_knowledge
from pdtriage.live.announce import Announcer
from pdtriage.live.hearing import Tuned


def tuned(parsers: Sequence[Path]) -> Tuned:
    return Tuned(Engine(load_knowledge(parsers)))


def announcer(tuned: Tuned, only: frozenset[int] | None) -> Announcer:
    return Announcer(tuned.engine.knowledge, only=only)
