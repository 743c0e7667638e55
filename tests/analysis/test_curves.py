"""Given small logs, when they are analysed, then curves show the whole way, not its ends alone."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

from pdtriage import analyze
from pdtriage.analysis.curves import MOST_BYTES
from pdtriage.model import RankRow

BEGIN = 1_763_250_000.0
STEPS = 400


def train(folder: Path, stamp: str = "%Y-%m-%d %H:%M:%S", padding: int = 0) -> None:
    """Two ranks that log every step, two in a second; the second half takes twice as long."""
    folder.mkdir()
    for rank in range(2):
        lines = []
        for step in range(STEPS):
            moment = BEGIN + 0.5 * (step + max(0, step - STEPS // 2))
            told = time.strftime(stamp, time.gmtime(moment))
            lines.append(f"[{told}] [INFO] step: {step}, loss: {4 - step / 200:.3f}\n")
            lines.append("." * padding + "\n" if padding else "")
        if rank:
            lines.append("Traceback (most recent call last):\n")
            lines.append('  File "train.py", line 9, in <module>\n    main()\n')
            lines.append("ValueError: label 7 is out of range\n")
        (folder / f"workerlog.{rank}").write_text("".join(lines))


def row_of(folder: Path) -> RankRow:
    return analyze(folder).ranks[0]


def widest_gap(row: RankRow) -> int:
    return max(later[1] - earlier[1] for earlier, later in pairwise(row.losses))


def test_every_part_of_a_small_log_is_on_its_curves(tmp_path: Path) -> None:
    train(tmp_path / "log")
    row = row_of(tmp_path / "log")
    assert [row.losses[0][1], row.losses[-1][1]] == [0, STEPS - 1]
    assert widest_gap(row) <= STEPS / 30
    assert len(row.pace) > 30
    first, second = row.pace[5:25], row.pace[-20:]
    assert all(1.8 < rate < 2.2 for _, rate in first), first
    assert all(0.8 < rate < 1.2 for _, rate in second), second


def test_logs_that_are_large_together_are_not_read_again(tmp_path: Path) -> None:
    train(tmp_path / "log", padding=MOST_BYTES // STEPS)
    row = row_of(tmp_path / "log")
    assert row.losses[-1][1] == STEPS - 1
    assert widest_gap(row) > STEPS / 30


def test_a_log_without_a_year_keeps_that_of_the_others(tmp_path: Path) -> None:
    """The folder was copied, and its files are of today."""
    train(tmp_path / "log")
    (tmp_path / "log" / "workerlog.0").write_text(
        "".join(
            f"I1115 23:{40 + step // 60:02}:{step % 60:02}.000000 77 loop.cc:7] step: {step}, "
            "loss: 0.5\n"
            for step in range(STEPS)
        )
    )
    row = row_of(tmp_path / "log")
    assert widest_gap(row) <= STEPS / 30
    times = [moment for moment, _, _ in row.losses if moment is not None]
    assert times == sorted(times)
    assert {time.gmtime(moment).tm_year for moment in times} == {2025}
