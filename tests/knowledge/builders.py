"""A signature with which nothing is wrong."""

from __future__ import annotations

from pdtriage.knowledge import Signature
from pdtriage.model import Text

SOUND = Signature(
    id="storage.frobnicator-full",
    family="storage",
    role="cause",
    category="storage.disk",
    title=Text("The frobnicator is full", "frobnicator 已满"),
    literals=("frobnicator is full",),
    pattern=r"frobnicator is full: (?P<path>\S+)",
    meaning=Text("No room is left.", "没有空间了。"),
    advice=(Text("Empty it.", "清空它。"),),
    samples=("RuntimeError: frobnicator is full: /a", "frobnicator is full: /b"),
    misses=("the frobnicator is fully charged",),
)
