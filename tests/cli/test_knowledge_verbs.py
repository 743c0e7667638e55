"""`pdtriage explain` and `pdtriage parsers`."""

from __future__ import annotations

from pathlib import Path

from pdtriage.knowledge import load_knowledge
from pdtriage.model import CATEGORIES
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
    for part in (
        "data.errno5  根源（cause）  data.io",
        "如何确认",
        "怎么办",
        "日志里的样子",
        "[Errno 5]",
    ):
        assert part in answer.out


def test_list_has_a_line_for_every_signature(pdtriage: Command) -> None:
    lines = pdtriage("parsers", "list").out.splitlines()
    assert {line.split()[0] for line in lines} == set(load_knowledge().signatures)


def test_list_of_a_category(pdtriage: Command) -> None:
    lines = pdtriage("parsers", "list", "--category", "memory.shm").out.splitlines()
    assert lines
    assert all(line.split()[2] == "memory.shm" for line in lines)


def test_an_unknown_category_is_refused_with_those_there_are(pdtriage: Command) -> None:
    answer = pdtriage("parsers", "list", "--category", "no.such")
    assert (answer.code, answer.out) == (2, "")
    assert "no category is called no.such" in answer.err
    assert all(category in answer.err for category in CATEGORIES)


def test_a_missing_folder_of_the_environment_is_told(pdtriage: Command, failed_job: Path) -> None:
    told = "PDTRIAGE_PARSERS: nowhere: no such folder of parsers"
    listed = pdtriage("parsers", "list", PDTRIAGE_PARSERS="nowhere")
    assert (listed.code, listed.err) == (0, f"pdtriage: {told}\n")
    assert told in pdtriage("analyze", failed_job, "-f", "json", PDTRIAGE_PARSERS="nowhere").out


def test_new_makes_the_folder_of_its_file(pdtriage: Command, tmp_path: Path) -> None:
    words = ("new", "data.tape-jammed", "--sample", "tape 3 jammed", "-o", "mine/own/data.toml")
    assert pdtriage("parsers", *words).code == 0
    assert "tape 3 jammed" in (tmp_path / "mine" / "own" / "data.toml").read_text()


def test_new_refuses_what_is_there_already_or_too_short(pdtriage: Command) -> None:
    words = ("new", "data.tape-jammed", "--sample", "tape 3 jammed", "-o", "data.toml")
    assert pdtriage("parsers", *words).code == 0
    again = pdtriage("parsers", *words)
    assert again.code == 2
    assert "data.tape-jammed exists already" in again.err
    shown = again.err.partition("exists already: pdtriage ")[2].split()
    assert "tape 3 jammed" in pdtriage(*shown).out
    assert pdtriage("parsers", "new", "data.errno5").code == 2
    assert pdtriage("parsers", "new", "data.no", "--sample", "7 no").code == 2


def test_explain_names_signatures_that_differ_from_their_category(pdtriage: Command) -> None:
    page = " ".join(pdtriage("explain", "code.python").out.split())
    differing = [
        s for s in load_knowledge().signatures.values() if s.category == "code.python" and s.retry
    ]
    assert differing
    told = page.partition("Start again?")[2].partition("Signatures")[0]
    assert all(signature.id in told for signature in differing)


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
