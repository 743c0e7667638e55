"""Which of the two languages to speak."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pdtriage.support import streams
from pdtriage.support.bilingual import Language

_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def language_of(environment: Mapping[str, str] | None = None) -> Language:
    """Chinese where the locale says so and the terminal can show it, English otherwise."""
    environment = os.environ if environment is None else environment
    chosen = next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    return "zh" if chosen.lower().startswith("zh") and streams.holds_chinese() else "en"
