"""The causes as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

import pdtriage
from pdtriage.hang.stack_groups import culprit_stacks
from pdtriage.hang.stack_words import MOST_STACKS, stack_title
from pdtriage.model import FAILURES, Cause, Evidence, ProcessStack, Report
from pdtriage.report import Options
from pdtriage.report.repository import nearest_location, source_location_of
from pdtriage.report.sanitise import inert, inert_json, inert_line
from pdtriage.report.words import CONFIDENCES, culprit
from pdtriage.support.text_width import cut

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SNIPPET_COLUMNS = 400


class SarifReporter:
    name = "sarif"
    suffixes = (".sarif", ".sarif.json")

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        self.write_all([report], stream, options)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        document = {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [_run(report, options.repository) for report in reports],
        }
        text = json.dumps(document, ensure_ascii=False, indent=None if options.quiet else 2)
        stream.write(inert_json(text) + "\n")


reporter = SarifReporter()


def _run(report: Report, repository: Path | None) -> dict[str, object]:
    rules = list({cause.signature: cause for cause in report.root_causes}.values())
    places = {cause.signature: number for number, cause in enumerate(rules)}
    manual = project_url("Documentation")
    home = project_url("Repository") or manual
    return {
        "tool": {
            "driver": {
                "name": "pdtriage",
                "version": pdtriage.__version__,
                **({"informationUri": home} if home else {}),
                "rules": [_rule(cause, manual) for cause in rules],
            }
        },
        "language": "zh-CN" if report.language == "zh" else "en-US",
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": f"pdtriage/run-{report.run or 0}"},
        "invocations": [{"executionSuccessful": report.verdict not in FAILURES}],
        "results": [
            _result(cause, places[cause.signature], report, repository)
            for cause in report.root_causes
        ],
    }


def project_url(label: str) -> str:
    """What `[project.urls]` says of this project, where it does and we are installed."""
    try:
        lines = metadata("pdtriage").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    urls: dict[str, str] = dict(line.split(", ", 1) for line in lines if ", " in line)
    return urls.get(label, "").rstrip("/")


def _rule(cause: Cause, manual: str) -> dict[str, object]:
    advice = "\n".join(f"{number}. {step.en}" for number, step in enumerate(cause.advice, 1))
    rule: dict[str, object] = {
        "id": cause.signature,
        "shortDescription": {"text": inert(cause.title.en)},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["paddlepaddle", cause.category]},
    }
    if manual:
        rule["helpUri"] = f"{manual}/failures/en/{cause.category}/#{cause.signature}"
    if advice:
        rule["help"] = {"text": inert(advice)}
    return rule


def _result(cause: Cause, rule: int, report: Report, repository: Path | None) -> dict[str, object]:
    spot = nearest_location(cause, repository)
    in_code = source_location_of(cause, repository) is not None
    result: dict[str, object] = {
        "ruleId": cause.signature,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": _message(cause, report)},
        "partialFingerprints": {"pdtriage/v1": cause.fingerprint},
        "properties": {
            "category": cause.category,
            "confidence": cause.confidence,
            "role": cause.role,
            "ranks": list(cause.ranks),
        },
    }
    if spot is not None:
        region: dict[str, object] = {"startLine": spot.line}
        if not in_code:
            region["snippet"] = _snippet(cause.evidence[0])
        result["locations"] = [_location(spot.path, region)]
    shown = cause.evidence[:3] if in_code else cause.evidence[1:3]
    if shown:
        result["relatedLocations"] = [
            {"id": number, **_location(e.file, _region(e)), "message": {"text": _escape(e.text)}}
            for number, e in enumerate(shown, 1)
        ]
    stacks = culprit_stacks(report.standstill, cause.role, cause.ranks)[:MOST_STACKS]
    if stacks:
        result["stacks"] = [_stack(stack, report) for stack in stacks]
    return result


def _stack(stack: ProcessStack, report: Report) -> dict[str, object]:
    return {
        "message": {"text": _escape(stack_title(stack).in_(report.language))},
        "frames": [
            {
                "location": {
                    **_location(frame.file, {"startLine": max(1, frame.line)}),
                    "logicalLocations": [{"fullyQualifiedName": inert_line(frame.function)}],
                }
            }
            for frame in stack.frames
        ],
    }


def _message(cause: Cause, report: Report) -> str:
    language = report.language
    said = f"{culprit(cause, report)}: {cause.title.in_(language)}"
    said += f" ({CONFIDENCES[cause.confidence].in_(language)})"
    steps = [f"{n}. {step.in_(language)}" for n, step in enumerate(cause.advice, 1)]
    return "\n".join(_escape(line) for line in (said, *steps))


def _escape(text: str) -> str:
    """Square brackets make links in SARIF messages, braces placeholders."""
    text = inert_line(text)
    for special in "\\[]":
        text = text.replace(special, "\\" + special)
    return text.replace("{", "{{").replace("}", "}}")


def _location(path: str, region: dict[str, object]) -> dict[str, object]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(inert_line(path).lstrip("/") or "log")},
            "region": region,
        }
    }


def _region(evidence: Evidence) -> dict[str, object]:
    return {"startLine": max(1, evidence.line), "snippet": _snippet(evidence)}


def _snippet(evidence: Evidence) -> dict[str, str]:
    return {"text": cut(inert_line(evidence.text), SNIPPET_COLUMNS)}
