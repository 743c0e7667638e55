"""Who writes the logs of a job, and who of them is a rank."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pdtriage.live.writers import Writers

from ..running import clean_environment, wait_until

LAUNCHER = """
import os, subprocess, sys
logs = [open(f"workerlog.{rank}", "ab") for rank in range(2)]
code = "import os, sys; os.fork(); print('here', flush=True); sys.stdin.read()"
for rank, log in enumerate(logs):
    variables = os.environ | {"PADDLE_TRAINER_ID": str(rank)}
    subprocess.Popen([sys.executable, "-c", code], stdout=log, env=variables)
sys.stdin.read()
"""


def test_a_launcher_and_loader_workers_that_have_the_logs_open_are_no_ranks(tmp_path: Path) -> None:
    logs = {str((tmp_path / f"workerlog.{rank}").resolve()) for rank in range(2)}
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        env=clean_environment(),
    )
    try:
        assert wait_until(
            lambda: all(
                Path(log).exists() and Path(log).read_text().count("here") == 2 for log in logs
            )
        )
        writers = Writers()
        writers.search(logs)
        assert writers.alive() == 5
        assert writers.ranks() == (2, 2)
    finally:
        launcher.stdin.close()  # type: ignore[union-attr]
        launcher.wait(30)
    assert wait_until(lambda: writers.ranks() == (0, 2))


def _lines_in(log: Path) -> int:
    return log.read_text().count("here") if log.exists() else 0
