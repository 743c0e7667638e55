"""The command line as a user meets it: words in, text and exit code out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures" / "scenarios"


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Answer]


@pytest.fixture
def pdtriage(tmp_path: Path) -> Command:
    """Runs `pdtriage` in an empty folder, in English unless told otherwise."""

    def _run(
        *words: str | Path, stdin: bytes = b"", where: Path = tmp_path, **environment: str
    ) -> Answer:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LC_", "LANG", "PDTRIAGE", "NO_COLOR", "COLUMNS", "GITHUB_"))
        }
        done = subprocess.run(
            [sys.executable, "-m", "pdtriage", *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=where,
            env={**inherited, "LC_ALL": "C.UTF-8", **environment},
            timeout=400,
            check=False,
        )
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    return _run


@pytest.fixture
def failed_job() -> Path:
    """A real job of which rank 1 could not read a file."""
    return FIXTURES / "data-errno5-worker"
