"""Whether somebody wants to see where a mistake of ours happened."""

from __future__ import annotations

import os

DEBUG_VARIABLE = "PDTRIAGE_DEBUG"


def debugging() -> bool:
    return bool(os.environ.get(DEBUG_VARIABLE))
