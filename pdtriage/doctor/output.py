"""Findings for people and for programs (schema `pdtriage.doctor/1`, docs/doctor.schema.json)."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import TextIO

import pdtriage
from pdtriage.doctor.findings import Finding, Status, worst
from pdtriage.report.sanitise import inert_json, inert_line
from pdtriage.support.language import Language, Text

SCHEMA = "pdtriage.doctor/1"
_WORDS: dict[Status, Text] = {
    "ok": Text("ok", "正常"),
    "warning": Text("warning", "警告"),
    "failed": Text("failed", "失败"),
    "skipped": Text("skipped", "跳过"),
}
_COLOURS: dict[Status, str] = {"ok": "32", "warning": "33", "failed": "31", "skipped": "2"}


def findings_json(findings: Sequence[Finding], language: Language) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "tool": {"name": "pdtriage", "version": pdtriage.__version__},
        "host": socket.gethostname(),
        "language": language,
        "status": worst(findings),
        "findings": [
            {
                "id": finding.id,
                "status": finding.status,
                "seen": finding.seen.in_(language),
                "advice": finding.advice.in_(language) or None,
            }
            for finding in findings
        ],
    }


def write_json(findings: Sequence[Finding], language: Language, stream: TextIO) -> None:
    told = json.dumps(findings_json(findings, language), ensure_ascii=False, indent=2)
    stream.write(inert_json(told) + "\n")


def write_text(
    findings: Sequence[Finding], language: Language, stream: TextIO, *, colour: bool = False
) -> None:
    """One line a check, the advice below it; checks that do not apply come last, in one line."""
    shown = [finding for finding in findings if finding.status != "skipped"]
    wide = max((len(finding.id) for finding in shown), default=0)
    for finding in shown:
        word = _padded(finding.status, language, colour)
        stream.write(f"{word}  {finding.id:<{wide}}  {inert_line(finding.seen.in_(language))}\n")
        advice = inert_line(finding.advice.in_(language))
        if advice:
            stream.write(f"{'':<{_WIDTH + wide + 4}}→ {advice}\n")
    _write_skipped(findings, language, stream)
    stream.write(f"\n{_sum(findings, language)}\n")


_WIDTH = 7


def _padded(status: Status, language: Language, colour: bool) -> str:
    word = _WORDS[status].in_(language)
    # A Chinese character takes the place of two.
    columns = len(word) * (2 if language == "zh" else 1)
    blank = " " * (_WIDTH - columns)
    return f"\x1b[{_COLOURS[status]}m{word}\x1b[0m{blank}" if colour else word + blank


def _write_skipped(findings: Sequence[Finding], language: Language, stream: TextIO) -> None:
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        if finding.status == "skipped":
            reasons.setdefault(inert_line(finding.seen.in_(language)), []).append(finding.id)
    if not reasons:
        return
    stream.write("\n")
    for reason, names in reasons.items():
        listed = ", ".join(names)
        line = Text(f"skipped: {listed} ({reason})", f"跳过：{listed}（{reason}）")
        stream.write(f"{line.in_(language)}\n")


def _sum(findings: Sequence[Finding], language: Language) -> str:
    counts = {
        status: sum(1 for finding in findings if finding.status == status) for status in _WORDS
    }
    listed = [
        f"{count} {_WORDS[status].in_(language)}"
        for status, count in sorted(counts.items(), key=lambda pair: list(_COLOURS).index(pair[0]))
        if count
    ]
    joined = ", ".join(listed) if language == "en" else "，".join(listed)
    verdict = {
        "ok": Text("Ready.", "可以启动。"),
        "warning": Text("Ready, with warnings.", "可以启动，但有警告。"),
        "failed": Text("Not ready.", "尚不能启动。"),
    }[worst(findings) if worst(findings) != "skipped" else "ok"]
    return verdict.in_(language) + (" " if language == "en" else "") + joined
