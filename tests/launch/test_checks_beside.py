"""What goes wrong beside a job that runs already costs nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdtriage.launch import run
from pdtriage.support.language import Text

from .conftest import SCRIPTS


def test_checks_that_fail_cost_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def checks(*_: object, **__: object) -> list[Text]:
        raise OSError(24, "Too many open files")

    monkeypatch.chdir(SCRIPTS)
    words = ["--log_dir", str(tmp_path / "log"), "--nproc_per_node=1", "act.py", "0=exit:7"]
    assert run(words, checks=checks).exit_code == 7
    said = capsys.readouterr().err
    assert "the checks at the start were not finished (OSError: [Errno 24] Too many open" in said
