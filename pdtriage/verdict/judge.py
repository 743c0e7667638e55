"""From the facts of one run to its verdict. Pure: same facts in, same judgement out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdtriage.knowledge import Knowledge
from pdtriage.model import Cause, Event, RankRow, RunFacts, VerdictWord, Victim
from pdtriage.verdict import silent, waiting, words
from pdtriage.verdict.accusations import Accusation, accusations_of, narrowed
from pdtriage.verdict.causes import causes_from, confidence_notes
from pdtriage.verdict.reading import Found, Reading, read_rank
from pdtriage.verdict.rows import rank_rows, victims_of
from pdtriage.verdict.suspects import NEVER, Suspect, own_suspects, revived_suspects


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
    launcher = _found(facts.launcher, knowledge)
    suspects = _suspects(facts, readings, accusations, launcher, knowledge)
    confidence_notes(suspects, readings)
    verdict = _verdict(facts, readings, suspects, launcher)
    causes = causes_from(suspects, knowledge)
    victims = victims_of(readings, causes, accusations, facts, verdict)
    rows = rank_rows(readings, causes, victims, verdict)
    return Judgement(verdict, causes, victims, rows, tuple(readings))


def _found(events: Sequence[tuple[str, Event]], knowledge: Knowledge) -> list[Found]:
    return [
        Found(file, event, knowledge.signatures[event.signature])
        for file, event in events
        if event.signature in knowledge.signatures
    ]


def _suspects(
    facts: RunFacts,
    readings: list[Reading],
    accusations: list[Accusation],
    launcher: list[Found],
    knowledge: Knowledge,
) -> list[Suspect]:
    """The first kind of evidence that names somebody decides; later kinds are not asked."""
    differing = waiting.ips_in_different_order(launcher)
    if differing:
        return differing
    kernel = silent.killed_by_kernel(readings, _found(facts.kernel, knowledge))
    own = _before_the_signal(own_suspects(readings, accusations), launcher)
    said = _of_launcher(launcher, readings)
    strong = [s for s in own if not s.is_consequence]
    if _went_well(facts, readings, launcher):
        # The legacy launcher may end a parameter-server job with 0 although a trainer failed.
        return strong if facts.mode in ("ps", "ps-heter") else []
    if strong:
        return strong if not kernel else _kernel_first(kernel, strong)
    revived = [] if kernel else revived_suspects(readings, accusations)
    if revived and not _stopped_by_hand(said):
        return revived
    for group in (
        kernel,
        [s for s in said if s.category not in ("external.kill",)],
        silent.first_to_die(readings),
        silent.stopped_by_outsiders(facts, readings),
    ):
        if group:
            return group
    interrupted = [s for s in said if s.category == "external.kill"]
    gone = silent.accused_and_silent(readings, accusations)
    gone = gone or silent.left_over(readings, accusations)
    unmet = waiting.peers_missing(launcher) or waiting.same_rank_twice(readings, facts)
    if unmet:
        return unmet
    if interrupted:
        behind = waiting.fell_behind(readings) or waiting.never_joined(readings)
        return behind or _hung(gone) or interrupted
    if own and not gone:
        return own
    return gone or own or _the_rest(readings, accusations, launcher)


def _before_the_signal(own: list[Suspect], launcher: list[Found]) -> list[Suspect]:
    """Without what a console shows after the launcher itself was told to stop."""
    stops = {
        f.file: f.event.line for f in reversed(launcher) if f.event.signature == "launch.signal"
    }
    return [s for s in own if not (s.found and s.found.event.line > stops.get(s.found.file, NEVER))]


def _stopped_by_hand(said: list[Suspect]) -> bool:
    return any(suspect.category == "external.kill" for suspect in said)


def _kernel_first(kernel: list[Suspect], strong: list[Suspect]) -> list[Suspect]:
    named = {s.rank.key for s in kernel if s.rank}
    return [*kernel, *(s for s in strong if not (s.rank and s.rank.key in named))]


def _hung(gone: list[Suspect]) -> list[Suspect]:
    """Of the accused ones after an interruption only those that the others waited for."""
    return [s for s in gone if s.category == "comm.timeout"]


def _of_launcher(launcher: list[Found], readings: list[Reading]) -> list[Suspect]:
    """Causes that the launcher itself, or mpirun, tells."""
    suspects = []
    for found in launcher:
        if found.event.role != "cause":
            continue
        told = found.event.fields.get("rank", "")
        number = int(told) if told.isdecimal() else None
        rank = next(
            (r.rank for r in readings if number is not None and r.rank.rank == number), None
        )
        suspect = Suspect(
            signature=found.event.signature,
            category=found.category,
            rank=rank,
            found=found,
            role="worker" if number is not None else "launcher",
            host=found.event.fields.get("host") or (rank.host if rank else None),
            fields=dict(found.event.fields),
        )
        if found.event.signature == "launch.signal":
            signal = found.event.fields.get("signal", "")
            suspect.why.append(
                words.launcher_was_stopped(int(signal) if signal.isdecimal() else None)
            )
        suspects.append(suspect)
    return suspects[:1]


def _the_rest(
    readings: list[Reading],
    accusations: list[Accusation],
    launcher: list[Found],
) -> list[Suspect]:
    """Weaker evidence: hints inside a rank, the console, peers without a name, stuck starts."""
    inner = _inner_only(readings)
    if inner:
        return inner
    named = silent.named_by_console(readings, launcher)
    if named:
        return named
    behind = waiting.fell_behind(readings) or waiting.odd_one_out(readings)
    if behind:
        return behind
    if accusations:
        return _unnamed(accusations)
    stopped = [r for r in readings if r.stopped]
    if stopped and all(r.stopped or not r.rank.files for r in readings):
        return _all_stopped(stopped)
    return waiting.stuck_at_start(readings) or _failed_somehow(launcher)


def _failed_somehow(launcher: list[Found]) -> list[Suspect]:
    """The launcher says that the job failed, and nothing here says why."""
    said = _says_failed(launcher)
    if not said:
        return []
    suspect = Suspect(
        signature="verdict.lost-log",
        category="unknown",
        rank=None,
        support=said[:2],
        role="launcher",
        why=[words.named_by_launcher()],
    )
    return [suspect]


def _inner_only(readings: list[Reading]) -> list[Suspect]:
    """A symptom that points at an earlier event which is not in the log."""
    found = [
        Suspect(
            signature=r.inner[0].event.signature,
            category=r.inner[0].category,
            rank=r.rank,
            found=r.inner[0],
            support=r.inner[1:3],
            role=r.rank.role,
            host=r.rank.host,
            fields=dict(r.inner[0].event.fields),
            position=r.position,
        )
        for r in readings
        if r.inner
    ]
    return sorted(found, key=Suspect.strength)


def _unnamed(accusations: list[Accusation]) -> list[Suspect]:
    """Somebody is missing, and nobody here can say which rank it is."""
    best = max(accusations, key=lambda a: (bool(a.address), a.found.event.count))
    suspect = Suspect(
        signature=best.found.event.signature,
        category=best.found.category,
        rank=best.accused[0] if len(best.accused) == 1 else None,
        found=best.found,
        host=None,
        fields=dict(best.found.event.fields),
    )
    suspect.why.append(
        words.accused_address(best.address) if best.address else words.nobody_named()
    )
    return [suspect]


def _all_stopped(stopped: list[Reading]) -> list[Suspect]:
    suspect = Suspect(
        signature="verdict.interrupted",
        category="external.kill",
        rank=None,
        support=[stopped[0].stopped] if stopped[0].stopped else [],
        role="launcher",
    )
    suspect.why.append(words.all_stopped())
    return [suspect]


def _verdict(
    facts: RunFacts, readings: list[Reading], suspects: list[Suspect], launcher: list[Found]
) -> VerdictWord:
    if suspects:
        top = suspects[0]
        if top.signature in ("launch.signal", "verdict.interrupted"):
            return "interrupted"
        waited = top.signature in ("verdict.never-joined", "verdict.rank-clash")
        if top.category == "hang" or (waited and _signalled(launcher)):
            return "hung"
        if top.signature == "verdict.peers-missing" and _signalled(launcher):
            return "interrupted"
        return "failed"
    if facts.running:
        return "running"
    if _went_well(facts, readings, launcher):
        return "succeeded"
    if facts.ended_by_record == "interrupted":
        return "interrupted"
    return "unknown"


def _signalled(launcher: list[Found]) -> bool:
    return any(found.event.signature == "launch.signal" for found in launcher)


def _went_well(facts: RunFacts, readings: list[Reading], launcher: list[Found]) -> bool:
    if facts.ended_by_record is not None:
        return facts.ended_by_record == "completed"
    return _completed(readings, launcher)


def _says_failed(launcher: list[Found]) -> list[Found]:
    return [
        f
        for f in launcher
        if f.event.signature in ("launch.container-failed", "launch.pod-failed", "launch.abort")
        or (f.event.signature == "launch.exit-code" and f.event.fields.get("exit_code") != "0")
    ]


def _completed(readings: list[Reading], launcher: list[Found]) -> bool:
    if _says_failed(launcher):  # "Local processes completed" is printed after ABORT!!! too
        return False
    if any(f.event.signature in ("launch.completed", "launch.exit-code") for f in launcher):
        return True
    spoken = [r for r in readings if r.rank.lines]
    return bool(spoken) and all(r.ended or (r.rank.exit and r.rank.exit.code == 0) for r in spoken)
