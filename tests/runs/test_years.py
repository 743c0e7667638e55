"""Given a copied folder in which some logs tell no year, then they are of that of the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pdtriage

from ..scan.builders import facts_of

ERROR = (
    "E0425 18:38:33.592213     8 pybind.cc:1614] Invalid CUDAPlace(1), must inside [0, 1), "
    "because GPU number on your machine is 1\n"
)
COPIED, WRITTEN = 1_795_000_000.0, 1_650_912_000.0  # 2026-11-18 and 2022-04-25 18:40


def trained(day: str) -> str:
    glog = (
        f"W{day[5:7]}{day[8:]} 13:39:00.123456 7320 gpu_resources.cc:61] Please NOTE: device: 0, "
    )
    lines = [f"{glog}GPU Compute Capability: 7.0, Driver API Version: 11.4"]
    lines += [
        f"[{day} 13:4{n}:00] ppocr INFO: epoch: [1/1], iter: {n}, loss: 0.5" for n in range(9)
    ]
    return "\n".join([*lines, f"[{day} 13:50:00] ppocr INFO: save model in out/latest", ""])


def kept(folder: Path, modified: float, day: str = "2022/05/15") -> pdtriage.Report:
    for name, text in {"workerlog.0": trained(day), "workerlog.1": ERROR}.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (modified, modified))
    return pdtriage.analyze(folder)


@pytest.mark.parametrize("modified", [COPIED, WRITTEN])
def test_a_run_without_a_year_is_older_than_the_one_that_has_a_later_day(
    modified: float, tmp_path: Path
) -> None:
    report = kept(tmp_path, modified)
    assert (report.verdict, report.root_causes) == ("succeeded", ())
    assert [run.verdict for run in report.runs] == ["failed", "succeeded"]
    assert report.runs[0].started == WRITTEN - 86.407787


def test_it_is_of_the_year_in_which_it_is_nearest_to_the_others(tmp_path: Path) -> None:
    report = kept(tmp_path, COPIED, "2021/12/30")
    assert report.runs[-1].ended == WRITTEN - 86.407787


def test_a_log_with_one_date_tells_its_year() -> None:
    assert facts_of(ERROR.encode()).undated
    assert not facts_of(ERROR.encode() + b"[2022/05/15 13:40:00] ppocr INFO: ready\n" * 2).undated
    assert not facts_of(b"ready\n").undated


def test_a_december_that_was_read_in_january_is_told_without_a_year() -> None:
    """Its file was copied before that day of the year."""
    december = ERROR.replace("E0425", "E1225").encode()
    assert facts_of(december).undated
    assert not facts_of(december + b"[2022/05/15 13:40:00] ppocr INFO: ready\n" * 2).undated


def test_a_log_that_tells_the_year_of_its_end_tells_that_of_its_errors(tmp_path: Path) -> None:
    filler = "a line that tells nothing of the time at all\n" * 400  # beyond the head of the file
    aborted = (
        "  [TimeInfo: *** Aborted at 1650911920 (unix time) ***]\n"
        "  [SignalInfo: *** SIGTERM (@0x9) received by PID 8 (TID 0x7f) from PID 9 ***]\n"
    )
    (tmp_path / "workerlog.0").write_text(ERROR + filler + aborted)
    os.utime(tmp_path / "workerlog.0", (COPIED, COPIED))
    report = pdtriage.analyze(tmp_path)
    times = [moment.t for moment in report.timeline if moment.t is not None]
    assert times
    assert max(times) < WRITTEN
