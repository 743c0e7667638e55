"""Given literals, when a text is scanned for them, then each is found once, where it stands."""

from __future__ import annotations

import re

import pytest

from pdtriage.scan.detect import (
    FATAL,
    Detector,
    HitStream,
    _escape,
    hit_at,
    literal_in,
    position_of,
)

from .builders import engine


def test_literals_are_escaped_as_by_the_standard_library() -> None:
    every = "".join(map(chr, [*range(0x3000), 0xFFFD, 0xFFFF, 0x10FFFF]))
    literals = [every, "rank 0: Out of memory (RESOURCE_EXHAUSTED)", "内存不足。", ""]
    encoded = [literal.encode() for literal in literals]

    assert _escape(encoded) == [re.escape(literal) for literal in encoded]
    assert _escape([]) == []


def test_whatever_a_parser_looks_for_is_found_where_it_stands() -> None:
    literals = ["Traceback", FATAL, "a\uffffb", "内存", "(x)"]
    text = "Traceback a\uffffb\n内存 (x)\nF0101 10:00:00.123456 7 x.cc:1] dead\n".encode()
    hits = [(position_of(hit), literal_in(hit)) for hit in Detector(literals).find(text)]
    found = [(text[at:].decode()[:2], literals[it]) for at, it in hits]

    assert found == [
        ("Tr", "Traceback"),
        ("a\uffff", "a\uffffb"),
        ("内存", "内存"),
        ("(x", "(x)"),
        ("F0", FATAL),
    ]


@pytest.mark.parametrize("size", [1, 3, 17, 200])
def test_literals_across_the_border_of_chunks_are_found_once(size: int) -> None:
    text = b"x Traceback (most recent call last) Killed OSError: [Errno 5]\n"
    text = (text + b"Traceback (most recent\ncall last)\n" + b"quiet " * 20) * 3
    stream, hits = HitStream(engine().detector, 100), []
    for start in range(0, len(text), size):
        hits += stream.take(text[start : start + size])
    expected = [hit_at(100) + hit for hit in engine().detector.find(text)]
    assert sorted(hits) == expected
    assert len(set(hits)) == len(hits)


def test_the_longest_literal_is_found_wherever_two_chunks_meet_in_it() -> None:
    detector = Detector(["short", "the longest of them"])
    text = b"before the longest of them behind"
    for border in range(1, len(text)):
        stream = HitStream(detector, 0)
        hits = stream.take(text[:border]) + stream.take(text[border:])
        assert hits == [hit_at(text.index(b"the longest"), 1)], border
