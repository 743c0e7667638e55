"""Names of logs in a report can be pasted, wherever one stands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pdtriage import analyze
from pdtriage.analysis.paths_from_here import with_paths_from_here

CASE = Path(__file__).resolve().parent.parent / "fixtures/scenarios/elastic-exit-code-legacy"


def files_of(asked: Path) -> list[str]:
    report = with_paths_from_here(analyze(asked), [asked])
    files = [line.file for cause in report.root_causes for line in cause.evidence]
    return [*files, *(file for row in report.ranks for file in row.files)]


@pytest.mark.parametrize("there", [".", "case", "case/log", "elsewhere"])
def test_a_name_leads_to_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    shutil.copytree(CASE, tmp_path / "case")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / there)
    for asked in (tmp_path / "case", tmp_path / "case" / "log"):
        files = files_of(asked)
        assert files
        assert all(Path(file).is_file() for file in files)
        assert all(".." not in file for file in files)


def test_a_relative_name_stays_as_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CASE, tmp_path / "case")
    monkeypatch.chdir(tmp_path)
    assert all(file.startswith("case/log/") for file in files_of(Path("case/log")))
