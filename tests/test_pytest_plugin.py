"""`pytest --pdtriage`: a failed distributed test shows who broke its job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import clean_environment

TESTS = """
import shutil, pytest

JOB = {job!r}

def test_a_job_in_its_own_folder(tmp_path):
    shutil.copytree(JOB + "/log", tmp_path / "log", copy_function=shutil.copyfile)
    assert False, "the loss is not what it was"

@pytest.mark.pdtriage(JOB)
def test_a_job_whose_folder_is_marked():
    assert False

def test_of_something_else(tmp_path):
    assert False

def test_that_passes(tmp_path):
    shutil.copytree(JOB, tmp_path / "job", copy_function=shutil.copyfile)
"""
JOB = Path(__file__).parent / "fixtures" / "scenarios" / "data-errno5-worker"


@pytest.mark.parametrize("words", [["--pdtriage"], []])
def test_failed_tests_show_their_triage(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(job=str(JOB)))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(),
        check=False,
    )
    assert "3 failed, 1 passed" in done.stdout
    assert done.stdout.count("FAILED: rank 1 of 3") == (2 if words else 0)
    assert ("- pdtriage " in done.stdout) == bool(words)
