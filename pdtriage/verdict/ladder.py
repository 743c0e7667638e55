"""The ladder of evidence: each rung may name suspects, and the first that does decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdtriage.model import RunFacts
from pdtriage.verdict import silent, waiting, words
from pdtriage.verdict.accusations import Accusation
from pdtriage.verdict.reading import Found, Reading
from pdtriage.verdict.suspects import (
    NEVER,
    Suspect,
    own_suspects,
    revived_suspects,
    suspect_of,
)

SAYS_FAILED = frozenset(
    {
        "launch.abort",
        "launch.child-failed",
        "launch.container-failed",
        "launch.pod-failed",
        "launch.spawn-exit",
    }
)


@dataclass(frozen=True)
class Case:
    """Everything there is to know of one run."""

    facts: RunFacts
    readings: Sequence[Reading]
    accusations: Sequence[Accusation]
    launcher: Sequence[Found]
    kernel: Sequence[Found]

    @property
    def own(self) -> list[Suspect]:
        """Ranks with a cause of their own, without what a console shows after Ctrl-C."""
        stops = {
            f.file: f.event.line
            for f in reversed(self.launcher)
            if f.event.signature == "launch.signal"
        }
        return [
            suspect
            for suspect in own_suspects(self.readings, self.accusations)
            if not (
                suspect.found and suspect.found.event.line > stops.get(suspect.found.file, NEVER)
            )
        ]

    @property
    def interrupted(self) -> bool:
        return any(f.event.signature == "launch.signal" for f in self.launcher)

    @property
    def says_failed(self) -> list[Found]:
        return [
            f
            for f in self.launcher
            if f.event.signature in SAYS_FAILED
            or (f.event.signature == "launch.exit-code" and f.event.fields["exit_code"] != "0")
        ]

    @property
    def went_well(self) -> bool:
        if self.facts.ended_by_record is not None:
            return self.facts.ended_by_record == "completed"
        if self.says_failed:  # "Local processes completed" is printed after ABORT!!! too
            return False
        ends = ("launch.completed", "launch.exit-code")
        if any(f.event.signature in ends for f in self.launcher):
            return True
        spoken = [r for r in self.readings if r.rank.lines]
        return bool(spoken) and all(
            r.ended or (r.rank.exit and r.rank.exit.code == 0) for r in spoken
        )


def climb(case: Case) -> list[Suspect]:
    """The suspects of the strongest rung that names any."""
    if case.went_well:
        # Paddle's launchers may end a parameter-server job with 0 although a trainer failed.
        doubtful = case.facts.mode in ("ps", "ps-heter") and case.facts.started_by != "pdtriage"
        return _strong(case) if doubtful else []
    for rung in LADDER:
        found = rung(case)
        if found:
            return found
    return []


def _hosts_in_different_order(case: Case) -> list[Suspect]:
    return waiting.ips_in_different_order(case.launcher)


def _causes_of_their_own(case: Case) -> list[Suspect]:
    strong = _strong(case)
    kernel = _killed_by_kernel(case) if strong else []
    named = {s.rank.key for s in kernel if s.rank}
    return [*kernel, *(s for s in strong if not (s.rank and s.rank.key in named))]


def _strong(case: Case) -> list[Suspect]:
    return [suspect for suspect in case.own if not suspect.is_consequence]


def _killed_by_kernel(case: Case) -> list[Suspect]:
    return silent.killed_by_kernel(case.readings, case.kernel)


def _errors_they_seemed_to_survive(case: Case) -> list[Suspect]:
    stopped = any(s.category == "external.kill" for s in _of_launcher(case))
    return [] if stopped else revived_suspects(case.readings, case.accusations)


def _told_by_launcher(case: Case) -> list[Suspect]:
    return [s for s in _of_launcher(case) if s.category != "external.kill"]


def _first_to_die(case: Case) -> list[Suspect]:
    return silent.with_kernel_memory(silent.first_to_die(case.readings), case.kernel)


def _stopped_by_outsiders(case: Case) -> list[Suspect]:
    return silent.stopped_by_outsiders(case.facts, case.readings)


def _never_met(case: Case) -> list[Suspect]:
    return waiting.peers_missing(case.launcher) or waiting.same_rank_twice(
        case.readings, case.facts
    )


def _interruption(case: Case) -> list[Suspect]:
    """Stopped by hand; perhaps because somebody kept the others waiting."""
    told = [s for s in _of_launcher(case) if s.category == "external.kill"]
    if not told:
        return []
    waited = [s for s in _gone(case) if s.category == "comm.timeout"]
    behind = waiting.fell_behind(case.readings) or waiting.never_joined(case.readings)
    return behind or waited or told


def _gone(case: Case) -> list[Suspect]:
    """Accused by name, or left over when everybody else complains; silent themselves."""
    gone = silent.accused_and_silent(case.readings, case.accusations)
    gone = gone or silent.left_over(case.readings, case.accusations)
    return silent.with_kernel_memory(gone, case.kernel)


def _consequences_only(case: Case) -> list[Suspect]:
    return case.own


def _hints_inside_a_rank(case: Case) -> list[Suspect]:
    """A symptom that points at an earlier event which is not in the log."""
    found = []
    for reading in case.readings:
        if reading.inner:
            first = reading.inner[0]
            suspect = suspect_of(
                first.event.signature, first.category, reading.rank, reading.inner[1:3]
            )
            suspect.found, suspect.position = first, reading.position
            suspect.fields = dict(first.event.fields)
            found.append(suspect)
    return sorted(found, key=Suspect.strength)


def _named_by_console(case: Case) -> list[Suspect]:
    return silent.named_by_console(case.readings, case.launcher)


def _elsewhere_than_the_others(case: Case) -> list[Suspect]:
    return waiting.fell_behind(case.readings) or waiting.odd_one_out(case.readings)


def _kernel_faults(case: Case) -> list[Suspect]:
    return silent.kernel_faults(case.kernel)


def _peers_without_a_name(case: Case) -> list[Suspect]:
    """Somebody is missing, and nobody here can say which rank it is."""
    if not case.accusations:
        return []
    best = max(case.accusations, key=lambda a: (bool(a.address), a.found.event.count))
    known = best.accused[0] if len(best.accused) == 1 else None
    others = [f for f in best.accuser.symptoms if f is not best.found]
    suspect = suspect_of(best.found.event.signature, best.found.category, known, others[:3])
    suspect.found, suspect.host, suspect.last_words = best.found, None, ()
    suspect.fields = dict(best.found.event.fields)
    named = words.accused_address(best.address) if best.address else words.nobody_named()
    suspect.why.append(named)
    return [suspect]


def _all_were_stopped(case: Case) -> list[Suspect]:
    stopped = [r.stopped for r in case.readings if r.stopped]
    if not stopped or not all(r.stopped or not r.rank.files for r in case.readings):
        return []
    suspect = suspect_of("verdict.interrupted", "external.kill", None, stopped[:1])
    suspect.role = "launcher"
    suspect.why.append(words.all_stopped())
    return [suspect]


def _stuck(case: Case) -> list[Suspect]:
    return waiting.stuck(case.readings, case.kernel)


def _stopped_in_midst(case: Case) -> list[Suspect]:
    if case.facts.running or case.facts.started_by == "pdtriage":
        return []  # our own record knows better
    return waiting.stopped_in_midst(case.readings, case.launcher)


def _failed_somehow(case: Case) -> list[Suspect]:
    """The launcher says that the job failed, and nothing here says why."""
    if not case.says_failed:
        return []
    suspect = suspect_of("verdict.lost-log", "unknown", None, case.says_failed[:2])
    suspect.role = "launcher"
    suspect.why.append(words.named_by_launcher())
    return [suspect]


LADDER: tuple[Callable[[Case], list[Suspect]], ...] = (
    _hosts_in_different_order,
    _causes_of_their_own,
    _killed_by_kernel,
    _errors_they_seemed_to_survive,
    _told_by_launcher,
    _first_to_die,
    _stopped_by_outsiders,
    _never_met,
    _interruption,
    _gone,
    _consequences_only,
    _hints_inside_a_rank,
    _named_by_console,
    _elsewhere_than_the_others,
    _kernel_faults,
    _peers_without_a_name,
    _all_were_stopped,
    _stuck,
    _failed_somehow,
    _stopped_in_midst,
)
"""Strongest first."""


def _of_launcher(case: Case) -> list[Suspect]:
    """The first cause that the launcher itself, or mpirun, tells."""
    for found in case.launcher:
        if found.event.role == "cause":
            return [_told(found, case.readings)]
    return []


def _told(found: Found, readings: Sequence[Reading]) -> Suspect:
    fields = found.event.fields
    told = fields.get("rank", "")
    number = int(told) if told.isdecimal() else None
    rank = next((r.rank for r in readings if number is not None and r.rank.rank == number), None)
    suspect = suspect_of(found.event.signature, found.category, rank, [])
    suspect.found, suspect.last_words, suspect.fields = found, (), dict(fields)
    suspect.role = "worker" if number is not None else "launcher"
    suspect.host = fields.get("host") or suspect.host
    if found.event.signature == "launch.signal":
        signal = fields.get("signal", "")
        suspect.why.append(words.launcher_was_stopped(int(signal) if signal.isdecimal() else None))
    return suspect
