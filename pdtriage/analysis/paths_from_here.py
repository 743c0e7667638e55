"""Paths of a report as one can paste them: from the folder one stands in, or absolute.

The analysis tells logs from the deepest folder that holds all that was asked for, so that the same
logs give the same report wherever they lie. A person wants to open them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pdtriage.model import (
    Cause,
    Difference,
    Evidence,
    RankRow,
    Report,
    Text,
    VerdictExplanation,
)
from pdtriage.sources.display_path import join_display, printable


def with_paths_from_here(report: Report, asked: Sequence[str | Path]) -> Report:
    """The report with names of logs that lead to them; relative ones, as asked for, do already."""
    local = [str(path) for path in asked if "://" not in str(path)]
    if not any(os.path.isabs(path) for path in local):
        return report
    try:
        common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in local])
        names = _Names(common, _from_here(common))
    except (OSError, ValueError):  # the working folder is gone; two drives of a Windows machine
        return report
    return report._replace(
        root_causes=tuple(names.cause(cause) for cause in report.root_causes),
        ranks=tuple(names.row(row) for row in report.ranks),
        differences=tuple(names.difference(unlike) for unlike in report.differences),
        explanation=report.explanation and names.explanation(report.explanation),
    )


def _from_here(folder: str) -> str:
    """Below the folder one stands in the way from there, elsewhere the whole way."""
    way = os.path.relpath(folder)
    way = folder if way.split(os.sep)[0] == os.pardir else way
    return printable(way.replace(os.sep, "/"))


def _renamed(said: str, files: Mapping[str, str]) -> str:
    """Commands of the advice, with what these logs are called now."""
    for old, new in files.items():
        if old != new:
            word = rf"(?<=[ `]){re.escape(shlex.quote(old))}(?=[ `;|])"
            said = re.sub(word, lambda _, new=new: shlex.quote(new), said)  # type: ignore[misc]
    return said


class _Names:
    """The names of logs; what does not lie in the folder (a URL, stdin) keeps its own."""

    def __init__(self, folder: str, shown: str) -> None:
        self._folder = folder
        self._shown = shown
        self.name = lru_cache(maxsize=None)(self._name)

    def _name(self, file: str) -> str:
        first = file.split("/", 1)[0]
        is_there = os.path.lexists(os.path.join(self._folder, first))
        return join_display(self._shown, file) if first and is_there else file

    def evidence(self, line: Evidence) -> Evidence:
        return line._replace(file=self.name(line.file))

    def cause(self, cause: Cause) -> Cause:
        evidence = tuple(map(self.evidence, cause.evidence))
        files = {old.file: new.file for old, new in zip(cause.evidence, evidence, strict=True)}
        return cause._replace(
            evidence=evidence,
            advice=tuple(Text(*(_renamed(said, files) for said in step)) for step in cause.advice),
        )

    def row(self, row: RankRow) -> RankRow:
        return row._replace(files=tuple(map(self.name, row.files)))

    def difference(self, unlike: Difference) -> Difference:
        return unlike._replace(place=self.name(unlike.place)) if unlike.place else unlike

    def explanation(self, told: VerdictExplanation) -> VerdictExplanation:
        return told._replace(
            evidence=tuple(map(self.evidence, told.evidence)),
            set_aside=tuple(
                aside._replace(evidence=self.evidence(aside.evidence)) for aside in told.set_aside
            ),
        )
