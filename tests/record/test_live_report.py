"""Given what a launch reported, then its run is known by its start, and no type is trusted."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pdtriage.model import LiveCause
from pdtriage.record.live_report import parse_live_report, with_live_reports
from pdtriage.record.schema import RunRecord

CAUSE = {
    "signature": "data.file-missing",
    "category": "data.io",
    "confidence": "likely",
    "role": "worker",
    "ranks": [1, "x"],
    "host": None,
    "evidence": [{"file": "log/workerlog.1", "line": 7, "offset": 3, "text": "a\x1b b\n c"}, 5],
    "frame": None,
}
REPORT = {
    "run": 2,
    "runs": [{"index": 1, "started": 5.0}, {"index": 2, "started": 1794976127.6420603}],
    "root_causes": [CAUSE],
    "ranks": [{"role": "worker", "rank": 0, "files": ["a"]}, {"role": "worker", "rank": 1}],
}


def test_what_it_says_of_its_run() -> None:
    report = parse_live_report(json.dumps(REPORT).encode())
    assert report is not None
    assert report.logged == {("worker", 0)}
    line = ("log/workerlog.1", 7, 3, "a\x1b b c")
    expected = LiveCause(
        "data.file-missing", "data.io", "likely", "worker", (1,), None, (line,), None
    )
    assert report.causes == (expected,)


def test_it_is_of_the_record_that_began_with_it() -> None:
    report = parse_live_report(json.dumps(REPORT).encode())
    assert report is not None
    records = [
        ("log", RunRecord("run-0001.jsonl", 1, started=5.0)),
        ("log", RunRecord("run-0002.jsonl", 2, started=1794976127.6420603)),
        ("other", RunRecord("run-0002.jsonl", 2, started=1794976127.6420603)),
    ]
    lives = [record.live for _, record in with_live_reports(records, [("log", report)])]
    assert lives == [None, report, None]


JSON = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*REPORT, *CAUSE, "index", "started"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_anything_may_stand_there(value: object) -> None:
    parse_live_report(json.dumps(value).encode())
    parse_live_report(json.dumps({**REPORT, "root_causes": value, "ranks": [value]}).encode())


def test_what_is_no_report_is_none() -> None:
    for content in (b"", b"[1]", b"{}", b"\xff", b"[" * 100_000):
        assert parse_live_report(content) is None
