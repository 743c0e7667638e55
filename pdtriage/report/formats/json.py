"""The report as JSON, schema `pdtriage.report/1` (docs/report.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TextIO

import pdtriage
from pdtriage.model import (
    Attempts,
    Baseline,
    Brief,
    Cause,
    Difference,
    Evidence,
    Frame,
    JobRow,
    Language,
    Moment,
    Report,
    Restart,
    Run,
    Text,
)
from pdtriage.report import Options
from pdtriage.report.formats.json_tables import Table, table_of_ranks, table_of_victims
from pdtriage.report.sanitise import inert_json

SCHEMA = "pdtriage.report/1"
LINE = 120
INDENT = "  "
MANY = 256
"""A longer list has one line for each item, however wide: to be searched, not to be read."""

_encode = json.JSONEncoder(ensure_ascii=False).encode


def as_json(report: Report) -> dict[str, object]:
    """The report as plain JSON values, sentences in the report's language."""
    told = _told(report).items()
    return {name: value.values() if isinstance(value, Table) else value for name, value in told}


def _told(report: Report) -> dict[str, object]:
    """The same, but for its long tables."""
    language = report.language
    return {
        "schema": SCHEMA,
        "tool": {"name": "pdtriage", "version": pdtriage.__version__},
        "verdict": report.verdict,
        "language": language,
        "job": _job(report.job),
        "runs": [_run(run, language) for run in report.runs],
        "run": report.run,
        "root_causes": [_cause(cause, language) for cause in report.root_causes],
        "victims": table_of_victims(report.victims),
        "ranks": table_of_ranks(report.ranks, language),
        "timeline": [_moment(moment, language) for moment in report.timeline],
        "redactions": report.redactions,
        "notes": _sentences(report.notes, language),
        "baseline": None if report.baseline is None else _baseline(report.baseline),
        "differences": [_difference(found, language) for found in report.differences],
        "attempts": None if report.attempts is None else _attempts(report.attempts, language),
    }


class JsonReporter:
    name = "json"
    suffixes = (".json",)

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        if options.quiet:
            _write([_encoded(as_json(report))], stream)
        else:
            _write(_document(_told(report)), stream)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        told = [as_json(report) for report in reports]
        _write([_encoded(told) if options.quiet else _readable(told)], stream)


reporter = JsonReporter()


def _write(pieces: Iterable[str], stream: TextIO) -> None:
    """Whole values only, so that each can be made inert by itself."""
    for piece in pieces:
        stream.write(inert_json(piece))
    stream.write("\n")


def _document(told: dict[str, object]) -> Iterator[str]:
    """As `_readable` has it, piece by piece."""
    before = "{\n"
    for name, value in told.items():
        yield f"{before}{INDENT}{_encoded(name)}: "
        before = ",\n"
        if not isinstance(value, Table):
            yield _readable(value, INDENT)
        elif len(value) <= MANY:
            yield _readable(value.values(), INDENT)
        else:
            yield from _listed(value.lines(), INDENT)
    yield "\n}"


def _listed(lines: Iterator[str], indent: str) -> Iterator[str]:
    """A line for each item, many at once."""
    inner = f"\n{indent}{INDENT}"
    before = "["
    while some := list(islice(lines, MANY)):
        yield before + inner + f",{inner}".join(some)
        before = ","
    yield f"\n{indent}]"


def _readable(value: object, indent: str = "") -> str:
    """Indented by two, but what holds only numbers or fits a line is one line."""
    if not isinstance(value, (dict, list)) or not value:
        return _encoded(value)
    if _is_flat(value):
        line = _encoded(value)
        if len(indent) + len(line) <= LINE or _is_numbers(value):
            return line
    inner = indent + INDENT
    if isinstance(value, dict):
        rows = [f"{_encoded(str(key))}: {_readable(item, inner)}" for key, item in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(rows) + f"\n{indent}}}"
    rows = [_encoded(item) if len(value) > MANY else _readable(item, inner) for item in value]
    return f"[\n{inner}" + f",\n{inner}".join(rows) + f"\n{indent}]"


def _encoded(value: object) -> str:
    if value is None:
        return "null"
    return repr(value) if type(value) is int else _encode(value)  # which makes an encoder for each


def _is_flat(value: dict[str, object] | list[object]) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return _is_numbers(value) or not any(isinstance(item, (dict, list)) for item in items)


def _is_numbers(value: object) -> bool:
    """A list of numbers, or of lists of them, however long."""
    return isinstance(value, list) and all(
        isinstance(item, (int, float)) or (bool(item) and _is_numbers(item)) for item in value
    )


def _job(job: JobRow) -> dict[str, object]:
    return {
        "id": job.id,
        "mode": job.mode,
        "launcher": job.launcher,
        "world_size": job.world_size,
        "nodes": [{"rank": node.rank, "host": node.host} for node in job.nodes],
    }


def _run(run: Run, language: Language) -> dict[str, object]:
    return {
        "index": run.index,
        "launch": run.launch,
        "attempt": run.attempt,
        "started": run.started,
        "ended": run.ended,
        "verdict": run.verdict,
        "cause": None if run.cause is None else _brief(run.cause, language),
        "last_epoch": run.last_epoch,
        "last_step": run.last_step,
        "restart": None if run.restart is None else _restart(run.restart, language),
    }


def _brief(cause: Brief, language: Language) -> dict[str, object]:
    return {**_who(cause, language), "host": cause.host, "fingerprint": cause.fingerprint}


def _who(cause: Brief | Cause, language: Language) -> dict[str, object]:
    return {
        "category": cause.category,
        "signature": cause.signature,
        "title": cause.title.in_(language),
        "role": cause.role,
        "rank": cause.rank,
    }


def _restart(restart: Restart, language: Language) -> dict[str, object]:
    return {"again": restart.again, "why": restart.why.in_(language)}


def _attempts(attempts: Attempts, language: Language) -> dict[str, object]:
    return {
        "launch": attempts.launch,
        "runs": list(attempts.runs),
        "total": attempts.total,
        "failed": attempts.failed,
        "same_failure": attempts.same_failure,
        "summary": attempts.summary.in_(language),
    }


def _cause(cause: Cause, language: Language) -> dict[str, object]:
    return {
        **_who(cause, language),
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
        "place": found.place,
    }


def _sentences(texts: tuple[Text, ...], language: Language) -> list[str]:
    return [text.in_(language) for text in texts]
