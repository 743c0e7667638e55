"""From the facts of one run to its verdict. Pure: same facts in, same judgement out."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.knowledge import Knowledge
from pdtriage.model import Cause, Event, RunFacts, VerdictWord, Victim
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict import wording
from pdtriage.verdict.accusations import Directory, accusations_of, narrowed
from pdtriage.verdict.causes import causes_from, confidence_notes
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.ladder import climb
from pdtriage.verdict.launcher_gone import LAUNCHER_GONE
from pdtriage.verdict.pod_suspects import NEVER_STARTED, with_mounts
from pdtriage.verdict.rank_reading import Observation, RankReading, read_rank
from pdtriage.verdict.suspects import Suspect, accusers_of
from pdtriage.verdict.victims import victims_of

NEVER_MET = frozenset({"verdict.never-joined", "verdict.nodes-differ", "verdict.rank-clash"})
INTERRUPTIONS = frozenset(
    {
        "external.batch-limit",
        "external.evicted",
        "external.slurm-cancelled",
        "external.timeout-command",
        "launch.signal",
        "python.keyboard-interrupt",
        "verdict.interrupted",
        LAUNCHER_GONE,
    }
)
"""A person or a scheduler ended the run; nothing in it had failed."""


class Judgement(NamedTuple):
    """What is said of one run."""

    verdict: VerdictWord
    causes: tuple[Cause, ...]
    victims: tuple[Victim, ...]
    readings: tuple[RankReading, ...]


def judge(facts: RunFacts, knowledge: Knowledge) -> Judgement:
    """Who caused what in this run."""
    readings = [read_rank(rank, knowledge) for rank in facts.ranks]
    directory = Directory(facts.ranks)
    complaining = [reading for reading in readings if reading.symptoms]
    accusations = narrowed([a for r in complaining for a in accusations_of(r, directory)])
    evidence = RunEvidence(
        facts,
        readings,
        accusations,
        accusers_of(accusations),
        launcher=_known(facts.launcher, knowledge),
        kernel=_known(facts.kernel, knowledge),
        cluster=_known(facts.cluster, knowledge),
        signatures=knowledge.signatures,
    )
    suspects = with_mounts(climb(evidence), evidence.cluster)
    _ask_the_launcher(evidence, suspects)
    confidence_notes(suspects, readings, facts.unanswered, alone=evidence.is_one_process)
    verdict = _verdict(evidence, suspects)
    causes = causes_from(suspects, knowledge)
    accused = {suspect.rank.key for suspect in suspects if suspect.rank}
    victims = victims_of(readings, causes, facts, verdict, accused)
    return Judgement(verdict, causes, victims, tuple(readings))


def signatures_reported(judgement: Judgement) -> set[str]:
    """What the report tells as the failure: causes, what follows from them, who was stopped."""
    return {
        found.signature.id
        for reading in judgement.readings
        for found in (
            *reading.causes,
            *reading.symptoms,
            *reading.inner,
            *reading.explained,
            *([reading.stopped] if reading.stopped else []),
        )
    }


def _known(events: Sequence[tuple[str, Event]], knowledge: Knowledge) -> list[Observation]:
    return [
        Observation(file, event, knowledge.signatures[event.signature])
        for file, event in events
        if event.signature in knowledge.signatures
    ]


def _ask_the_launcher(evidence: RunEvidence, suspects: list[Suspect]) -> None:
    """Whose words a console shows is not always told; who failed is."""
    unclear = [s for s in suspects if s.rank and s.rank.mixed and s.found]
    named = evidence.named if unclear else ()
    for suspect in unclear:
        if named and suspect.rank and suspect.rank.rank not in named:
            suspect.named = named
            suspect.why.append(wording.named_by_launcher())


def _verdict(evidence: RunEvidence, suspects: list[Suspect]) -> VerdictWord:
    if suspects:
        return _bad_end(evidence, suspects[0])
    if evidence.facts.running or evidence.facts.ended_by_cluster == "running":
        return "running"
    if evidence.went_well:
        return "succeeded"
    return "interrupted" if evidence.facts.ended_by_record == "interrupted" else "unknown"


def _bad_end(evidence: RunEvidence, top: Suspect) -> VerdictWord:
    if top.signature in INTERRUPTIONS:
        return "interrupted"
    if top.signature == "verdict.cut-short":
        return "unknown"
    if top.signature == "verdict.stuck" and evidence.facts.started_by == "unknown":
        return "unknown"  # a lone text that stops is no proof of a job that hangs
    if top.category == "hang":
        return "hung"
    if top.signature in NEVER_STARTED and evidence.facts.ended_by_cluster != "failed":
        return "hung"  # nobody has given up yet
    if evidence.interrupted and top.signature in NEVER_MET:
        return "hung"
    if evidence.interrupted and top.signature == "verdict.peers-missing":
        return "interrupted"
    return "failed"
