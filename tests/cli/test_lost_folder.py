"""A working folder that was removed is no reason to fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import FIXTURES
from tests.running import clean_environment

LOG = FIXTURES / "data-errno5-worker" / "log"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (f"analyze {LOG}", 1, "FAILED: rank 1 of 3"),
        (f"analyze {LOG} -f json={{}}/made.json", 1, "FAILED: rank 1 of 3"),
        (f"analyze {LOG} .", 1, "FAILED: rank 1 of 3"),
        (f"bundle {LOG} -o {{}}/made.tar.zst", 0, "16 files"),
        ("explain data.errno5", 0, "I/O error"),
        ("analyze .", 3, "no such file or folder"),
        (f"analyze {LOG} -o made.json", 2, "cannot write the report"),
    ],
)
def test_every_path_that_needs_no_folder_works(
    tmp_path: Path, words: str, code: int, said: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command = f"{sys.executable} -m pdtriage {words.format(tmp_path)}"
    done = subprocess.run(
        ["sh", "-c", f"rmdir {here}; exec {command}"],
        cwd=here,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    assert (len(list(tmp_path.glob("made.*"))) == 1) == ("{}" in words)
