"""What is compiled of the knowledge once and serves all files."""

from __future__ import annotations

from functools import lru_cache

from pdtriage.events.claims import Claims
from pdtriage.events.clock import STAMP_GROUPS
from pdtriage.events.detect import Detector, literals_of
from pdtriage.events.engines import EngineName
from pdtriage.events.lines import Prefixes
from pdtriage.events.marks import MarkDetector
from pdtriage.events.patterns import Patterns
from pdtriage.events.progress import STEP_GROUPS
from pdtriage.knowledge import Knowledge


class Engine:
    """Finds, claims and reads; knows nothing of any file."""

    def __init__(self, knowledge: Knowledge, engine: EngineName | None = None) -> None:
        self.knowledge = knowledge
        self.detector = Detector(literals_of(knowledge), engine)
        counters, clocks = knowledge.counters, knowledge.clocks
        self.marks = MarkDetector(
            [form.pattern for form in counters], [form.pattern for form in clocks], engine
        )
        self.prefixes = Prefixes(knowledge.prefixes)
        self.clocks = Patterns(clocks, STAMP_GROUPS)
        self.counters = Patterns(counters, STEP_GROUPS)
        self.claims = lru_cache(maxsize=None)(lambda kind: Claims(knowledge, kind))
