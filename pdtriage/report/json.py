"""The report as JSON, schema `pdtriage.report/1` (docs/report.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

import pdtriage
from pdtriage.model import (
    Baseline,
    Cause,
    Difference,
    Evidence,
    Frame,
    JobRow,
    Language,
    Moment,
    RankRow,
    Report,
    Run,
    Text,
    Victim,
)
from pdtriage.report.interface import Options
from pdtriage.report.sanitise import inert_json

SCHEMA = "pdtriage.report/1"


def as_json(report: Report) -> dict[str, object]:
    """The report as plain JSON values, sentences in the report's language."""
    language = report.language
    return {
        "schema": SCHEMA,
        "tool": {"name": "pdtriage", "version": pdtriage.__version__},
        "verdict": report.verdict,
        "language": language,
        "job": _job(report.job),
        "runs": [_run(run) for run in report.runs],
        "run": report.run,
        "root_causes": [_cause(cause, language) for cause in report.root_causes],
        "victims": [_victim(victim) for victim in report.victims],
        "ranks": [_rank(row) for row in report.ranks],
        "timeline": [_moment(moment, language) for moment in report.timeline],
        "redactions": report.redactions,
        "notes": _sentences(report.notes, language),
        "baseline": None if report.baseline is None else _baseline(report.baseline),
        "differences": [_difference(found, language) for found in report.differences],
    }


class JsonReporter:
    name = "json"
    suffixes = (".json",)

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        _dump(as_json(report), stream, options)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        _dump([as_json(report) for report in reports], stream, options)


reporter = JsonReporter()


def _dump(value: object, stream: TextIO, options: Options) -> None:
    indent = None if options.quiet else 2
    stream.write(inert_json(json.dumps(value, ensure_ascii=False, indent=indent)) + "\n")


def _job(job: JobRow) -> dict[str, object]:
    return {
        "id": job.id,
        "mode": job.mode,
        "launcher": job.launcher,
        "world_size": job.world_size,
        "nodes": [{"rank": node.rank, "host": node.host} for node in job.nodes],
    }


def _run(run: Run) -> dict[str, object]:
    return {
        "index": run.index,
        "launch": run.launch,
        "attempt": run.attempt,
        "started": run.started,
        "ended": run.ended,
        "verdict": run.verdict,
    }


def _cause(cause: Cause, language: Language) -> dict[str, object]:
    return {
        "category": cause.category,
        "signature": cause.signature,
        "title": cause.title.in_(language),
        "role": cause.role,
        "rank": cause.rank,
        "ranks": list(cause.ranks),
        "host": cause.host,
        "local_rank": cause.local_rank,
        "device": cause.device,
        "confidence": cause.confidence,
        "why": _sentences(cause.why, language),
        "evidence": [_evidence(evidence) for evidence in cause.evidence],
        "frame": None if cause.frame is None else _frame(cause.frame),
        "fields": dict(cause.fields),
        "advice": _sentences(cause.advice, language),
        "fingerprint": cause.fingerprint,
    }


def _evidence(evidence: Evidence) -> dict[str, object]:
    return {
        "file": evidence.file,
        "line": evidence.line,
        "offset": evidence.offset,
        "text": evidence.text,
    }


def _frame(frame: Frame) -> dict[str, object]:
    return {"file": frame.file, "line": frame.line, "function": frame.function}


def _victim(victim: Victim) -> dict[str, object]:
    return {
        "rank": victim.rank,
        "role": victim.role,
        "host": victim.host,
        "reason": victim.reason,
        "because_of": victim.because_of,
    }


def _rank(row: RankRow) -> dict[str, object]:
    return {
        "rank": row.rank,
        "role": row.role,
        "host": row.host,
        "local_rank": row.local_rank,
        "device": row.device,
        "files": list(row.files),
        "status": row.status,
        "exit_code": row.exit_code,
        "signal": row.signal,
        "last_step": row.last_step,
        "last_seen": row.last_seen,
        "first_seen": row.first_seen,
        "last_progress": row.last_progress,
    }


def _moment(moment: Moment, language: Language) -> dict[str, object]:
    return {
        "t": moment.t,
        "rank": moment.rank,
        "kind": moment.kind,
        "text": moment.text.in_(language),
    }


def _baseline(baseline: Baseline) -> dict[str, object]:
    return {"run": baseline.run, "path": baseline.path}


def _difference(found: Difference, language: Language) -> dict[str, object]:
    return {
        "kind": found.kind,
        "text": found.text.in_(language),
        "before": found.before,
        "after": found.after,
    }


def _sentences(texts: tuple[Text, ...], language: Language) -> list[str]:
    return [text.in_(language) for text in texts]
