"""Given a folder used twenty times over weeks, when analysed, then every run of it is known.

The folders were left by real jobs (`python -m tests.scenarios record history-new …`); the clock on
the wall was another one in each of them, and set back once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze_all_runs

from .appended import FIXTURES, LEFT_OUT

FOLDERS = sorted((FIXTURES / "scenarios").glob("history-*"))
NOT_LOGS = shutil.ignore_patterns("label.json", "cmd.txt", "mtimes.json")


@pytest.mark.parametrize("left", ["whole", "logs alone"])
@pytest.mark.parametrize("case", FOLDERS, ids=lambda case: case.name)
def test_every_run_is_told(case: Path, left: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(case, tmp_path / "job", ignore=NOT_LOGS))
    for name, written in json.loads((case / "mtimes.json").read_text()).items():
        os.utime(folder / name, (written, written))
        if re.fullmatch(LEFT_OUT[left], Path(name).name):
            (folder / name).unlink()
    truth = json.loads((case / "label.json").read_text())["history"]
    reports = analyze_all_runs(folder)
    assert [report.verdict for report in reports] == [verdict for verdict, _, _ in truth]
    for report, (_, ranks, culprits) in zip(reports, truth, strict=True):
        wrote = {row.rank for row in report.ranks if row.files}
        named = {rank for cause in report.root_causes for rank in cause.ranks}
        assert named <= set(culprits), report.run
        if len(culprits) == ranks:  # of these a launcher stops the last before they say a word
            assert named <= wrote <= set(range(ranks)), report.run
        else:
            assert wrote == set(range(ranks)), report.run
        assert named or not culprits, report.run
