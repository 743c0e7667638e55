"""`analyze --baseline`, and the comparison nobody had to ask for."""

from __future__ import annotations

import json
from pathlib import Path

from pdtriage.pipeline import analyze
from tests.cli.conftest import FIXTURES, Command


def test_an_earlier_good_run_is_compared_by_itself(pdtriage: Command) -> None:
    answer = pdtriage("analyze", FIXTURES / "runs-success-then-failure", "-f", "json")
    report = json.loads(answer.out)
    assert report["baseline"] == {"run": 1, "path": None}
    assert report["differences"][0]["kind"] == "reached"
    text = pdtriage("analyze", FIXTURES / "runs-success-then-failure").out
    assert "Unlike run 1, which went well" in text


def test_a_run_that_went_well_is_compared_with_nothing() -> None:
    report = analyze(FIXTURES / "runs-failure-then-success")
    assert report.baseline is None
    assert report.differences == ()


def test_another_place(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--baseline", FIXTURES / "run-success", "-f", "json")
    report = json.loads(answer.out)
    assert report["baseline"]["path"] == str(FIXTURES / "run-success")
    assert {"kind": "size", "before": "2", "after": "3"}.items() <= next(
        found for found in report["differences"] if found["kind"] == "size"
    ).items()


def test_a_run_by_its_number(pdtriage: Command) -> None:
    folder = FIXTURES / "runs-success-then-failure"
    answer = pdtriage("analyze", folder, "--baseline", "1", "-f", "json")
    assert json.loads(answer.out)["baseline"]["run"] == 1
    assert pdtriage("analyze", folder, "--baseline", "9").code == 3


def test_a_baseline_that_did_not_succeed(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--baseline", failed_job)
    assert answer.code == 3
    assert "no run there succeeded" in answer.err
    assert pdtriage("analyze", failed_job, "--baseline", "1", "--all-runs").code == 2
