"""`pdtriage run` when the job cannot be started."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.launch.plan.start_refusals import not_started
from tests.cli.conftest import Command

ALONE = ("--backend", "gloo", "--host", "127.0.0.1")


@pytest.fixture(autouse=True)
def script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("open('started', 'w')\n")


def test_a_program_that_is_no_python(pdtriage: Command) -> None:
    answer = pdtriage("run", "--python", "/bin/false", "train.py")
    assert answer.code == 2
    assert answer.err == (
        "pdtriage run: /bin/false does not work as a Python: asked for its paths, it ended with 1."
        " Check --python.\n"
    )


@pytest.mark.parametrize("report", ["no/x.html", "junit=no/x.xml", "x.html,no/y.json"])
def test_a_report_without_a_folder_is_refused_before_the_start(
    pdtriage: Command, tmp_path: Path, report: str
) -> None:
    answer = pdtriage("run", *ALONE, "--report", report, "train.py")
    assert answer.code == 2
    assert "there is no folder no." in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_broken_parsers_are_refused_before_the_start(pdtriage: Command, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[[signature]]\nid = "mine.odd"\n')
    answer = pdtriage("run", *ALONE, "--parsers", str(mine), "train.py")
    assert answer.code == 2
    assert "mine.toml: signature 'mine.odd': role must be one of" in answer.err
    assert not (tmp_path / "log").exists()


def test_a_report_may_go_into_the_log_folder_of_the_launch(
    pdtriage: Command, tmp_path: Path
) -> None:
    time = "--analysis_budget=300"  # on a busy machine, too
    assert pdtriage("run", *ALONE, time, "--report", "log/x.json", "train.py").code == 0
    assert (tmp_path / "log" / "x.json").exists()


@pytest.mark.parametrize("files", [24, 51])
def test_too_few_open_files_are_told_before_the_start(tmp_path: Path, files: int) -> None:
    answer = _launched_with(files, tmp_path)
    assert answer.returncode == 2
    told = f"4 processes need 52 open files, and the limit is {files}."
    assert told in answer.stderr
    assert "ulimit -n" in answer.stderr
    assert not list(tmp_path.glob("log/workerlog.*"))


def test_so_few_that_pdtriage_itself_cannot_begin(tmp_path: Path) -> None:
    answer = _launched_with(6, tmp_path)
    assert answer.returncode == 2
    assert answer.stderr == (
        "pdtriage: 6 open files are not enough; raise the limit: ulimit -n 65535\n"
    )


def test_just_enough_open_files(tmp_path: Path) -> None:
    answer = _launched_with(52, tmp_path)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.EMFILE, "ulimit -n"), (errno.EAGAIN, "ulimit -u"), (errno.ENOENT, "#!")],
)
def test_what_stopped_a_start(number: int, advice: str) -> None:
    refusal = not_started("python", OSError(number, os.strerror(number), "python"))
    assert "python could not be executed" in refusal.text.in_("en")
    assert advice in refusal.text.in_("en")


def _launched_with(files: int, where: Path) -> subprocess.CompletedProcess[str]:
    words = ("run", *ALONE, "--nproc_per_node", "4", "--log_level", "ERROR", "train.py")
    return subprocess.run(
        [sys.executable, "-m", "pdtriage", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=where,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        timeout=60,
        check=False,
    )
