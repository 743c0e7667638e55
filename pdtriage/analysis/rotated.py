"""Places in a rotated log, which is read as one, told by the file a person finds them in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from pdtriage.model import Cause, Difference, Evidence, RankRow, Report, Seam, VerdictExplanation

Seams = Mapping[str, Sequence[Seam]]
"""Of rotated logs, by the path they are known by."""


def name_pieces(report: Report, seams: Seams) -> Report:
    """The report with the pieces of rotated logs for the logs."""
    return report._replace(
        root_causes=tuple(_cause(cause, seams) for cause in report.root_causes),
        ranks=tuple(_row(row, seams) for row in report.ranks),
        differences=tuple(_difference(unlike, seams) for unlike in report.differences),
        explanation=report.explanation and _explanation(report.explanation, seams),
    )


def _explanation(explanation: VerdictExplanation, seams: Seams) -> VerdictExplanation:
    return explanation._replace(
        evidence=tuple(_evidence(line, seams) for line in explanation.evidence),
        set_aside=tuple(
            aside._replace(evidence=_evidence(aside.evidence, seams))
            for aside in explanation.set_aside
        ),
    )


def _cause(cause: Cause, seams: Seams) -> Cause:
    return cause._replace(evidence=tuple(_evidence(line, seams) for line in cause.evidence))


def _evidence(evidence: Evidence, seams: Seams) -> Evidence:
    own = seams.get(evidence.file)
    if own is None:
        return evidence
    at = bisect_right([seam.offset for seam in own], evidence.offset) - 1
    seam = own[max(0, at)]
    return evidence._replace(
        file=seam.path, line=evidence.line - seam.line, offset=evidence.offset - seam.offset
    )


def _row(row: RankRow, seams: Seams) -> RankRow:
    if not any(file in seams for file in row.files):
        return row
    files = [seam.path for file in row.files for seam in seams.get(file, (Seam(file, 0, 0),))]
    return row._replace(files=tuple(dict.fromkeys(files)))


def _difference(unlike: Difference, seams: Seams) -> Difference:
    file, _, number = (unlike.place or "").rpartition(":")
    own = seams.get(file)
    if own is None or not number.isdecimal():
        return unlike
    seam = own[max(0, bisect_right([seam.line for seam in own], int(number) - 1) - 1)]
    return unlike._replace(place=f"{seam.path}:{int(number) - seam.line}")
