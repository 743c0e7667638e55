"""`pdtriage run` when the job cannot be started."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_a_report_may_go_into_the_log_folder_of_the_launch(
    pdtriage: Command, tmp_path: Path
) -> None:
    assert pdtriage("run", *ALONE, "--report", "log/x.json", "train.py").code == 0
    assert (tmp_path / "log" / "x.json").exists()


def test_too_many_open_files_is_no_fault_of_the_script(tmp_path: Path) -> None:
    """How many a launch needs differs, so that the limit is met at several places."""
    answers = [_launched_with(files, tmp_path).stderr for files in range(8, 16)]
    told = [text for text in answers if "could not be executed: Too many open files" in text]
    assert told
    assert all("ulimit -n" in text and "#!" not in text for text in told)


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
