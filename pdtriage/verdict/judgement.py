"""From the facts of one run to its verdict. Pure: same facts in, same judgement out."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.knowledge import Knowledge
from pdtriage.model import Cause, Rank, RunFacts, Text, VerdictWord, Victim
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict import wording
from pdtriage.verdict.causes import causes_from
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.good_ends import end_of_training_before, last_saved
from pdtriage.verdict.open_ends import notes_on_open_end, still_grows
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.rules import suspects_of
from pdtriage.verdict.rules.never_met import PEERS_MISSING
from pdtriage.verdict.rules.pod_ends import with_mounts
from pdtriage.verdict.suspects import Suspect
from pdtriage.verdict.victims import victims_of


class Judgement(NamedTuple):
    """What is said of one run."""

    verdict: VerdictWord
    causes: tuple[Cause, ...]
    victims: tuple[Victim, ...]
    readings: tuple[RankReading, ...]
    notes: tuple[Text, ...] = ()


def judge(facts: RunFacts, knowledge: Knowledge) -> Judgement:
    """Judges one run: who caused what.

    What may come from a stranger changes nothing that is known here: it can name a culprit only
    where something failed here and what is here does not prove why, and it proves nothing itself.
    """
    return judge_and_weigh(facts, knowledge)[0]


def judge_and_weigh(facts: RunFacts, knowledge: Knowledge) -> tuple[Judgement, RunFacts]:
    """The judgement, and the facts that it stands on: with hearsay or without."""
    stopped = facts.stopped_by_hearsay
    if not stopped and not any(rank.hearsay for rank in facts.ranks):
        return _judge(facts, knowledge), facts
    known = facts._replace(ranks=tuple(map(_as_known_here, facts.ranks)))
    here = tuple(stop for stop in facts.stops if stop.here)
    known = known._replace(stops=here) if stopped else known
    own = _judge(known, knowledge)
    proven = bool(own.causes) and own.causes[0].confidence == "proven"
    if proven or own.verdict in ("succeeded", "running", "interrupted"):
        return own, known
    believed = facts._replace(ended_by_record="interrupted") if stopped else facts
    told = _judge(believed, knowledge)
    return told._replace(causes=tuple(map(_as_hearsay, told.causes))), believed


def _as_known_here(rank: Rank) -> Rank:
    if not rank.hearsay:
        return rank
    return Rank(rank.role, rank.rank, host=rank.host, endpoint=rank.endpoint)


def _as_hearsay(cause: Cause) -> Cause:
    return cause._replace(confidence="likely") if cause.confidence == "proven" else cause


def _judge(facts: RunFacts, knowledge: Knowledge) -> Judgement:
    evidence = RunEvidence(facts, knowledge)
    return judgement_on(suspects_of(evidence), evidence)


def judgement_on(suspects: Sequence[Suspect], evidence: RunEvidence) -> Judgement:
    """What is said where a rule names these; nobody: no rule found anybody to blame."""
    suspects = with_mounts(suspects, evidence.cluster)
    suspects = [_with_named_rank(suspect, evidence) for suspect in suspects]
    verdict = _verdict(evidence, suspects)
    causes = causes_from(suspects, evidence)
    victims = victims_of(evidence, suspects, causes, verdict)
    notes = notes_on_open_end(evidence) if verdict == "unknown" and not causes else ()
    notes = (*notes, *_notes_on_way_out(evidence, suspects[:1]))
    return Judgement(verdict, causes, victims, tuple(evidence.readings), notes)


def _notes_on_way_out(evidence: RunEvidence, suspects: Sequence[Suspect]) -> list[Text]:
    """What was reached before a process failed that had done its work."""
    notes = []
    for reading in evidence.readings:
        for suspect in suspects:
            found = suspect.found
            if found is None or suspect.rank is None or suspect.rank.key != reading.rank.key:
                continue
            if ended := end_of_training_before(found, reading):
                saved = last_saved(found, reading)
                notes.append(wording.failed_on_way_out(ended.event, saved and saved.event))
    return notes


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


def _with_named_rank(suspect: Suspect, evidence: RunEvidence) -> Suspect:
    """Names the rank that the launcher says failed, where it is not clear whose words these are."""
    rank = suspect.rank
    if not rank or not rank.mixed or not suspect.found or rank.rank in evidence.named:
        return suspect
    if not evidence.named or rank.pids:  # by its pid it is known who speaks there
        return suspect
    if any(_speaks_beside(rank, other.rank, evidence.named) for other in evidence.readings):
        return suspect
    return suspect.with_named(evidence.named).because(wording.NAMED_BY_LAUNCHER)


def _speaks_beside(rank: Rank, other: Rank, named: Sequence[int]) -> bool:
    """The named one's own words are shown in the same console, told apart from these."""
    return other.rank in named and not other.mixed and {*other.files} == {*rank.files}


def _verdict(evidence: RunEvidence, suspects: Sequence[Suspect]) -> VerdictWord:
    if suspects:
        return _bad_end(evidence, suspects[0])
    if not evidence.is_over:
        return "running"
    if evidence.went_well:
        return "succeeded"
    if evidence.facts.ended_by_record == "interrupted":
        return "interrupted"
    return "running" if still_grows(evidence) else "unknown"


def _bad_end(evidence: RunEvidence, top: Suspect) -> VerdictWord:
    says = evidence.signatures[top.signature].says
    if "interrupted" in says:
        return "interrupted"
    if top.category == "hang":
        return "hung"
    if "never-started" in says and evidence.facts.ended_by_cluster != "failed":
        return "hung"  # nobody has given up yet
    if evidence.interrupted and "never-met" in says:
        return "hung"
    if evidence.interrupted and top.signature == PEERS_MISSING:
        return "interrupted"
    return "failed"
