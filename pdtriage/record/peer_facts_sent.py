"""What this node tells the others about its ranks; `jobs/heard.py` is the other end."""

from __future__ import annotations

import json

from pdtriage.model import Event, Exit, Rank, Report, RunFacts
from pdtriage.runs.peer_ranks import MOST_EVENTS, MOST_STEPS, NAME, TEXT, Json

MOST_BYTES = 48 << 10
SPOKEN = frozenset({"cause", "symptom", "victim", "end"})


def told(run: RunFacts, report: Report) -> Json:
    """The facts of the ranks of this node, as many as fit."""
    own = [rank for rank in run.ranks if rank.files]
    cause = report.root_causes[0] if report.root_causes else None
    culprit = next(
        (r for r in own if cause and (r.role, r.rank) == (cause.role, cause.rank) and r.exit), None
    )
    ending = culprit.exit if culprit else None
    facts: Json = {
        "role": cause.role if cause else None,
        "rank": cause.rank if cause else None,
        "code": ending.code if ending else None,
        "signal": ending.signal if ending else None,
    }
    for most in (MOST_EVENTS, 4, 2, 1, 0):
        facts["ranks"] = [_rank_told(rank, most) for rank in own]
        if len(json.dumps(facts)) <= MOST_BYTES:
            return facts
    return {**facts, "ranks": []}


def _rank_told(rank: Rank, most: int) -> Json:
    spoken = [(file, event) for file, event in rank.events if event.role in SPOKEN]
    first = next((e for e in spoken if e[1].role == "cause"), None)
    kept = spoken[-most:] if most else []
    if first is not None and first not in kept and most:
        kept = [first, *kept[1:]]
    return {
        "role": rank.role,
        "rank": rank.rank,
        "local_rank": rank.local_rank,
        "host": rank.host,
        "device": rank.device,
        "lines": rank.lines,
        "pids": list(rank.pids[:8]),
        "exit": _exit_told(rank.exit),
        "last_time": rank.last_time,
        "steps": [[p.line, p.offset, p.step, p.epoch] for p in rank.progress[-MOST_STEPS:]],
        "events": [_event_told(file, event) for file, event in kept],
    }


def _exit_told(ending: Exit | None) -> Json | None:
    if ending is None:
        return None
    return {
        "order": ending.order,
        "code": ending.code,
        "signal": ending.signal,
        "time": ending.time,
        "stopped": ending.stopped,
    }


def _event_told(file: str, event: Event) -> Json:
    frame = event.frame
    return {
        "file": file.rpartition("/")[2],
        "signature": event.signature,
        "line": event.line,
        "offset": event.offset,
        "first_line": event.first_line,
        "last_line": event.last_line,
        "last_seen": event.last_seen,
        "count": event.count,
        "block": event.block,
        "final": event.final,
        "time": event.time,
        "pid": event.pid,
        "text": event.text[:TEXT],
        "fields": {name: value[:NAME] for name, value in list(event.fields.items())[:12]},
        "frame": [frame.file[-NAME:], frame.line, frame.function[:NAME]] if frame else None,
    }
