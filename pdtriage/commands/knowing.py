"""The knowledge a command needs; what is wrong with a part of it is said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pdtriage.commands.speech import LANGUAGE
from pdtriage.knowledge import Knowledge, load_knowledge


def known(parsers: Sequence[Path] | None) -> Knowledge:
    knowledge = load_knowledge(parsers or ())
    for problem in knowledge.problems:
        print(f"pdtriage: {problem.in_(LANGUAGE)}", file=sys.stderr)
    return knowledge
