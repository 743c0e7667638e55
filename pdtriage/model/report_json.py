"""The report as plain values of JSON, schema `pdtriage.report/1` (docs/report.schema.json).

Of ranks and victims there may be a hundred thousand, much alike. Their tables are written column by
column, in half the time of looking at each value of each row: what a column holds is seen once, a
word that many rows share is encoded once. Where plain values are wanted, they are read from the
lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from json.encoder import encode_basestring as _string
from math import isfinite
from typing import Any

import pdtriage
from pdtriage.model.logs import CardHistory, Frame
from pdtriage.model.report import (
    Attempts,
    Baseline,
    Cause,
    Claim,
    Difference,
    Evidence,
    JobRow,
    Moment,
    OtherRule,
    RankRow,
    Report,
    Straggler,
    VerdictExplanation,
    Victim,
)
from pdtriage.model.runs import Brief, Restart, Run
from pdtriage.model.stacks import ProcessStack, Standstill
from pdtriage.support.language import Language, Text

SCHEMA = "pdtriage.report/1"
AT_ONCE = 256
"""Rows that are written together: their columns stay in the processor's cache."""
_NOTHING = {type(None)}
_Column = Callable[[Sequence[Any]], Iterable[str]]
"""From the values of a column to their JSON."""


def as_json(report: Report) -> dict[str, object]:
    """The report as plain JSON values, sentences in the report's language."""
    values = with_tables(report).items()
    return {name: value.values() if isinstance(value, Table) else value for name, value in values}


def with_tables(report: Report) -> dict[str, object]:
    """The report as plain values but for its long tables, which are not values yet."""
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
        "stragglers": [_straggler(found) for found in report.stragglers],
        "explanation": report.explanation and _explanation(report.explanation, language),
        "stacks": None if report.standstill is None else _standstill(report.standstill, language),
        "cards": [_card(card) for card in report.cards],
    }


class Table:
    """Rows that become JSON only when they are written."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], columns: Mapping[str, _Column]) -> None:
        """`columns` are the first fields of a row, in their order."""
        self._rows, self._columns = rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def lines(self) -> Iterator[str]:
        for first in range(0, len(self._rows), AT_ONCE):
            fields = zip(*self._rows[first : first + AT_ONCE], strict=True)
            parts: list[Iterable[str]] = []
            before = "{"
            for (name, write), values in zip(self._columns.items(), fields, strict=False):
                parts += repeat(f'{before}"{name}": '), write(values)
                before = ", "
            yield from map("".join, zip(*parts, repeat("}"), strict=False))

    def values(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


def table_of_victims(victims: Sequence[Victim]) -> Table:
    columns: dict[str, _Column] = {
        "rank": _numbers,
        "role": _texts,
        "host": _texts,
        "reason": _texts,
        "because_of": _numbers,
    }
    return Table(victims, columns)


def table_of_ranks(rows: Sequence[RankRow], language: Language) -> Table:
    columns: dict[str, _Column] = {
        "rank": _numbers,
        "role": _texts,
        "host": _texts,
        "local_rank": _numbers,
        "device": _texts,
        "files": _files,
        "status": _texts,
        "exit_code": _numbers,
        "signal": _numbers,
        "last_step": _numbers,
        "last_seen": _numbers,
        "first_seen": _numbers,
        "last_progress": _numbers,
        "progress": _steps,
        "moments": _Lives(language),
        "pace": _pairs,
        "losses": _losses,
        "clock_offset": _numbers,
    }
    return Table(rows, columns)


def _numbers(values: Sequence[float | None]) -> Iterable[str]:
    kinds = set(map(type, values))
    if kinds == {int} or (kinds == {float} and all(map(isfinite, values))):  # type: ignore[arg-type]
        return map(repr, values)
    return ["null"] * len(values) if kinds == _NOTHING else map(_number, values)


def _texts(values: Sequence[str | None]) -> Iterable[str]:
    known = {value: "null" if value is None else _string(value) for value in set(values)}
    return map(known.__getitem__, values)


def _files(values: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"[{_string(files[0]) if len(files) == 1 else ', '.join(map(_string, files))}]"
        for files in values
    ]


def _steps(values: Sequence[Sequence[tuple[float, int]]]) -> list[str]:
    return [
        f"[{', '.join([f'[{_milliseconds(time)}, {step}]' for time, step in steps])}]"
        if steps
        else "[]"
        for steps in values
    ]


def _pairs(values: Sequence[Sequence[tuple[float, float]]]) -> list[str]:
    return [
        f"[{', '.join([f'[{_milliseconds(time)}, {_number(rate)}]' for time, rate in pace])}]"
        if pace
        else "[]"
        for pace in values
    ]


def _losses(values: Sequence[Sequence[tuple[float | None, int, float | None]]]) -> list[str]:
    return [
        f"[{', '.join([f'[{_number(t)}, {step}, {_number(loss)}]' for t, step, loss in losses])}]"
        if losses
        else "[]"
        for losses in values
    ]


def _milliseconds(time: float) -> str:
    """A time to three places; to round it first, for a shorter number, takes twice as long."""
    text = f"{time:.3f}"
    return text if text[-1] in "123456789" else _number(round(time, 3))


class _Lives:
    """The table of moments of ranks; most say the same at another time."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._told: dict[tuple[str, Text, bool], str] = {}

    def __call__(self, values: Sequence[Sequence[Moment]]) -> list[str]:
        return [f"[{', '.join(map(self._moment, lived))}]" if lived else "[]" for lived in values]

    def _moment(self, moment: Moment) -> str:
        time, _, kind, text, _, about = moment
        told = self._told.get((kind, text, about))
        if told is None:
            told = self._told[kind, text, about] = (
                f'"kind": {_string(kind)}, '
                f'"text": {_string(text.in_(self._language))}, '
                f'"about": {"true" if about else "false"}'
            )
        return f'{{"t": {_number(time)}, {told}}}'


