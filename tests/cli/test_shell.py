"""What holds for every verb: versions, help, unexpected errors, start-up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pdtriage as package
from pdtriage import __main__ as front_door
from pdtriage.debugging import DEBUG_VARIABLE
from tests.cli.conftest import Command

HEAVY = ("typer", "rich", "regex", "hyperscan", "zstandard", "watchdog")


def test_version(pdtriage: Command) -> None:
    assert pdtriage("--version").out == f"pdtriage {package.__version__}\n"


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pdtriage.__main__ import main; main(['--version']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_speaks_the_language_of_the_locale(pdtriage: Command) -> None:
    assert "Find the culprit of a failed job" in pdtriage("--help").out
    assert "从日志中找出" in pdtriage("--help", LC_ALL="zh_CN.UTF-8").out


def test_an_unexpected_error_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pdtriage.cli.obey", _fall_over)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    with pytest.raises(SystemExit) as left:
        front_door.main(["analyze"])
    assert left.value.code == 4
    error = capsys.readouterr().err
    assert error == (
        "pdtriage: internal error: ZeroDivisionError: oh no (set PDTRIAGE_DEBUG=1 to see where)\n"
    )


def test_debugging_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdtriage.cli.obey", _fall_over)
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    with pytest.raises(ZeroDivisionError):
        front_door.main(["analyze"])


def test_a_closed_pipe_is_no_error(failed_job: Path) -> None:
    done = subprocess.run(
        [
            "bash",
            "-c",
            '"$0" -m pdtriage analyze "$1" -f json | head -c 10',
            sys.executable,
            failed_job,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(done.stdout) == 10
    assert done.stderr == ""


def _fall_over(_: object) -> None:
    raise ZeroDivisionError("oh\nno")
