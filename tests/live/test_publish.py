"""Where the report of a launch goes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from junitparser import JUnitXml

from pdtriage.live import publish
from tests.report import reports
from tests.report.test_ci_formats import commands


def test_several_files_at_once(tmp_path: Path) -> None:
    html, junit = tmp_path / "a.html", tmp_path / "b"
    publish.write_to(reports.failed(), Path(f"{html},junit={junit}"))
    assert html.read_text().startswith("<!doctype html>")
    assert JUnitXml.fromfile(str(junit)).failures == 1


def test_github_gets_annotations_and_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    plain, annotated = io.StringIO(), io.StringIO()
    publish.show_report(reports.failed(), plain)
    assert commands(plain.getvalue()) == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    publish.show_report(reports.failed(), annotated)
    assert commands(annotated.getvalue())[0].startswith("::error ")
    assert (tmp_path / "summary.md").read_text().startswith("## FAILED")
