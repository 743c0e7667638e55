"""The script, its Python and its Paddle."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdtriage.doctor.checks import python as python_family
from pdtriage.doctor.context import Wishes

from .conftest import Machine

STAND_IN = """#!/bin/sh
case "$2" in
  *run_check*) {first}; echo "PaddlePaddle is {word}"; exit {code};;
esac
echo '["3.12.1", ["{site}"]]'
"""


def stand_in_python(
    folder: Path, *packages: str, word: str = "works", code: int = 0, first: str = ":"
) -> str:
    """A Python whose answers are written down, with these packages installed."""
    site = folder / "site"
    site.mkdir()
    for package in packages:
        name, version = package.split("==")
        metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
    python = folder / "python"
    python.write_text(STAND_IN.format(site=site, word=word, code=code, first=first))
    python.chmod(0o755)
    return str(python)


def test_script(machine: Machine) -> None:
    script = machine.folder / "train.py"
    assert machine.look("script", str(script)).status == "failed"
    script.touch()
    assert machine.look("script", str(script)).status == "ok"
    assert machine.look("script").status == "skipped"


def test_python(machine: Machine) -> None:
    assert sys.version.split()[0] in machine.look("python").seen.en
    assert machine.look("python", "--python=/nowhere/python").status == "failed"
    broken = machine.folder / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    assert machine.look("python", f"--python={broken}").status == "failed"


def test_paddle_is_there(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle-gpu==3.0.0")
    found = machine.look("paddle", f"--python={python}")
    assert (found.status, found.seen.en) == ("ok", "paddlepaddle_gpu 3.0.0")


def test_paddle_is_missing(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlenlp==2.0")
    assert machine.look("paddle", f"--python={python}").status == "failed"


def test_two_builds_of_paddle_overwrite_each_other(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0", "paddlepaddle-gpu==3.0.0")
    found = machine.look("paddle", f"--python={python}")
    assert found.status == "warning"
    assert "pip uninstall paddlepaddle paddlepaddle-gpu" in found.advice.en


def test_run_check_only_on_request(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0")
    assert machine.look("run-check", f"--python={python}").status == "skipped"
    asked = machine.look("run-check", f"--python={python}", wishes=Wishes(run_check=True))
    assert asked.status == "ok"


def test_run_check_fails(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0", word="broken", code=1)
    found = machine.look("run-check", f"--python={python}", wishes=Wishes(run_check=True))
    assert found.status == "failed"
    assert "PaddlePaddle is broken" in found.seen.en
    assert python in found.advice.zh


def test_run_check_that_never_ends(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_family, "RUN_CHECK_SECONDS", 0.5)
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0", first="sleep 47.11")
    began = time.monotonic()
    found = machine.look("run-check", f"--python={python}", wishes=Wishes(run_check=True))
    assert time.monotonic() - began < 20, "it is ended, not waited for"
    assert (found.status, "did not end" in found.seen.en) == ("failed", True)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 47.11" not in listed.stdout, "nothing of it is left"


@pytest.mark.live
def test_run_check_of_the_real_paddle(machine: Machine) -> None:
    pytest.importorskip("paddle.version", reason="Paddle is not installed")
    assert machine.look("run-check", wishes=Wishes(run_check=True)).status == "ok"
