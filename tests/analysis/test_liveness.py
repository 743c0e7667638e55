"""Given a log that merely stops, then a process that still writes it shows that the job runs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import pdtriage

JOB = """
import sys, time
for step in range(1000):
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"[{stamp}] epoch: 1, step: {step}/1000, loss: 0.5", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("pause", ["0.1", "1000"])
def test_a_job_runs_while_its_process_has_the_log_open_and_no_longer(
    tmp_path: Path, pause: str
) -> None:
    log = tmp_path / "log" / "workerlog.0"
    log.parent.mkdir()
    with log.open("wb") as stream:
        job = subprocess.Popen([sys.executable, "-c", JOB, pause], stdout=stream)
    try:
        deadline = time.monotonic() + 30
        while not log.stat().st_size and time.monotonic() < deadline:
            time.sleep(0.05)
        report = pdtriage.analyze(tmp_path / "log")
        assert (report.verdict, report.root_causes) == ("running", ())
    finally:
        job.kill()
        job.wait()
    report = pdtriage.analyze(tmp_path / "log")
    assert report.root_causes == ()
    if pause == "1000":  # of the other one nobody can tell on a network file system
        assert report.verdict == "unknown"
        assert "pdtriage watch" in report.notes[1].en