def _number(value: float | None) -> str:
    if value is None:
        return "null"
    return repr(value) if value - value == 0 else json.dumps(value)  # a record may say Infinity


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


def _straggler(found: Straggler) -> dict[str, object]:
    rounded = {
        "ratio": round(found.ratio, 2),
        "step_seconds": round(found.step_seconds, 4),
        "usual_seconds": round(found.usual_seconds, 4),
        "seconds": round(found.seconds, 1),
    }
    return found._asdict() | {"ranks": list(found.ranks)} | rounded


def _standstill(taken: Standstill, language: Language) -> dict[str, object]:
    return {
        "time": taken.time,
        "reason": taken.reason,
        "still": taken.still,
        "limit": taken.limit,
        "moved_on": taken.moved_on,
        "processes": [_stack(stack) for stack in taken.stacks],
        "notes": _sentences(taken.notes, language),
    }


def _stack(stack: ProcessStack) -> dict[str, object]:
    values = stack._asdict()
    return values | {"frames": list(map(_frame, stack.frames)), "native": list(stack.native)}


def _card(card: CardHistory) -> dict[str, object]:
    return {
        "host": card.host,
        "device": card.device,
        "total_mb": card.total_mb,
        "samples": [list(sample) for sample in card.samples],
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


def _explanation(explanation: VerdictExplanation, language: Language) -> dict[str, object]:
    return {
        "rule": explanation.rule,
        "about": explanation.about.in_(language),
        "claim": _claim(explanation.claim),
        "evidence": [_evidence(line) for line in explanation.evidence],
        "others": [_other_rule(other, language) for other in explanation.others],
        "set_aside": [
            {**_evidence(aside.evidence), "why": aside.why.in_(language)}
            for aside in explanation.set_aside
        ],
        "changes": [
            {"given": change.given.in_(language), "claim": _claim(change.claim)}
            for change in explanation.changes
        ],
    }


def _claim(claim: Claim) -> dict[str, object]:
    return {
        "verdict": claim.verdict,
        "category": claim.category,
        "role": claim.role,
        "ranks": list(claim.ranks),
        "confidence": claim.confidence,
    }


def _other_rule(other: OtherRule, language: Language) -> dict[str, object]:
    return {
        "rule": other.rule,
        "about": other.about.in_(language),
        "claim": _claim(other.claim),
        "agrees": other.agrees,
        "yields_to": other.yields_to,
        "reason": None if other.reason is None else other.reason.in_(language),
    }


def _sentences(texts: tuple[Text, ...], language: Language) -> list[str]:
    return [text.in_(language) for text in texts]
