"""What the tool knows is data: its code knows no signature of a log line by its id."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pdtriage.knowledge import load_knowledge
from pdtriage.model import CATEGORIES

PACKAGE = Path(__file__).parents[2] / "pdtriage"


def test_no_id_of_a_log_line_is_spelled_outside_of_the_knowledge() -> None:
    assert list(spelled()) == []


def spelled() -> Iterator[str]:
    """The place of every constant that is such an id, or the beginning of one with its dot."""
    known = load_knowledge().signatures.values()
    read = [s.id for s in known if s.trigger != "verdict"]
    begun = {name[:end] for name in read for end in range(name.index(".") + 1, len(name) + 1)}
    families = {s.id[: s.id.index(".") + 1] for s in known}
    ids = {*begun, *families} - {*CATEGORIES}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "knowledge"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in ids:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
