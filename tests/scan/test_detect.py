"""Literals become expressions that mean exactly themselves."""

from __future__ import annotations

import re

from pdtriage.scan.detect import FATAL, Detector, _escaped


def test_literals_are_escaped_as_by_the_standard_library() -> None:
    every = "".join(map(chr, [*range(0x3000), 0xFFFD, 0xFFFF, 0x10FFFF]))
    literals = [every, "rank 0: Out of memory (RESOURCE_EXHAUSTED)", "内存不足。", ""]
    encoded = [literal.encode() for literal in literals]

    assert _escaped(encoded) == [re.escape(literal) for literal in encoded]
    assert _escaped([]) == []


def test_whatever_a_parser_looks_for_is_found_where_it_stands() -> None:
    literals = ["Traceback", FATAL, "a\uffffb", "内存", "(x)"]
    text = "Traceback a\uffffb\n内存 (x)\nF0101 10:00:00.123456 7 x.cc:1] dead\n".encode()
    found = [(text[at:].decode()[:2], literals[it]) for at, it in Detector(literals).find(text)]

    assert found == [
        ("Tr", "Traceback"),
        ("a\uffff", "a\uffffb"),
        ("内存", "内存"),
        ("(x", "(x)"),
        ("F0", FATAL),
    ]
