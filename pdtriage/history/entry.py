"""One run as the history keeps it, taken from the report on it.

A report is read as the plain values of its JSON (`pdtriage.report/1`): what `analyze` has just made
and what `run` left beside its record come the same way, and nothing is believed to have its type.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pdtriage.model import Report
from pdtriage.record.fields import Json, count, items, mapping, mappings, number, text
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

MOST_CAUSES, MOST_RANKS, MOST_RUNS, MOST_CHANGES = 5, 200_000, 100_000, 12
LONGEST = 400


class CauseEntry(NamedTuple):
    """Who was to blame for a failure, and why; equal failures have equal fingerprints."""

    fingerprint: str
    signature: str
    category: str
    title: Text
    role: str
    rank: int | None
    ranks: int
    host: str | None
    device: str | None
    confidence: str
    evidence: str


class RunEntry(NamedTuple):
    """One run: how it ended, who was to blame, and on what it ran."""

    key: str
    """The same for every report on the same run, whoever makes it and from where."""
    place: str
    run: int | None
    job: str | None
    mode: str
    launcher: str
    world_size: int | None
    verdict: str
    started: float | None
    ended: float | None
    last_step: int | None
    causes: tuple[CauseEntry, ...]
    used: tuple[tuple[str, str], ...]
    """Hosts and cards: (host, device); a device that nobody knows is empty."""
    changes: tuple[str, ...]
    """In what it was unlike the good run before it."""


def entry_of(report: Report, place: str) -> RunEntry:
    """The entry of a report made here, whose titles are known in both languages."""
    entry = entry_of_values(report.to_json(), place)
    titles = [cause.title for cause in report.root_causes]
    causes = [
        cause._replace(title=Text(*(words[:LONGEST] for words in title)))
        for cause, title in zip(entry.causes, titles, strict=False)
    ]
    return entry._replace(causes=tuple(causes))


def entry_of_values(values: Mapping[str, Any], place: str) -> RunEntry:
    """The entry of a report that was written as JSON; titles are in the language of that report."""
    report: Json = dict(values)
    index = count(report, "run")
    runs = mappings(report, "runs", MOST_RUNS)
    run = next((one for one in runs if count(one, "index") == index), {})
    ranks = mappings(report, "ranks", MOST_RANKS)
    job = mapping(report, "job")
    used = sorted({(text(rank, "host"), text(rank, "device")) for rank in ranks} - {("", "")})
    entry = RunEntry(
        key="",
        place=place,
        run=index,
        job=text(job, "id") or None,
        mode=text(job, "mode"),
        launcher=text(job, "launcher"),
        world_size=count(job, "world_size"),
        verdict=text(report, "verdict") or "unknown",
        started=number(run, "started"),
        ended=number(run, "ended"),
        last_step=count(run, "last_step"),
        causes=tuple(map(_cause, mappings(report, "root_causes", MOST_CAUSES))),
        used=tuple(used),
        changes=tuple(
            text(change, "text")[:LONGEST]
            for change in mappings(report, "differences", MOST_CHANGES)
        ),
    )
    return entry._replace(key=_key(entry, count(run, "attempt") or 0))


def _cause(cause: Json) -> CauseEntry:
    lines = mappings(cause, "evidence", 1)
    title = text(cause, "title")[:LONGEST]
    return CauseEntry(
        fingerprint=text(cause, "fingerprint"),
        signature=text(cause, "signature"),
        category=text(cause, "category"),
        title=Text(title, title),
        role=text(cause, "role"),
        rank=count(cause, "rank"),
        ranks=len(items(cause, "ranks")),
        host=text(cause, "host") or None,
        device=text(cause, "device") or None,
        confidence=text(cause, "confidence"),
        evidence=text(lines[0], "text")[:LONGEST] if lines else "",
    )


def _key(entry: RunEntry, attempt: int) -> str:
    """The key of a run: when it began and on what; without a time, the folder its logs lie in.

    Not by how it ended: a run that was looked at while it ran is the same run afterwards.
    """
    if entry.started is not None:
        what: Sequence[object] = ("time", round(entry.started, 3), attempt, entry.job, entry.used)
    else:
        what = ("place", entry.place, entry.run)
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]


def log_location(paths: Sequence[str]) -> str:
    """Where the logs lie, as the history names it; the same from every working folder."""
    from pdtriage.sources.remote.url import public_url

    shown = [public_url(path) for path in paths]
    return ", ".join(
        word if word == "-" or "://" in word else os.path.realpath(word) for word in shown
    )
