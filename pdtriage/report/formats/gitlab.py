"""The causes as a GitLab code-quality report, for the merge request widget."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from pdtriage.hang.stack_groups import culprit_stacks, fold_of
from pdtriage.hang.stack_words import summary_of
from pdtriage.model import Cause, Confidence, Report
from pdtriage.report import Options
from pdtriage.report.repository import nearest_location
from pdtriage.report.sanitise import inert_json, inert_line
from pdtriage.report.words import culprit
from pdtriage.support.text_width import cut

_SEVERITIES: dict[Confidence, str] = {"proven": "blocker", "likely": "critical", "guess": "major"}
DESCRIPTION_COLUMNS = 1000


class GitlabReporter:
    name = "gitlab"
    suffixes = ("gl-code-quality-report.json",)

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        self.write_all([report], stream, options)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        issues = [issue for report in reports for issue in _issues(report, options.repository)]
        document = list({issue["fingerprint"]: issue for issue in issues}.values())
        text = json.dumps(document, ensure_ascii=False, indent=None if options.quiet else 2)
        stream.write(inert_json(text) + "\n")


reporter = GitlabReporter()


def _issues(report: Report, repository: Path | None) -> Iterable[dict[str, object]]:
    for cause in report.root_causes:
        spot = nearest_location(cause, repository)
        yield {
            "description": cut(_description(cause, report), DESCRIPTION_COLUMNS),
            "check_name": cause.signature,
            "fingerprint": _unique(cause),
            "severity": _SEVERITIES[cause.confidence],
            "location": {
                "path": inert_line(spot.path) if spot else "log",
                "lines": {"begin": spot.line if spot else 1},
            },
        }


def _description(cause: Cause, report: Report) -> str:
    title = cause.title.in_(report.language)
    said = f"{culprit(cause, report)}: {title}"
    if cause.evidence and cause.evidence[0].text.strip() not in title:  # the message may be both
        said += f" | {cause.evidence[0].text}"
    taken = report.standstill
    if taken is not None and culprit_stacks(taken, cause.role, cause.ranks):
        said += f" | {summary_of(taken, fold_of(taken)).in_(report.language)}"
    return inert_line(said)


def _unique(cause: Cause) -> str:
    """Equal across reruns, different for two causes of one run."""
    material = "\n".join([cause.fingerprint, cause.signature, cause.role])
    return hashlib.sha256(material.encode("utf-8", "replace")).hexdigest()
