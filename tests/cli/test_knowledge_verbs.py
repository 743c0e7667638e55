"""`pdtriage explain` and `pdtriage parsers`."""

from __future__ import annotations

from pathlib import Path

from pdtriage.knowledge import load_knowledge
from tests.cli.conftest import Command


def test_explain_a_category(pdtriage: Command) -> None:
    answer = pdtriage("explain", "memory.shm")
    assert answer.code == 0
    for part in ("Shared memory is too small", "How to confirm", "What to do", "Signatures"):
        assert part in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100


def test_explain_a_signature_in_chinese(pdtriage: Command) -> None:
    answer = pdtriage("explain", "data.errno5", "--lang", "zh")
    assert answer.code == 0
    for part in ("如何确认", "怎么办", "日志里的样子", "[Errno 5]"):
        assert part in answer.out


def test_list_has_a_line_for_every_signature(pdtriage: Command) -> None:
    lines = pdtriage("parsers", "list").out.splitlines()
    assert {line.split()[0] for line in lines} == set(load_knowledge().signatures)


def test_list_of_a_category(pdtriage: Command) -> None:
    lines = pdtriage("parsers", "list", "--category", "memory.shm").out.splitlines()
    assert lines
    assert all(line.split()[2] == "memory.shm" for line in lines)
    assert pdtriage("parsers", "list", "--category", "no.such").out == ""


def test_show(pdtriage: Command) -> None:
    answer = pdtriage("parsers", "show", "data.errno5")
    assert "literal   [Errno 5]" in answer.out
    assert "sample    " in answer.out


def test_check_says_what_is_wrong_and_fails(pdtriage: Command, tmp_path: Path) -> None:
    good = pdtriage("parsers", "new", "zebra.dry").out
    (tmp_path / "zebra.toml").write_text(good.replace("samples = [", 'samples = ["all is well",'))
    answer = pdtriage("parsers", "check", "--parsers", "zebra.toml")
    assert answer.code == 1
    assert "zebra.dry: does not claim its sample: 'all is well'" in answer.out
