"""The knowledge a command asked for, or a refusal that says what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pdtriage import exit_codes
from pdtriage.commands.speech import RefusalError
from pdtriage.knowledge import Knowledge, KnowledgeError, load_knowledge


def known(parsers: Sequence[Path] | None) -> Knowledge:
    try:
        knowledge = load_knowledge(parsers or ())
    except KnowledgeError as error:
        raise RefusalError(str(error), exit_codes.USAGE) from error
    for problem in knowledge.problems:
        print(f"pdtriage: {problem}", file=sys.stderr)
    return knowledge
