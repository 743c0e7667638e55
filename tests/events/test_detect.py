"""Literals become expressions that mean exactly themselves."""

from __future__ import annotations

import re

from pdtriage.events.detect import _escaped


def test_literals_are_escaped_as_by_the_standard_library() -> None:
    every = "".join(map(chr, range(0x3000)))
    literals = [every, "rank 0: Out of memory (RESOURCE_EXHAUSTED)", "内存不足。", ""]

    assert _escaped(literals) == [re.escape(literal.encode()) for literal in literals]
    assert _escaped([]) == []
