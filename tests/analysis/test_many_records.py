"""A folder that was launched into for years: the work grows with its run records, not faster."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from pdtriage.analysis.pipeline import analyze, analyze_all_runs
from pdtriage.model import Report

DAY = 86_400.0


def write_runs(log: Path, runs: int) -> Path:
    (log / "pdtriage").mkdir(parents=True)
    for rank in (0, 1):
        (log / f"workerlog.{rank}").write_text("step 1\nOSError: [Errno 5] Input/output error\n")
    for run in range(runs):
        began = 1_700_000_000.0 + run * DAY
        entries: list[dict[str, object]] = [
            {"kind": "launch", "schema": "pdtriage.run/1", "launch": f"{run:x}", "started": began}
        ]
        for rank in (0, 1):
            own = {"role": "worker", "rank": rank, "local_rank": rank, "pid": 100 + 2 * run + rank}
            started = {"log": f"workerlog.{rank}", "offset": 0, "time": began}
            entries.append({"kind": "start", **own, **started})
            entries.append({"kind": "death", **own, "order": rank, "code": 1, "time": began + 9})
        entries.append({"kind": "end", "reason": "failed", "exit_code": 1, "time": began + 10})
        text = "".join(f"{json.dumps(entry)}\n" for entry in entries)
        (log / "pdtriage" / f"run-{run + 1:04d}.jsonl").write_text(text)
    return log


def calls_for(folder: Path, ask: Callable[[Path], Report] = analyze) -> int:
    """Counted, not timed: a busy machine changes nothing."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG001
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        report = ask(folder)
    finally:
        sys.setprofile(None)
    assert report.verdict == "failed"
    return calls


def test_work_grows_with_the_records(tmp_path: Path) -> None:
    analyze(write_runs(tmp_path / "first", 2))  # whatever is loaded once
    few, many = (calls_for(write_runs(tmp_path / str(runs), runs)) for runs in (100, 800))
    assert many < 9 * few


def test_so_it_does_where_every_run_is_reported(tmp_path: Path) -> None:
    """Each report lists all runs: one tuple of them for all, or memory grows with the square."""

    def newest(folder: Path) -> Report:
        reports = analyze_all_runs(folder)
        assert len({id(report.runs) for report in reports}) == 1
        return reports[-1]

    newest(write_runs(tmp_path / "first", 2))
    few, many = (calls_for(write_runs(tmp_path / str(runs), runs), newest) for runs in (50, 200))
    assert many < 5 * few
