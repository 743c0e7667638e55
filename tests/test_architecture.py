"""The contract of the house: a room imports only rooms that stand below it, lazily or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "pdtriage"
ROOMS = [
    "support",
    "model",
    "record",
    "knowledge",
    "sources",
    "scan",
    "reading",
    "runs",
    "verdict",
    "report",
    "analysis",
    "launch",
    "live",
    "doctor",
    "collect",
    "demo",
    "commands",
]
"""From the bottom. What is executed (`__main__`) belongs to the commands, wherever it lies."""


def test_every_room_has_its_place() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)


def test_a_room_imports_only_rooms_below_it() -> None:
    upward = {
        (module, imported)
        for path in PACKAGE.glob("*/**/*.py")
        if path.name != "__main__.py"
        for module in [_module(path)]
        for imported in _rooms_imported(path)
        if ROOMS.index(imported) > ROOMS.index(module.split(".")[0])
    }
    assert not upward


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def _rooms_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            if package == "pdtriage" and room in ROOMS:
                yield room
