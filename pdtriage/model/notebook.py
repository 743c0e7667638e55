"""A report in a notebook: a line, and a small card of HTML. `-f html` is the whole of it."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from pdtriage.model.kinds import process_name

if TYPE_CHECKING:
    from pdtriage.model.report import Cause, Report

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BAD = ("failed", "hung", "interrupted")
MOST_ADVICE = 3


def line_of(report: Report) -> str:
    """`<Report failed: rank 1, data.io (proven), 4 ranks>`"""
    words = [f"{len(report.ranks)} ranks"]
    if report.root_causes:
        cause = report.root_causes[0]
        words.insert(0, f"{_who(cause)}, {cause.category} ({cause.confidence})")
    return _clean(f"<Report {report.verdict}: {', '.join(words)}>")


def card_of(report: Report) -> str:
    """The report as a card without scripts and styles of a page; every word of a log is text."""
    colour = "#c62f2f" if report.verdict in _BAD else "#1e7d45"
    parts = [f'<b style="color:{colour}">{_html(report.verdict.upper())}</b>']
    for cause in report.root_causes[:1]:
        parts.append(f"{_html(_who(cause))}: <b>{_html(cause.title.in_(report.language))}</b>")
        parts += [
            f"<code>{_html(line.file)}:{line.line}</code> <code>{_html(line.text)}</code>"
            for line in cause.evidence[:1]
        ]
        steps = [_html(step.in_(report.language)) for step in cause.advice[:MOST_ADVICE]]
        if steps:
            parts.append(f"<ol>{''.join(f'<li>{step}</li>' for step in steps)}</ol>")
    parts.append(f"<small>{len(report.ranks)} ranks, {len(report.victims)} victims</small>")
    return f"<div>{'<br>'.join(parts)}</div>"


def _who(cause: Cause) -> str:
    who = process_name(cause.role, cause.rank)
    return ", ".join(filter(None, [who, cause.host, cause.device]))


def _html(words: str) -> str:
    return escape(_clean(words), quote=True)


def _clean(words: str) -> str:
    return _CONTROLS.sub("\ufffd", words)
