"""Patterns that are compiled late work like any other, and none of them is wrong."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re

import pdtriage
from pdtriage import late


def test_a_late_pattern_is_compiled_once_it_is_used() -> None:
    pattern = late.late(r"rank (\d+)", re.IGNORECASE)
    assert "match" not in vars(pattern)

    found = pattern.match("RANK 12")

    assert found is not None
    assert found[1] == "12"
    assert "match" in vars(pattern), "nothing is compiled or looked up again"
    assert pattern.sub("?", "rank 3") == "?"
    assert pattern.groups == 1


def test_all_late_patterns_are_sound() -> None:
    for folder in ("events", "jobs", "report", "sources", "verdict"):
        package = importlib.import_module(f"{pdtriage.__name__}.{folder}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    patterns = [one for one in gc.get_objects() if isinstance(one, late._Late)]

    assert len(patterns) > 50
    assert all(isinstance(pattern.pattern, str | bytes) for pattern in patterns)
