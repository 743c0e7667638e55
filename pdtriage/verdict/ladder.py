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
from pdtriage.verdict.evidence import OWN_HEADLINE, OWN_VERDICT, Case
from pdtriage.verdict.rank_reading import Found, Reading, passage
from pdtriage.verdict.suspects import SIGKILL, Suspect, revived_suspects, suspect_of


def climb(case: Case) -> list[Suspect]:
    """The suspects of the strongest rung that names any."""
    if case.went_well:
        # Paddle's launchers may end a parameter-server job with 0 although a trainer failed.
        doubtful = case.facts.mode in ("ps", "ps-heter") and case.facts.started_by != "pdtriage"
        return (_strong(case) or _left_by_servers(case)) if doubtful else []
    for rung in LADDER:
        found = rung(case)
        if found:
            return found
    return []


def _left_by_servers(case: Case) -> list[Suspect]:
    """Trainers that raised because a server was gone; the launcher only counts that they ended."""
    raised = [a for a in case.accusations if a.found.event.block and not a.accuser.ended]
    if not any(a.accuser.rank.role == "worker" for a in raised):
        return []
    return _gone(case) or _peers_without_a_name(case)


def _hosts_in_different_order(case: Case) -> list[Suspect]:
    return waiting.ips_in_different_order(case.launcher)


def _causes_of_their_own(case: Case) -> list[Suspect]:
    strong = _strong(case)
    if strong and _lived_on(case, strong):
        return []
    kernel = _killed_by_kernel(case) if strong else []
    named = {s.rank.key for s in kernel if s.rank}
    strong = [s for s in strong if not (s.rank and s.rank.key in named)]
    if case.cluster and strong:
        strong = pod_suspects.with_words_of_their_own(_ended_by_cluster(case), strong)
    return [*kernel, *kernel_evidence.with_hardware(strong, case.kernel)]


def _strong(case: Case) -> list[Suspect]:
    return [suspect for suspect in case.own if not suspect.is_consequence]


def _lived_on(case: Case, strong: list[Suspect]) -> bool:
    """All who show an error were alive until they were stopped, and somebody else was not.

    The parent's word is the strongest: who died without a word comes first, unless it may have
    died of what another one says clearly.
    """
    gone = _first_to_fail(case)
    if gone is None or any(s.accusers or not s.stopped_by_launcher for s in strong):
        return False
    return gone.was_killed or all(s.found and s.found.signature.generic for s in strong)


def _first_to_fail(case: Case) -> Suspect | None:
    """Whom its parent saw fail before all others, without a word of its own."""
    found = silent_suspects.first_to_die(case.readings)
    ending = found[0].rank.exit if found and found[0].rank else None
    return found[0] if ending is not None and (ending.signal or ending.code) else None


def _ended_by_cluster(case: Case) -> list[Suspect]:
    told = pod_suspects.told_by_cluster(case.facts, case.readings, case.accusers, case.cluster)
    return pod_suspects.with_words_of_their_own(told, ())


def _ended_badly(case: Case) -> list[Suspect]:
    return pod_suspects.ended_badly(case.readings)


def _killed_by_kernel(case: Case) -> list[Suspect]:
    return kernel_evidence.killed(case.readings, case.kernel)


def _errors_they_seemed_to_survive(case: Case) -> list[Suspect]:
    if any(s.category == "external.kill" for s in _of_launcher(case)):
        return []
    revived = revived_suspects(case.readings, case.accusations, case.accusers)
    gone = _first_to_fail(case)
    if gone is None or case.accusations:
        return revived
    return [] if gone.was_killed else [s for s in revived if s.rank is gone.rank]


def _told_by_launcher(case: Case) -> list[Suspect]:
    return [s for s in _of_launcher(case) if s.category != "external.kill"]


def _first_to_die(case: Case) -> list[Suspect]:
    first = kernel_evidence.with_memory(silent_suspects.first_to_die(case.readings), case.kernel)
    clear = [s for s in _strong(case) if s.found and not s.found.signature.generic]
    return [*first, *clear] if first else []


