"""Given logs that tell local time, then what was told by UTC stands where it happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pdtriage
from pdtriage.model import Report

ABORTED = 1_655_455_522  # 2022-06-17 08:45:22 by UTC
TRAIN = """\
import logging, os, time
logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
for step in range(3):
    logging.info("epoch: 0, step: %d, loss: 0.5", step)
    time.sleep(0.1)
    if os.environ["PADDLE_TRAINER_ID"] == "1" and step == 1:
        raise ValueError("no such label")
time.sleep(60)
"""


def stopped_log(began: str, aborted: int = ABORTED) -> str:
    """A rank that trained, by the clock on the wall, and was stopped, by UTC."""
    steps = [
        f"[{began}:{2 * n:02}] ppocr INFO: epoch: [1/9], iter: {n}, loss: 0.5" for n in range(9)
    ]
    return "\n".join(
        [
            *steps,
            "--------------------------------------",
            "C++ Traceback (most recent call last):",
            "--------------------------------------",
            "No stack trace in paddle, may be caused by external reasons.",
            "----------------------",
            "Error Message Summary:",
            "----------------------",
            "FatalError: `Termination signal` is detected by the operating system.",
            f"  [TimeInfo: *** Aborted at {aborted} (unix time) ***]",
            "  [SignalInfo: *** SIGTERM (@0x9) received by PID 8005 (TID 0x7f) from PID 7965 ***]",
            "",
        ]
    )


def analysed(folder: Path, *logs: str) -> Report:
    for rank, text in enumerate(logs):
        (folder / f"workerlog.{rank}").write_text(text)
    return pdtriage.analyze(folder)


def clock_of(moment: float | None) -> str:
    assert moment is not None
    hours, rest = divmod(int(moment) % 86400, 3600)
    return f"{hours:02}:{rest // 60:02}"


@pytest.mark.parametrize(
    ("began", "told"),
    [
        ("2022/06/17 08:45", "08:45"),  # UTC
        ("2022/06/17 16:44", "16:45"),  # China
        ("2022/06/17 14:14", "14:15"),  # India
        ("2022/06/17 08:30", "08:45"),  # UTC, and a quarter of an hour of silence
    ],
)
def test_a_stop_is_told_by_the_clock_of_the_log(began: str, told: str, tmp_path: Path) -> None:
    report = analysed(tmp_path, *[stopped_log(began)] * 2)
    signals = [m for m in report.timeline if m.kind == "signal"]
    assert signals
    assert {clock_of(m.t) for m in signals} == {told}
    assert report.timeline[0].kind == "start"


def test_another_run_tells_the_zone_where_there_was_silence(tmp_path: Path) -> None:
    """It had not said a word for two hours when it was stopped."""
    earlier = stopped_log("2022/06/16 16:44", ABORTED - 86400)
    later = stopped_log("2022/06/17 14:44", ABORTED)
    report = analysed(tmp_path, earlier + later)
    assert {clock_of(m.t) for m in report.timeline if m.kind == "signal"} == {"16:45"}


def test_west_of_greenwich_the_next_run_tells_it(tmp_path: Path) -> None:
    earlier = stopped_log("2022/06/16 03:44", ABORTED - 86400)
    later = stopped_log("2022/06/16 03:47", ABORTED)
    report = analysed(tmp_path, earlier + later)
    assert {clock_of(m.t) for m in report.timeline if m.kind == "signal"} == {"03:45"}


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York", "UTC"])
def test_a_recorded_run_is_told_by_the_clock_of_its_logs(zone: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "pdtriage", "run", "--nproc_per_node", "2", "train.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "no such label" in done.stdout + done.stderr
    report = pdtriage.analyze(tmp_path / "log")
    kinds = [(m.kind, m.rank) for m in report.timeline]
    assert kinds == [("start", None), ("error", 1), ("exit", 1), ("exit", 0)]
    times = [m.t for m in report.timeline if m.t is not None]
    assert times == sorted(times)
    assert times[-1] - times[0] < 3000
