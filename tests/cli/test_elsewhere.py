"""On Windows and macOS: logs are read there as on Linux; what watches processes says what it needs.

A stand-in for those systems: see elsewhere.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import FIXTURES, Command

SYSTEMS = {"win32": "Windows", "darwin": "macOS"}
STAND_IN = Path(__file__).with_name("elsewhere.py")


def there(system: str, *words: str | Path, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, STAND_IN, system, *words],
        cwd=where,
        env=os.environ | {"LC_ALL": "C.UTF-8", "PDTRIAGE_CACHE": str(where / "cache")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_logs_are_read_as_on_linux(system: str, tmp_path: Path, pdtriage: Command) -> None:
    logs = FIXTURES / "assertion"
    done = there(system, "analyze", logs, "-f", "text", "-f", "html=report.html", where=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == pdtriage("analyze", logs).out
    assert (tmp_path / "report.html").exists()
    assert list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_comes_after_the_fact_works(system: str, tmp_path: Path) -> None:
    logs = FIXTURES / "assertion"
    for words in (
        ("bundle", logs, "-o", "bundle.tar.zst"),
        ("explain", "data.io"),
        ("parsers", "list", "--category", "data.io"),
    ):
        done = there(system, *words, where=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
    assert (tmp_path / "bundle.tar.zst").exists()
    missing = there(system, "collect", "k8s", "train", "--context", "none", where=tmp_path)
    assert "internal error" not in missing.stderr


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    "words", [("run", "train.py"), ("watch", "log"), ("doctor",), ("--lang=zh", "demo")]
)
def test_what_watches_processes_says_what_it_needs(
    system: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = there(system, *words, where=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    verb = next(word for word in words if not word.startswith("-"))
    sentence = "需要 Linux" if "--lang=zh" in words else "needs Linux"
    assert f"`pdtriage {verb}` {sentence}" in done.stderr
    assert SYSTEMS[system] in done.stderr
    assert not (tmp_path / "log").exists()