def _told_by_our_own_report(case: Case) -> list[Suspect]:
    """A console of `pdtriage run` ends with what it saw; of a pod that is often all there is."""
    told = [f for f in case.launcher if f.event.signature == OWN_VERDICT]
    known = case.signatures.get(told[-1].event.fields.get("symbol", "")) if told else None
    if known is None or known.category is None:
        return []
    heads = [f for f in case.launcher if f.event.signature == OWN_HEADLINE][-1:]
    named = _named_by_console(case)
    if not named and heads and "ranks" not in heads[0].event.fields:
        named = [suspect_of(known.id, known.category, None, [])]
        named[0].role = "launcher"
    for suspect in named:
        suspect.signature, suspect.category = known.id, known.category
        suspect.host = suspect.host or next((f.event.fields.get("host") for f in heads), None)
        suspect.support.extend((*heads, told[-1]))
        suspect.why = [wording.said_by_run()]
    return named


def _stopped_by_outsiders(case: Case) -> list[Suspect]:
    return silent_suspects.stopped_by_outsiders(case.facts, case.readings)


def _never_met(case: Case) -> list[Suspect]:
    return (
        waiting.nodes_differ(case.launcher)
        or waiting.peers_missing(case.launcher, case.readings)
        or waiting.same_rank_twice(case.readings, case.facts)
    )


def _interruption(case: Case) -> list[Suspect]:
    """Stopped by hand; perhaps because somebody kept the others waiting."""
    told = [s for s in _of_launcher(case) if s.category == "external.kill"]
    if not told:
        return []
    waited = [s for s in _gone(case) if s.category == "comm.timeout"]
    behind = waiting.fell_behind(case.readings) or waiting.never_joined(case.readings)
    return behind or waited or told


def _launcher_gone(case: Case) -> list[Suspect]:
    """Killed, perhaps because somebody kept the others waiting; not because they miss its ranks."""
    if not case.facts.vanished:
        return []
    waited = [s for s in _gone(case) if s.category == "comm.timeout"]
    behind = waiting.fell_behind(case.readings) or waiting.never_joined(case.readings)
    hung = (behind or waited) if launcher_gone.is_whole_job(case.facts) else []
    return hung or launcher_gone.launcher_gone(case.facts, case.readings)


def _gone(case: Case) -> list[Suspect]:
    """Accused by name, or left over when everybody else complains; silent themselves."""
    gone = silent_suspects.accused_and_silent(case.readings, case.accusations, case.accusers)
    gone = gone or silent_suspects.left_over(case.readings, case.accusations)
    return kernel_evidence.with_memory(gone, case.kernel)


def _consequences_only(case: Case) -> list[Suspect]:
    return [suspect for suspect in case.own if not _only_follows(suspect, case)]


def _only_follows(suspect: Suspect, case: Case) -> bool:
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
        for said in case.accusations
    )


def _is_another(rank: Rank, suspect: Suspect) -> bool:
    return suspect.rank is not None and rank.key != suspect.rank.key


def _hints_inside_a_rank(case: Case) -> list[Suspect]:
    """A symptom that points at an earlier event which is not in the log."""
    hinting = [r for r in case.readings if r.inner and not _points_at_a_lost_peer(r)]
    return sorted(map(silent_suspects.by_hint, hinting), key=Suspect.strength)


def _points_at_a_lost_peer(reading: Reading) -> bool:
    """What the first hint points at is here: before it the rank says that it lost somebody."""
    first = reading.inner[0]
    return any(s.file == first.file and s.event.line < first.event.line for s in reading.symptoms)


def _last_word_is_an_exception(case: Case) -> list[Suspect]:
    if case.facts.running or case.facts.ended_by_cluster == "running":
        return []
    return silent_suspects.last_word_is_an_exception(case.readings)


def _named_by_console(case: Case) -> list[Suspect]:
    return silent_suspects.named_by_console(case.readings, case.launcher)


def _elsewhere_than_the_others(case: Case) -> list[Suspect]:
    readings = case.readings
    return (
        waiting.fell_behind(readings)
        or waiting.odd_one_out(readings)
        or waiting.out_of_step(readings)
    )


def _kernel_faults(case: Case) -> list[Suspect]:
    return kernel_evidence.faults(case.readings, case.kernel)


