"""From the facts of one run to its verdict. Pure: same facts in, same judgement out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdtriage.knowledge import Knowledge
from pdtriage.model import Cause, Event, RankRow, RunFacts, VerdictWord, Victim
from pdtriage.verdict.accusations import accusations_of, narrowed
from pdtriage.verdict.causes import causes_from, confidence_notes
from pdtriage.verdict.ladder import Case, climb
from pdtriage.verdict.reading import Found, Reading, read_rank
from pdtriage.verdict.rows import rank_rows, victims_of
from pdtriage.verdict.suspects import Suspect


@dataclass(frozen=True)
class Judgement:
    verdict: VerdictWord
    causes: tuple[Cause, ...]
    victims: tuple[Victim, ...]
    ranks: tuple[RankRow, ...]
    readings: tuple[Reading, ...]


def judge(facts: RunFacts, knowledge: Knowledge) -> Judgement:
    """Who caused what in this run."""
    readings = [read_rank(rank, knowledge) for rank in facts.ranks]
    accusations = narrowed(
        [a for reading in readings for a in accusations_of(reading, facts.ranks)]
    )
    case = Case(
        facts,
        readings,
        accusations,
        launcher=_known(facts.launcher, knowledge),
        kernel=_known(facts.kernel, knowledge),
    )
    suspects = climb(case)
    confidence_notes(suspects, readings)
    verdict = _verdict(case, suspects)
    causes = causes_from(suspects, knowledge)
    victims = victims_of(readings, causes, accusations, facts, verdict)
    rows = rank_rows(readings, causes, victims, verdict)
    return Judgement(verdict, causes, victims, rows, tuple(readings))


def _known(events: Sequence[tuple[str, Event]], knowledge: Knowledge) -> list[Found]:
    return [
        Found(file, event, knowledge.signatures[event.signature])
        for file, event in events
        if event.signature in knowledge.signatures
    ]


def _verdict(case: Case, suspects: list[Suspect]) -> VerdictWord:
    if suspects:
        return _bad_end(case, suspects[0])
    if case.facts.running:
        return "running"
    if case.went_well:
        return "succeeded"
    return "interrupted" if case.facts.ended_by_record == "interrupted" else "unknown"


def _bad_end(case: Case, top: Suspect) -> VerdictWord:
    if top.signature in ("launch.signal", "verdict.interrupted"):
        return "interrupted"
    if top.signature == "verdict.stuck" and case.facts.started_by == "unknown":
        return "unknown"  # a lone text that stops is no proof of a job that hangs
    if top.category == "hang":
        return "hung"
    if case.interrupted and top.signature in ("verdict.never-joined", "verdict.rank-clash"):
        return "hung"
    if case.interrupted and top.signature == "verdict.peers-missing":
        return "interrupted"
    return "failed"
