"""Given a console that holds our own printed report, when analysed, then the report is evidence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args

import pytest

import pdtriage
from pdtriage.model import Cause, Language, Report
from pdtriage.report import Options, reporter_named

from ..report import reports

LAUNCHER = (
    "LAUNCH INFO 2026-01-01 00:00:00,000 Job: default, mode collective, replicas 1[1:1], "
    "elastic False\n"
    "LAUNCH INFO 2026-01-01 00:00:00,000 Run Pod: abcdef, replicas 4, status ready\n"
    "epoch 0 step 1 loss 1.0\n"
)


def read_again(report: Report, folder: Path, before: str = "") -> Report:
    """The report on a console that shows nothing but `before` and this report."""
    printed = io.StringIO()
    reporter_named("text").write(report, printed, Options())
    console = folder / "console.log"
    console.write_text(before + printed.getvalue(), encoding="utf-8")
    return pdtriage.analyze(console)


def said(cause: Cause) -> tuple[object, ...]:
    return cause.signature, cause.category, cause.role, cause.ranks, cause.host


@pytest.mark.parametrize("before", ["", LAUNCHER])
@pytest.mark.parametrize("language", get_args(Language))
def test_a_printed_report_names_culprit_and_victims_again(
    tmp_path: Path, before: str, language: Language
) -> None:
    report = reports.failed()._replace(language=language)
    again = read_again(report, tmp_path, before)
    assert (again.verdict, again.job.world_size) == ("failed", report.job.world_size)
    assert said(again.root_causes[0]) == said(report.root_causes[0])
    assert {v.rank for v in again.victims} == {v.rank for v in report.victims}
    stopped = {v.rank for v in report.victims if v.reason == "stopped"}
    assert {v.rank for v in again.victims if v.reason == "stopped"} == stopped


def test_a_launcher_that_was_to_blame(tmp_path: Path) -> None:
    report = reports.failed()
    cause = report.root_causes[0]._replace(
        signature="verdict.launcher-gone", category="external.kill",
        role="launcher", rank=None, ranks=(), local_rank=None, device=None, frame=None,
    )  # fmt: skip
    gone = report._replace(verdict="interrupted", root_causes=(cause,), victims=())
    again = read_again(gone, tmp_path)
    assert again.verdict == "interrupted"
    assert said(again.root_causes[0]) == said(cause)


def test_a_line_like_a_headline_alone_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("FAILED: rank 2 of 3, host 10.0.0.7\n")
    report = pdtriage.analyze(tmp_path / "console.log")
    assert (report.verdict, report.root_causes) == ("unknown", ())