def _peers_without_a_name(case: Case) -> list[Suspect]:
    """Somebody is missing, and nobody here can say which rank it is."""
    if not case.accusations:
        return []
    best = max(case.accusations, key=lambda a: (bool(a.address), a.found.event.count))
    known = best.accused[0] if len(best.accused) == 1 else unseen(best)
    others = [f for f in best.accuser.symptoms if f is not best.found][:3]
    others.extend(best.accuser.explained[:2])
    suspect = suspect_of(best.found.event.signature, best.found.category, known, others)
    suspect.found, suspect.host, suspect.last_words = best.found, None, ()
    suspect.fields = dict(best.found.event.fields)
    named = wording.accused_address(best.address) if best.address else wording.nobody_named()
    suspect.why.append(named)
    return [suspect]


def _all_were_stopped(case: Case) -> list[Suspect]:
    stopped = [r.stopped for r in case.readings if r.stopped]
    if not stopped or not all(r.stopped or not r.rank.files for r in case.readings):
        return []
    if not case.launcher and silent_suspects.others_are_missing(case.readings):
        return [_stopped_for_others(stopped)]
    suspect = suspect_of("verdict.interrupted", "external.kill", None, stopped[:1])
    suspect.role = "launcher"
    suspect.why.append(wording.all_stopped())
    return [suspect]


def _not_stopped(case: Case) -> list[Suspect]:
    """Some were stopped; who was not may have ended before, without a word."""
    stopped = [r.stopped for r in case.readings if r.stopped]
    if not stopped:
        return []
    gone = silent_suspects.ended_before_others(case.readings)
    return gone or [_stopped_for_others(stopped)]


def _stopped_for_others(stopped: list[Found]) -> Suspect:
    """They were stopped, and whatever made the launcher do so is not here."""
    suspect = suspect_of("verdict.victims-only", "unknown", None, stopped[:2])
    suspect.why.append(wording.only_victims())
    return suspect


def _stuck(case: Case) -> list[Suspect]:
    if case.facts.ended_by_cluster == "running":
        return []  # what a running job has printed so far
    return waiting.stuck(case.readings, case.kernel)


def _stopped_in_midst(case: Case) -> list[Suspect]:
    if case.facts.running or case.facts.ended_by_cluster == "running":
        return []
    if case.facts.started_by == "pdtriage":
        return []  # our own record knows better
    return waiting.stopped_in_midst(case.readings, case.launcher) or waiting.cut_short(
        case.readings
    )


def _failed_somehow(case: Case) -> list[Suspect]:
    """The launcher says that the job failed, and nothing here says why."""
    if not case.says_failed:
        return []
    suspect = suspect_of("verdict.lost-log", "unknown", None, case.says_failed[:2])
    suspect.role = "launcher"
    suspect.why.append(wording.named_by_launcher())
    return [suspect]


LADDER: tuple[Callable[[Case], list[Suspect]], ...] = (
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


def _of_launcher(case: Case) -> list[Suspect]:
    """The first cause that the launcher itself, or mpirun, tells."""
    earlier = _of_an_earlier_run(case)
    for found in case.launcher:
        if found.event.role == "cause" and passage(found) not in earlier:
            return [_told(found, case.readings, case.named)]
    return []


def _of_an_earlier_run(case: Case) -> set[tuple[str, int, int]]:
    """A console whose beginning is cut off may show the end of a process of the run before."""
    pids = {str(pid) for reading in case.readings for pid in reading.rank.pids}
    if not pids or not case.facts.run.index:
        return set()
    return {passage(f) for f in case.launcher if f.event.fields.get("pid", "") not in {"", *pids}}


def _told(found: Found, readings: Sequence[Reading], named: tuple[int, ...]) -> Suspect:
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


def _of_container(found: Found, readings: Sequence[Reading]) -> Rank | None:
    """The process a launcher calls by its number on its own node."""
    number = found.event.fields.get("rank", "")
    killed = [
        r.rank
        for r in readings
        if r.rank.exit and r.rank.exit.seen_by == "console" and r.rank.exit.signal == SIGKILL
    ]
    here = [rank for rank in killed if str(rank.local_rank) == number]
    return here[0] if len(here) == 1 else killed[0] if len(killed) == 1 else None
