"""Reads what `pdtriage run` reported, beside its records: never raises, believes no type."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pdtriage.model import Frame, LiveCause, LiveReport
from pdtriage.record.fields import Json, as_count, count, items, mapping, mappings, number, text
from pdtriage.record.schema import RunRecord

MOST_RUNS, MOST_RANKS = 100_000, 200_000
MOST_CAUSES, MOST_EVIDENCE, LONGEST = 5, 6, 2000
SAME_START = 0.001
"""Seconds: a time of the record that was written as JSON and read again."""


def parse_live_report(content: bytes) -> LiveReport | None:
    """What it says of the run it is about; None where it is no report on a run."""
    try:
        report = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(report, dict):
        return None
    index = count(report, "run")
    run = next(
        (run for run in mappings(report, "runs", MOST_RUNS) if count(run, "index") == index), None
    )
    started = number(run, "started") if run else None
    if started is None:
        return None
    ranks = [rank for rank in mappings(report, "ranks", MOST_RANKS) if items(rank, "files")]
    logged = [(text(rank, "role"), count(rank, "rank")) for rank in ranks]
    return LiveReport(
        started,
        tuple([_cause(cause) for cause in mappings(report, "root_causes", MOST_CAUSES)]),
        frozenset((role, rank) for role, rank in logged if rank is not None),
    )


def with_live_reports(
    records: Sequence[tuple[str, RunRecord]], reports: Sequence[tuple[str, LiveReport]]
) -> list[tuple[str, RunRecord]]:
    """Each record with the report on its run, if that lies beside it."""
    return [
        (folder, record._replace(live=_of_run(record, [r for at, r in reports if at == folder])))
        for folder, record in records
    ]


def _of_run(record: RunRecord, reports: Sequence[LiveReport]) -> LiveReport | None:
    began = record.started
    same = [r for r in reports if began is not None and abs(r.started - began) < SAME_START]
    return same[0] if len(same) == 1 else None


def _cause(cause: Json) -> LiveCause:
    numbers = map(as_count, items(cause, "ranks"))
    lines = mappings(cause, "evidence", MOST_EVIDENCE)
    return LiveCause(
        signature=text(cause, "signature"),
        category=text(cause, "category"),
        confidence=text(cause, "confidence"),
        role=text(cause, "role"),
        ranks=tuple([rank for rank in numbers if rank is not None]),
        host=text(cause, "host") or None,
        evidence=tuple([_line(line) for line in lines]),
        frame=_frame(mapping(cause, "frame")),
    )


def _line(line: Json) -> tuple[str, int, int, str]:
    words = " ".join(text(line, "text")[:LONGEST].split())
    return text(line, "file")[:LONGEST], count(line, "line") or 0, count(line, "offset") or 0, words


def _frame(frame: Json) -> Frame | None:
    line = count(frame, "line")
    if line is None:
        return None
    return Frame(text(frame, "file")[:LONGEST], line, text(frame, "function")[:LONGEST])
