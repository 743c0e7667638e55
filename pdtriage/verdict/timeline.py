"""A short timeline of a run: what was seen, in the best order the evidence allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from pdtriage.knowledge import Knowledge
from pdtriage.knowledge.slots import title_with
from pdtriage.model import Moment, RunFacts, Text
from pdtriage.verdict.judgement import Judgement
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.rank_rows import ending

MOST = 40
Place = tuple[str, int]
OF_A_KIND = 8
"""Of a thousand ranks that say the same, the first few are shown; each has its lane besides."""


def timeline_of(facts: RunFacts, judgement: Judgement, knowledge: Knowledge) -> tuple[Moment, ...]:
    """Start, errors, signals and exits, in the order of time as far as there is one."""
    moments: list[Moment] = []
    if facts.run.started is not None:
        moments.append(
            Moment(facts.run.started, None, "start", Text("run started", "运行开始"), "launcher")
        )
    blamed = {(c.evidence[0].file, c.evidence[0].line) for c in judgement.causes if c.evidence}
    launchers = {
        (line.file, line.line)
        for cause in judgement.causes
        if cause.role == "launcher"
        for line in cause.evidence
    }
    for reading in judgement.readings:
        if not reading.quiet or reading.survived or reading.stopped or reading.rank.exit:
            moments.extend(_seen_of(reading, blamed, launchers))
    for _, event in facts.launcher:
        signature = knowledge.signatures.get(event.signature)
        if signature and "milestone" in signature.says:
            moments.append(
                Moment(
                    event.time, None, "launcher", title_with(signature, event.fields), "launcher"
                )
            )
    moments = list(dict.fromkeys(moments))
    guilty: set[tuple[str, int | None]] = {
        (cause.role, rank) for cause in judgement.causes for rank in cause.ranks[:OF_A_KIND]
    }
    return _telling(sorted(moments, key=_order(moments, guilty)), guilty)


def _seen_of(reading: RankReading, blamed: set[Place], launchers: set[Place]) -> Iterator[Moment]:
    """What one rank says of its end, and how its parent saw it.

    What the report blames is told even where the rank went on after it for a while; what a
    launcher says of itself is the launcher's, although its console counts as a rank's log.
    """
    rank = reading.rank
    said = [("error", f) for f in (*reading.survived, *reading.inner) if f.where in blamed]
    said += [("error", f) for f in reading.causes[:2]]
    said += [("symptom", f) for f in reading.symptoms[:1]]
    if reading.stopped:
        said.append(("signal", reading.stopped))
    for kind, found in said:
        title = found.title
        if found.where in launchers:
            yield Moment(found.event.time, None, kind, title, "launcher")
        else:
            yield Moment(found.event.time, rank.rank, kind, title, rank.role)
    if rank.exit and (rank.exit.code is not None or rank.exit.signal is not None):
        yield Moment(rank.exit.time, rank.rank, "exit", ending(rank.exit), rank.role)


def _telling(moments: list[Moment], guilty: Iterable[tuple[str, int | None]]) -> tuple[Moment, ...]:
    """In their order, at most `MOST`: culprits and launchers, then a few of each kind."""
    if len(moments) <= MOST:
        return tuple(moments)
    guilty = {*guilty, ("launcher", None)}
    chosen = [place for place, m in enumerate(moments) if (m.role, m.rank) in guilty][:MOST]
    seen: Counter[tuple[str, Text]] = Counter()
    for place, moment in enumerate(moments):
        if len(chosen) == MOST:
            break
        seen[moment.kind, moment.text] += 1
        if place not in chosen and seen[moment.kind, moment.text] <= OF_A_KIND:
            chosen.append(place)
    return tuple(moments[place] for place in sorted(chosen))


def _order(
    moments: list[Moment], guilty: set[tuple[str, int | None]]
) -> Callable[[Moment], tuple[bool, float, bool, bool]]:
    """By time; what a rank said without a time stands before its death, where that is known.

    The error of a culprit stands before all that it led to.
    """
    deaths = {(m.role, m.rank): m.t for m in moments if m.kind == "exit" and m.t is not None}
    fallen = [m.t for m in moments if m.kind in _FALLS and m.t is not None]
    first = min(fallen, default=None)

    def key(moment: Moment) -> tuple[bool, float, bool, bool]:
        who = (moment.role, moment.rank)
        caused = moment.t is None and moment.kind == "error" and who in guilty
        time = first if caused else deaths.get(who) if moment.t is None else moment.t
        return time is None, time or 0.0, moment.t is not None, not caused

    return key


_FALLS = ("symptom", "signal", "exit")
