"""Patterns that are compiled late work like any other, and none of them is wrong."""

from __future__ import annotations

import gc
import importlib
import re
from pathlib import Path

from pdtriage.support import lazy_regex

IMPORT = "from pdtriage.support.lazy_regex import lazy_compile\n"


def test_a_late_pattern_is_compiled_once_it_is_used() -> None:
    pattern = lazy_regex.lazy_compile(r"rank (\d+)", re.IGNORECASE)
    assert "match" not in vars(pattern)

    found = pattern.match("RANK 12")

    assert found is not None
    assert found[1] == "12"
    assert "match" in vars(pattern), "nothing is compiled or looked up again"
    assert pattern.sub("?", "rank 3") == "?"
    assert pattern.groups == 1


def test_all_late_patterns_are_sound() -> None:
    root = Path(lazy_regex.__file__).parent.parent
    users = [path for path in root.rglob("*.py") if IMPORT in path.read_text("utf-8")]
    for path in users:
        importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
    patterns = [one for one in gc.get_objects() if isinstance(one, lazy_regex._LazyPattern)]

    assert len(patterns) >= len(users) > 10
    assert all(isinstance(pattern.pattern, str | bytes) for pattern in patterns)
