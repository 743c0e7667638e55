"""Text of strangers is made inert."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.report.sanitise import inert, inert_json, inert_line


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\image", "image"),
        ("\x9b2Jclear", "clear"),
        ("\x1b]52;c;never closed", "52;c;never closed"),
        ("\x1bcreset", "reset"),
        ("a\x00b\x07c\x08d", "abcd"),
        ("abc\u202egpj.exe", "abcgpj.exe"),
        ("10%\r20%\tdone", "10% 20%    done"),
        ("zero\u200bwidth", "zerowidth"),
        ("\udce9t\udce9", "t"),
        ("读取失败 ✓", "读取失败 ✓"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
    ],
)
def test_inert(hostile: str, harmless: str) -> None:
    assert inert(hostile) == harmless


def test_one_line() -> None:
    assert inert_line("a\n\nb\x85c") == "a b c"


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_gets_through(text: str) -> None:
    result = inert(text)
    assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) <= 0x9F for c in result)
    result.encode()


@given(st.text(alphabet=st.characters(codec=None)))
def test_json_keeps_its_value(text: str) -> None:
    dumped = inert_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(dumped) == json.loads(json.dumps(text))
    dumped.encode()


@pytest.mark.parametrize("piece", ["\x1b]", "\x9d", "\x1b[", "\x1b", "\x1bP0"])
def test_hostile_length_takes_no_time(piece: str) -> None:
    started = time.perf_counter()
    inert(piece * 200_000)
    assert time.perf_counter() - started < 5
