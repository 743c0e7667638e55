"""The knowledge a command asked for, or a refusal that says what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pdtriage.commands.speech import LANGUAGE, RefusalError
from pdtriage.knowledge import Knowledge, KnowledgeError, load_knowledge
from pdtriage.support import exit_codes


def known(parsers: Sequence[Path] | None) -> Knowledge:
    try:
        knowledge = load_knowledge(parsers or ())
    except KnowledgeError as error:
        raise RefusalError(error.message.in_(LANGUAGE), exit_codes.USAGE) from error
    for problem in knowledge.problems:
        print(f"pdtriage: {problem.in_(LANGUAGE)}", file=sys.stderr)
    return knowledge
