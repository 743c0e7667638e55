"""A few lines of a log as people read them: numbered, the evidence marked, nothing that steers."""

from __future__ import annotations

from pdtriage.model import Evidence
from pdtriage.report.sanitise import inert
from pdtriage.support.text_width import cut

MOST_COLUMNS = 400


def place(evidence: Evidence) -> str:
    return f"{evidence.file}:{evidence.line}"


def excerpt(
    evidence: Evidence, before: int = 4, after: int = 2, most: int = MOST_COLUMNS
) -> list[str]:
    """`  36  image.read(16)`, then `> 37  OSError ...`: no line begins with the log's own text."""
    above = evidence.before[-before:] if before else ()
    below = evidence.after[:after]
    first = evidence.line - len(above)
    gutter = len(str(evidence.line + len(below)))
    rows = []
    for number, text in enumerate((*above, evidence.text, *below), first):
        mark = ">" if number == evidence.line else " "
        shown = f"{number:>{gutter}}" if number > 0 else " " * gutter
        rows.append(f"{mark} {shown}  {cut(inert(text).replace(chr(10), ' '), most)}".rstrip())
    return rows
