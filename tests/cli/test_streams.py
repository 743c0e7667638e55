"""Standard streams that are closed, full, or cannot hold every character."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Command

ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
FULL = "No space left on device"


def shell(redirection: str, *words: str | Path, where: Path) -> Answer:
    """`pdtriage WORDS REDIRECTION`, as a shell does it."""
    done = subprocess.run(
        ["bash", "-c", f'"$0" -m pdtriage "$@" {redirection}', sys.executable, *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=where,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        timeout=120,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_answer(
    closed: str, failed_job: Path, tmp_path: Path
) -> None:
    answer = shell(closed, "analyze", failed_job, where=tmp_path)
    assert (answer.code, answer.err) == (1, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full"])
def test_a_launch_with_unusable_streams_keeps_the_code_of_the_job(
    closed: str, tmp_path: Path
) -> None:
    if "/dev/full" in closed and not os.path.exists("/dev/full"):
        pytest.skip("only Linux has /dev/full")
    (tmp_path / "train.py").write_text("print('a step', flush=True); raise SystemExit(7)\n")
    words = ("--nproc_per_node", "1", "--backend", "gloo", "--host", "127.0.0.1", "train.py")
    answer = shell(closed, "run", *words, where=tmp_path)
    assert answer.code == 7
    assert "Error" not in answer.err
    assert (tmp_path / "log" / "workerlog.0").read_text() == "a step\n"


def test_doctor_without_output(tmp_path: Path) -> None:
    answer = shell(">&-", "doctor", where=tmp_path)
    assert answer.code in (0, 1)
    assert answer.err == ""


def test_a_terminal_without_chinese_is_answered_in_english(pdtriage: Command) -> None:
    answer = pdtriage("doctor", "--help", LC_ALL="zh_CN.UTF-8", **ASCII)
    assert answer.code == 0
    assert answer.out.startswith("usage: pdtriage doctor")


def test_chinese_asked_for_is_no_internal_error(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--lang", "zh", LC_ALL="C", **ASCII)
    assert (answer.code, answer.err) == (1, "")
    assert "rank 1" in answer.out
    assert pdtriage("doctor", "--lang", "zh", LC_ALL="C", **ASCII).code in (0, 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ("parsers", "list"),
        ("explain", "data.errno5"),
        ("doctor",),
        ("--help",),
        ("--version",),
        ("run", "--help"),
    ],
)
def test_a_full_disk_is_told_in_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = shell("> /dev/full", *words, where=tmp_path)
    assert answer.code == 2
    assert answer.err == f"pdtriage: the output cannot be written: {FULL}\n"


@pytest.mark.parametrize("words", [("parsers", "list"), ("doctor",), ("run", "--help")])
def test_a_reader_that_left_is_nothing_to_speak_of(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = shell("| head -1", *words, where=tmp_path)
    assert len(answer.out.splitlines()) == 1
    assert answer.err == ""


def test_a_reader_that_has_enough_ends_every_verb_alike(tmp_path: Path) -> None:
    ending = "| true; exit ${PIPESTATUS[0]}"  # a list fits into a pipe before `head` has its line
    assert shell(ending, "parsers", "list", where=tmp_path).code == 141
