"""A short timeline of a run: what was seen, in the best order the evidence allows."""

from __future__ import annotations

from collections.abc import Callable

from pdtriage.knowledge import Knowledge
from pdtriage.model import Moment, RunFacts, Text
from pdtriage.verdict import words
from pdtriage.verdict.judge import Judgement

MOST = 40


def timeline_of(facts: RunFacts, judgement: Judgement, knowledge: Knowledge) -> tuple[Moment, ...]:
    """Start, errors, signals and exits, in the order of time as far as there is one."""
    moments: list[Moment] = []
    if facts.run.started is not None:
        moments.append(
            Moment(facts.run.started, None, "start", Text("run started", "运行开始"), "launcher")
        )
    for reading in judgement.readings:
        rank = reading.rank
        for kind, found in (
            *(("error", f) for f in reading.causes[:2]),
            *(("symptom", f) for f in reading.symptoms[:1]),
            *([("signal", reading.stopped)] if reading.stopped else []),
        ):
            moments.append(
                Moment(found.event.time, rank.rank, kind, found.signature.title, rank.role)
            )
        if rank.exit and (rank.exit.code is not None or rank.exit.signal is not None):
            moments.append(
                Moment(
                    rank.exit.time,
                    rank.rank,
                    "exit",
                    _ending(rank.exit.code, rank.exit.signal),
                    rank.role,
                )
            )
    for _, event in facts.launcher:
        signature = knowledge.signatures.get(event.signature)
        if signature and event.signature in _TOLD:
            moments.append(Moment(event.time, None, "launcher", signature.title, "launcher"))
    moments = list(dict.fromkeys(moments))
    return tuple(sorted(moments, key=_order(moments))[:MOST])


def _order(moments: list[Moment]) -> Callable[[Moment], tuple[bool, float, bool]]:
    """By time; what a rank said without a time stands before its death, where that is known."""
    deaths = {(m.role, m.rank): m.t for m in moments if m.kind == "exit" and m.t is not None}

    def place(moment: Moment) -> tuple[bool, float, bool]:
        time = deaths.get((moment.role, moment.rank)) if moment.t is None else moment.t
        return time is None, time or 0.0, moment.t is not None

    return place


_TOLD = frozenset(
    {
        "launch.abort",
        "launch.container-failed",
        "launch.signal",
        "launch.restart",
        "launch.killed-by",
    }
)


def _ending(code: int | None, signal: int | None) -> Text:
    if signal is not None:
        name = words.signal_name(signal)
        return Text(f"ended by {name}", f"被 {name} 终止")
    return Text(f"exited with code {code}", f"以退出码 {code} 结束")
