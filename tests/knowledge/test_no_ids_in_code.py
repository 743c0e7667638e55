"""What the tool knows is data: its code knows no signature of a log line by its id."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pdtriage.knowledge import load_knowledge
from pdtriage.model import CATEGORIES

PACKAGE = Path(__file__).parents[2] / "pdtriage"
NOT_YET = ("verdict",)
"""Rooms that still spell ids; this list only gets shorter."""


def test_no_id_of_a_log_line_is_spelled_outside_of_the_knowledge() -> None:
    assert [place for room, place in spelled() if room not in NOT_YET] == []


def test_a_room_that_spells_none_any_more_is_off_the_list() -> None:
    assert set(NOT_YET) <= {room for room, _ in spelled()}


def spelled() -> Iterator[tuple[str, str]]:
    """Room and place of every constant that is such an id, or the beginning of one with its dot."""
    known = load_knowledge().signatures.values()
    read = [s.id for s in known if s.trigger != "verdict"]
    begun = {name[:end] for name in read for end in range(name.index(".") + 1, len(name) + 1)}
    families = {s.id[: s.id.index(".") + 1] for s in known}
    ids = {*begun, *families} - {*CATEGORIES}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0]
        if room == "knowledge":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in ids:
                yield room, f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
