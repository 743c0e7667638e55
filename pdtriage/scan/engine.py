"""What is compiled of the knowledge once and serves all files."""

from __future__ import annotations

from functools import lru_cache

from pdtriage.knowledge import Knowledge
from pdtriage.scan.clock import STAMP_GROUPS
from pdtriage.scan.detect import Detector, literals_of
from pdtriage.scan.lines import Prefixes
from pdtriage.scan.patterns import Patterns
from pdtriage.scan.signature_match import SignatureMatcher
from pdtriage.scan.step_lines import STEP_GROUPS, StepLineDetector
from pdtriage.support.multi_pattern import EngineName


class Engine:
    """Finds, matches and reads lines of any file; knows nothing of one."""

    def __init__(self, knowledge: Knowledge, engine: EngineName | None = None) -> None:
        self.knowledge = knowledge
        self.detector = Detector(literals_of(knowledge), engine)
        counters, clocks = knowledge.counters, knowledge.clocks
        self.step_lines = StepLineDetector(
            [form.pattern for form in counters], [form.pattern for form in clocks], engine
        )
        self.prefixes = Prefixes(knowledge.prefixes)
        self.clocks = Patterns(clocks, STAMP_GROUPS)
        self.counters = Patterns(counters, STEP_GROUPS)
        self.matcher_of = lru_cache(maxsize=None)(lambda kind: SignatureMatcher(knowledge, kind))
