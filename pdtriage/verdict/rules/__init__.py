"""The ladder of evidence: each rung may name suspects, and the first that does decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pdtriage.model import Rank
from pdtriage.verdict import (
    kernel_evidence,
    launcher_gone,
    pod_suspects,
    silent_suspects,
    waiting,
    wording,
)
from pdtriage.verdict.accusations import unseen
from pdtriage.verdict.evidence import OWN_HEADLINE, OWN_VERDICT, RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading, passage
from pdtriage.verdict.suspects import SIGKILL, Suspect, revived_suspects, suspect_of


def climb(evidence: RunEvidence) -> list[Suspect]:
    """The suspects of the strongest rung that names any."""
    if evidence.went_well:
        # Paddle's launchers may end a parameter-server job with 0 although a trainer failed.
        doubtful = (
            evidence.facts.mode in ("ps", "ps-heter") and evidence.facts.started_by != "pdtriage"
        )
        return (_strong(evidence) or _left_by_servers(evidence)) if doubtful else []
    for rung in LADDER:
        found = rung(evidence)
        if found:
            return found
    return []


def _left_by_servers(evidence: RunEvidence) -> list[Suspect]:
    """Trainers that raised because a server was gone; the launcher only counts that they ended."""
    raised = [a for a in evidence.accusations if a.found.event.block and not a.accuser.ended]
    if not any(a.accuser.rank.role == "worker" for a in raised):
        return []
    return _gone(evidence) or _peers_without_a_name(evidence)


def _hosts_in_different_order(evidence: RunEvidence) -> list[Suspect]:
    return waiting.ips_in_different_order(evidence.launcher)


def _causes_of_their_own(evidence: RunEvidence) -> list[Suspect]:
    strong = _strong(evidence)
    if strong and _lived_on(evidence, strong):
        return []
    kernel = _killed_by_kernel(evidence) if strong else []
    named = {s.rank.key for s in kernel if s.rank}
    strong = [s for s in strong if not (s.rank and s.rank.key in named)]
    if evidence.cluster and strong:
        strong = pod_suspects.with_words_of_their_own(_ended_by_cluster(evidence), strong)
    return [*kernel, *kernel_evidence.with_hardware(strong, evidence.kernel)]


def _strong(evidence: RunEvidence) -> list[Suspect]:
    return [suspect for suspect in evidence.own if not suspect.is_consequence]


def _lived_on(evidence: RunEvidence, strong: list[Suspect]) -> bool:
    """All who show an error were alive until they were stopped, and somebody else was not.

    The parent's word is the strongest: who died without a word comes first, unless it may have
    died of what another one says clearly.
    """
    gone = _first_to_fail(evidence)
    if gone is None or any(s.accusers or not s.stopped_by_launcher for s in strong):
        return False
    return gone.was_killed or all(s.found and s.found.signature.generic for s in strong)


def _first_to_fail(evidence: RunEvidence) -> Suspect | None:
    """Whom its parent saw fail before all others, without a word of its own."""
    found = silent_suspects.first_to_die(evidence.readings)
    ending = found[0].rank.exit if found and found[0].rank else None
    return found[0] if ending is not None and (ending.signal or ending.code) else None


def _ended_by_cluster(evidence: RunEvidence) -> list[Suspect]:
    told = pod_suspects.told_by_cluster(
        evidence.facts, evidence.readings, evidence.accusers, evidence.cluster
    )
    return pod_suspects.with_words_of_their_own(told, ())


def _ended_badly(evidence: RunEvidence) -> list[Suspect]:
    return pod_suspects.ended_badly(evidence.readings)


def _killed_by_kernel(evidence: RunEvidence) -> list[Suspect]:
    return kernel_evidence.killed(evidence.readings, evidence.kernel)


def _errors_they_seemed_to_survive(evidence: RunEvidence) -> list[Suspect]:
    if any(s.category == "external.kill" for s in _of_launcher(evidence)):
        return []
    revived = revived_suspects(evidence.readings, evidence.accusations, evidence.accusers)
    gone = _first_to_fail(evidence)
    if gone is None or evidence.accusations:
        return revived
    return [] if gone.was_killed else [s for s in revived if s.rank is gone.rank]


def _told_by_launcher(evidence: RunEvidence) -> list[Suspect]:
    return [s for s in _of_launcher(evidence) if s.category != "external.kill"]


def _first_to_die(evidence: RunEvidence) -> list[Suspect]:
    first = kernel_evidence.with_memory(
        silent_suspects.first_to_die(evidence.readings), evidence.kernel
    )
    clear = [s for s in _strong(evidence) if s.found and not s.found.signature.generic]
    return [*first, *clear] if first else []


def _told_by_our_own_report(evidence: RunEvidence) -> list[Suspect]:
    """A console of `pdtriage run` ends with what it saw; of a pod that is often all there is."""
    told = [f for f in evidence.launcher if f.event.signature == OWN_VERDICT]
    known = evidence.signatures.get(told[-1].event.fields.get("symbol", "")) if told else None
    if known is None or known.category is None:
        return []
    heads = [f for f in evidence.launcher if f.event.signature == OWN_HEADLINE][-1:]
    named = _named_by_console(evidence)
    if not named and heads and "ranks" not in heads[0].event.fields:
        named = [suspect_of(known.id, known.category, None, [])]
        named[0].role = "launcher"
    for suspect in named:
        suspect.signature, suspect.category = known.id, known.category
        suspect.host = suspect.host or next((f.event.fields.get("host") for f in heads), None)
        suspect.support.extend((*heads, told[-1]))
        suspect.why = [wording.said_by_run()]
    return named


def _stopped_by_outsiders(evidence: RunEvidence) -> list[Suspect]:
    return silent_suspects.stopped_by_outsiders(evidence.facts, evidence.readings)


def _never_met(evidence: RunEvidence) -> list[Suspect]:
    return (
        waiting.nodes_differ(evidence.launcher)
        or waiting.peers_missing(evidence.launcher, evidence.readings)
        or waiting.same_rank_twice(evidence.readings, evidence.facts)
    )


def _interruption(evidence: RunEvidence) -> list[Suspect]:
    """Stopped by hand; perhaps because somebody kept the others waiting."""
    told = [s for s in _of_launcher(evidence) if s.category == "external.kill"]
    if not told:
        return []
    waited = [s for s in _gone(evidence) if s.category == "comm.timeout"]
    behind = waiting.fell_behind(evidence.readings) or waiting.never_joined(evidence.readings)
    return behind or waited or told


def _launcher_gone(evidence: RunEvidence) -> list[Suspect]:
    """Killed, perhaps because somebody kept the others waiting; not because they miss its ranks."""
    if not evidence.facts.vanished:
        return []
    waited = [s for s in _gone(evidence) if s.category == "comm.timeout"]
    behind = waiting.fell_behind(evidence.readings) or waiting.never_joined(evidence.readings)
    hung = (behind or waited) if launcher_gone.is_whole_job(evidence.facts) else []
    return hung or launcher_gone.launcher_gone(evidence.facts, evidence.readings)


def _gone(evidence: RunEvidence) -> list[Suspect]:
    """Accused by name, or left over when everybody else complains; silent themselves."""
    gone = silent_suspects.accused_and_silent(
        evidence.readings, evidence.accusations, evidence.accusers
    )
    gone = gone or silent_suspects.left_over(evidence.readings, evidence.accusations)
    return kernel_evidence.with_memory(gone, evidence.kernel)


def _consequences_only(evidence: RunEvidence) -> list[Suspect]:
    return [suspect for suspect in evidence.own if not _only_follows(suspect, evidence)]


def _only_follows(suspect: Suspect, evidence: RunEvidence) -> bool:
    """A crash without a word of its own, below the complaint of another one in the same console.

    A connection breaks when its process is gone, and that one has told of its crash before.
    """
    found = suspect.found
    if found is None or found.category != "code.crash" or not found.signature.generic:
        return False
    shell = found.event.signature == "crash.shell"
    return any(
        said.found.file == found.file
        and said.found.event.line < found.event.line
        and (said.accuser.rank.rank is None if shell else _is_another(said.accuser.rank, suspect))
        for said in evidence.accusations
    )


def _is_another(rank: Rank, suspect: Suspect) -> bool:
    return suspect.rank is not None and rank.key != suspect.rank.key


def _hints_inside_a_rank(evidence: RunEvidence) -> list[Suspect]:
    """A symptom that points at an earlier event which is not in the log."""
    hinting = [r for r in evidence.readings if r.inner and not _points_at_a_lost_peer(r)]
    return sorted(map(silent_suspects.by_hint, hinting), key=Suspect.strength)


def _points_at_a_lost_peer(reading: RankReading) -> bool:
    """What the first hint points at is here: before it the rank says that it lost somebody."""
    first = reading.inner[0]
    return any(s.file == first.file and s.event.line < first.event.line for s in reading.symptoms)


def _last_word_is_an_exception(evidence: RunEvidence) -> list[Suspect]:
    if evidence.facts.running or evidence.facts.ended_by_cluster == "running":
        return []
    return silent_suspects.last_word_is_an_exception(evidence.readings)


def _named_by_console(evidence: RunEvidence) -> list[Suspect]:
    return silent_suspects.named_by_console(evidence.readings, evidence.launcher)


def _elsewhere_than_the_others(evidence: RunEvidence) -> list[Suspect]:
    readings = evidence.readings
    return (
        waiting.fell_behind(readings)
        or waiting.odd_one_out(readings)
        or waiting.out_of_step(readings)
    )


def _kernel_faults(evidence: RunEvidence) -> list[Suspect]:
    return kernel_evidence.faults(evidence.readings, evidence.kernel)


def _peers_without_a_name(evidence: RunEvidence) -> list[Suspect]:
    """Somebody is missing, and nobody here can say which rank it is."""
    if not evidence.accusations:
        return []
    best = max(evidence.accusations, key=lambda a: (bool(a.address), a.found.event.count))
    known = best.accused[0] if len(best.accused) == 1 else unseen(best)
    others = [f for f in best.accuser.symptoms if f is not best.found][:3]
    others.extend(best.accuser.explained[:2])
    suspect = suspect_of(best.found.event.signature, best.found.category, known, others)
    suspect.found, suspect.host, suspect.last_words = best.found, None, ()
    suspect.fields = dict(best.found.event.fields)
    named = wording.accused_address(best.address) if best.address else wording.nobody_named()
    suspect.why.append(named)
    return [suspect]


def _all_were_stopped(evidence: RunEvidence) -> list[Suspect]:
    stopped = [r.stopped for r in evidence.readings if r.stopped]
    if not stopped or not all(r.stopped or not r.rank.files for r in evidence.readings):
        return []
    if not evidence.launcher and silent_suspects.others_are_missing(evidence.readings):
        return [_stopped_for_others(stopped)]
    suspect = suspect_of("verdict.interrupted", "external.kill", None, stopped[:1])
    suspect.role = "launcher"
    suspect.why.append(wording.all_stopped())
    return [suspect]


def _not_stopped(evidence: RunEvidence) -> list[Suspect]:
    """Some were stopped; who was not may have ended before, without a word."""
    stopped = [r.stopped for r in evidence.readings if r.stopped]
    if not stopped:
        return []
    gone = silent_suspects.ended_before_others(evidence.readings)
    return gone or [_stopped_for_others(stopped)]


def _stopped_for_others(stopped: list[Observation]) -> Suspect:
    """They were stopped, and whatever made the launcher do so is not here."""
    suspect = suspect_of("verdict.victims-only", "unknown", None, stopped[:2])
    suspect.why.append(wording.only_victims())
    return suspect


def _stuck(evidence: RunEvidence) -> list[Suspect]:
    if evidence.facts.ended_by_cluster == "running":
        return []  # what a running job has printed so far
    return waiting.stuck(evidence.readings, evidence.kernel)


def _stopped_in_midst(evidence: RunEvidence) -> list[Suspect]:
    if evidence.facts.running or evidence.facts.ended_by_cluster == "running":
        return []
    if evidence.facts.started_by == "pdtriage":
        return []  # our own record knows better
    return waiting.stopped_in_midst(evidence.readings, evidence.launcher) or waiting.cut_short(
        evidence.readings
    )


def _failed_somehow(evidence: RunEvidence) -> list[Suspect]:
    """The launcher says that the job failed, and nothing here says why."""
    if not evidence.says_failed:
        return []
    suspect = suspect_of("verdict.lost-log", "unknown", None, evidence.says_failed[:2])
    suspect.role = "launcher"
    suspect.why.append(wording.named_by_launcher())
    return [suspect]


LADDER: tuple[Callable[[RunEvidence], list[Suspect]], ...] = (
    _hosts_in_different_order,
    _causes_of_their_own,
    _killed_by_kernel,
    _ended_by_cluster,
    _errors_they_seemed_to_survive,
    _told_by_launcher,
    _first_to_die,
    _told_by_our_own_report,
    _stopped_by_outsiders,
    _never_met,
    _interruption,
    _launcher_gone,
    _gone,
    _ended_badly,
    _consequences_only,
    _hints_inside_a_rank,
    _last_word_is_an_exception,
    _named_by_console,
    _elsewhere_than_the_others,
    _kernel_faults,
    _peers_without_a_name,
    _all_were_stopped,
    _not_stopped,
    _stuck,
    _failed_somehow,
    _stopped_in_midst,
)
"""Strongest first."""


def _of_launcher(evidence: RunEvidence) -> list[Suspect]:
    """The first cause that the launcher itself, or mpirun, tells."""
    earlier = _of_an_earlier_run(evidence)
    for found in evidence.launcher:
        if found.event.role == "cause" and passage(found) not in earlier:
            return [_told(found, evidence.readings, evidence.named)]
    return []


def _of_an_earlier_run(evidence: RunEvidence) -> set[tuple[str, int, int]]:
    """A console whose beginning is cut off may show the end of a process of the run before."""
    pids = {str(pid) for reading in evidence.readings for pid in reading.rank.pids}
    if not pids or not evidence.facts.run.index:
        return set()
    return {
        passage(f) for f in evidence.launcher if f.event.fields.get("pid", "") not in {"", *pids}
    }


def _told(found: Observation, readings: Sequence[RankReading], named: tuple[int, ...]) -> Suspect:
    fields = dict(found.event.fields)
    told = fields.get("rank", "")
    number = int(told) if told.isdecimal() else None
    if found.event.signature == "launch.container-killed":
        rank = _of_container(found, readings)  # by its number on the node, not in the job
        fields["rank"] = str(rank.rank) if rank and rank.rank is not None else ""
    else:
        numbered = (r.rank for r in readings if number is not None and r.rank.rank == number)
        rank = next(numbered, None)
    suspect = suspect_of(found.event.signature, found.category, rank, [])
    suspect.found, suspect.last_words, suspect.fields = found, (), fields
    suspect.role = "worker" if number is not None else "launcher"
    if number is None and rank is None and found.event.frame is not None and named:
        suspect.role, suspect.named = "worker", named  # a script's words, shown by the console
    suspect.host = fields.get("host") or suspect.host
    if found.event.signature == "launch.signal":
        signal = fields.get("signal", "")
        suspect.why.append(
            wording.launcher_was_stopped(int(signal) if signal.isdecimal() else None)
        )
    return suspect


def _of_container(found: Observation, readings: Sequence[RankReading]) -> Rank | None:
    """The process a launcher calls by its number on its own node."""
    number = found.event.fields.get("rank", "")
    killed = [
        r.rank
        for r in readings
        if r.rank.exit and r.rank.exit.seen_by == "console" and r.rank.exit.signal == SIGKILL
    ]
    here = [rank for rank in killed if str(rank.local_rank) == number]
    return here[0] if len(here) == 1 else killed[0] if len(killed) == 1 else None
