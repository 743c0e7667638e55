"""A history as text and as JSON (`pdtriage.history/1`)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pdtriage.history.entry import RunEntry
from pdtriage.history.groups import FailureGroup, Ranking, Wear, changes_since
from pdtriage.history.phrases import (
    counts_text,
    day_of,
    days_text,
    steps_words,
    times_text,
    verdict_word,
)
from pdtriage.report.sanitise import inert_json, inert_line
from pdtriage.support.language import Language, Text

SCHEMA = "pdtriage.history/1"
MOST_RUNS = 20
"""Of one failure, on a terminal."""


def list_text(groups: Sequence[FailureGroup], runs: Sequence[RunEntry], language: Language) -> str:
    failed = sum(len(group.runs) for group in groups)
    lines = [
        Text(
            f"{len(runs)} runs, {failed} with a cause, {len(groups)} different failures",
            f"共 {len(runs)} 次运行，其中 {failed} 次有失败原因，{len(groups)} 种不同的失败",
        ).in_(language)
    ]
    for group in groups:
        lines += ["", *_group_lines(group, language)]
    return _join_lines(lines)


def show_text(group: FailureGroup, language: Language) -> str:
    lines = [*_group_lines(group, language)]
    if group.cause.evidence:
        lines.append(f"  > {group.cause.evidence}")
    changes = changes_since(group.before, group.runs[0])
    if changes:
        lines.append("  " + Text("new when it first came:", "首次出现时的变化：").in_(language))
        lines += [f"    {change.in_(language)}" for change in changes]
    lines.append("")
    for run in group.runs[-MOST_RUNS:]:
        lines.append(f"  {_run_line(run, language)}")
    left = len(group.runs) - MOST_RUNS
    if left > 0:
        lines.append("  " + Text(f"and {left} older", f"另有 {left} 次更早的").in_(language))
    return _join_lines(lines)


def top_text(ranking: Ranking, language: Language) -> str:
    lines = []
    for title, rows in _rankings(ranking):
        lines.append(title.in_(language))
        width = max((len(row.name) for row in rows), default=0)
        lines += [f"  {row.name:{width}}  {_wear_words(row).in_(language)}" for row in rows]
        if not rows:
            lines.append("  " + Text("none was to blame", "没有").in_(language))
    return _join_lines(lines)


def _rankings(ranking: Ranking) -> list[tuple[Text, tuple[Wear, ...]]]:
    return [
        (Text("Hosts, the worst first", "主机，问题最多的在前"), ranking.hosts),
        (Text("Cards, the worst first", "计算卡，问题最多的在前"), ranking.cards),
    ]


def _wear_words(row: Wear) -> Text:
    share = f"{row.blamed / row.used:.0%}"
    seen = day_of(row.last_seen)
    kinds = counts_text(row.categories)
    return Text(
        f"to blame in {row.blamed} of {row.used} runs ({share}): {kinds}"
        + (f"; last {seen}" if seen else ""),
        f"{row.used} 次运行中 {row.blamed} 次是根源（{share}）：{kinds}"
        + (f"；最近 {seen}" if seen else ""),
    )


def _group_lines(group: FailureGroup, language: Language) -> list[str]:
    seen = days_text(group.first_seen, group.last_seen)
    head = Text(
        f"{times_text(len(group.runs)).en}, {seen}", f"{times_text(len(group.runs)).zh}，{seen}"
    ).in_(language)
    lines = [
        f"{group.fingerprint}  {head}",
        f"  {group.cause.title.in_(language)} [{group.cause.category}]",
    ]
    where = counts_text(group.cards or group.hosts)
    details = [where, steps_words(group.steps).in_(language)]
    if any(details):
        lines.append("  " + Text("; ", "；").in_(language).join(filter(None, details)))
    return lines


def _run_line(run: RunEntry, language: Language) -> str:
    cause = run.causes[0]
    rank = "" if cause.rank is None else f"{cause.role} {cause.rank}"
    who = " ".join(filter(None, [rank, cause.host, cause.device]))
    word = verdict_word(run.verdict).in_(language)
    return "  ".join(filter(None, [day_of(run.ended or run.started) or "?", word, who, run.place]))


def _join_lines(lines: Sequence[str]) -> str:
    return "\n".join(map(inert_line, lines)) + "\n"


def history_json(
    groups: Sequence[FailureGroup],
    ranking: Ranking | None,
    runs: Sequence[RunEntry],
    language: Language,
) -> str:
    values: dict[str, object] = {
        "schema": SCHEMA,
        "runs": len(runs),
        "failures": [_group_values(group, language) for group in groups],
    }
    if ranking is not None:
        values["hosts"] = [_wear_values(row) for row in ranking.hosts]
        values["cards"] = [_wear_values(row) for row in ranking.cards]
    return inert_json(json.dumps(values, ensure_ascii=False, indent=2)) + "\n"


def _group_values(group: FailureGroup, language: Language) -> dict[str, object]:
    cause = group.cause
    return {
        "fingerprint": group.fingerprint,
        "count": len(group.runs),
        "category": cause.category,
        "signature": cause.signature,
        "title": cause.title.in_(language),
        "first_seen": group.first_seen,
        "last_seen": group.last_seen,
        "hosts": dict(group.hosts),
        "cards": dict(group.cards),
        "steps": list(group.steps),
        "changes": [each.in_(language) for each in changes_since(group.before, group.runs[0])],
        "runs": [_run_values(run) for run in group.runs],
    }


def _run_values(run: RunEntry) -> dict[str, object]:
    cause = run.causes[0]
    return {
        "place": run.place,
        "run": run.run,
        "job": run.job,
        "verdict": run.verdict,
        "started": run.started,
        "ended": run.ended,
        "last_step": run.last_step,
        "rank": cause.rank,
        "host": cause.host,
        "device": cause.device,
        "confidence": cause.confidence,
    }


def _wear_values(row: Wear) -> dict[str, object]:
    return {
        "name": row.name,
        "blamed": row.blamed,
        "used": row.used,
        "share": round(row.blamed / row.used, 4),
        "categories": dict(row.categories),
        "last_seen": row.last_seen,
    }
