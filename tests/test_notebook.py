"""In a notebook: a report shows itself, and its ranks are a table."""

from __future__ import annotations

from pathlib import Path

import pandas

import pdtriage
from tests.report import reports

CASE = Path(__file__).parent / "fixtures" / "scenarios" / "data-errno5-worker"


def test_a_report_shows_itself() -> None:
    report = pdtriage.analyze(CASE)
    assert repr(report) == "<Report failed: rank 1, 127.0.0.1, data.io (likely), 3 ranks>"
    card = report._repr_html_()
    assert "FAILED" in card
    assert "workerlog.1:" in card
    assert repr(reports.succeeded()).startswith("<Report succeeded: ")
    assert report.to_dict() == report.to_json()


def test_what_a_log_says_is_text_in_a_notebook() -> None:
    line = reports.io_error().evidence[0]._replace(text="<script>alert(1)</script>\x1b[31m")
    cause = reports.io_error()._replace(evidence=(line,), host="<b>")
    card = reports.failed()._replace(root_causes=(cause,))._repr_html_()
    assert not [bad for bad in ("<script", "<b>,", "\x1b") if bad in card]


def test_ranks_are_a_table_for_pandas() -> None:
    table = pandas.DataFrame(pdtriage.analyze(CASE).ranks)
    assert list(table.columns[:3]) == ["rank", "role", "host"]
    assert list(table[table.status == "failed"]["rank"]) == [1]
