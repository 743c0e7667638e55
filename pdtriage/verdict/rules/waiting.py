"""Suspects seen by comparison: who was not where the others waited, and jobs seen to stand."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.open_ends import LEAST_SILENCE, PATIENCE, ZONE, rhythm_of
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.accused import HANG
from pdtriage.verdict.rules.rule import Rule, no_success
from pdtriage.verdict.suspects import Suspect, silent_suspect

STUCK = "verdict.stuck"
SAME_SECOND = 2.0
"""Seconds since 1970 are told without fractions."""


def elsewhere(evidence: RunEvidence) -> list[Suspect]:
    """Who was not where the others waited, or waited in another place of the program.

    No two of these speak of one run: they ask for one rank, for two, and for more that complain.
    """
    return fell_behind(evidence) or _odd_one_out(evidence) or _out_of_step(evidence)


def fell_behind(evidence: RunEvidence) -> list[Suspect]:
    """The rank that was not in the collective the others were stopped in."""
    waiting = [r for r in evidence.readings if r.waited_in or r.symptoms]
    others = [r for r in evidence.readings if not (r.waited_in or r.symptoms) and r.rank.lines]
    if not waiting or len(others) != 1:
        return []
    slow = others[0]
    least = min(r.position for r in waiting)
    if slow.position >= least or slow.position[1] < 0 or _was_stopped_in_motion(evidence):
        return []
    operation = next((r.waited_in for r in waiting if r.waited_in), None)
    why = [wording.not_waiting(operation)] if operation else []
    why.append(wording.behind(slow.position[1], least[1]))
    support = [slow.stopped] if slow.stopped else []
    suspect = silent_suspect(HANG, "hang", slow.rank, support, *why)
    return [suspect._replace(position=slow.position)]


def never_joined(evidence: RunEvidence) -> list[Suspect]:
    """Before the first step: all but one were stopped while they waited for everybody to meet."""
    spoken = [r for r in evidence.readings if r.rank.files]
    waiting = [r for r in spoken if r.waited_in]
    others = [r for r in spoken if not r.waited_in and r.quiet]
    if not waiting or len(others) != 1 or any(r.rank.progress for r in spoken):
        return []
    if _was_stopped_in_motion(evidence):
        return []
    support = [r.stopped for r in waiting if r.stopped][:2]
    why = wording.not_waiting(waiting[0].waited_in or "")
    return [silent_suspect("verdict.never-joined", "comm.init", others[0].rank, support, why)]


def _was_stopped_in_motion(evidence: RunEvidence) -> bool:
    """Too little time passed between the last sign of life and the stop to call anybody late.

    Of ranks that work together some wait for the slowest at any moment.
    """
    told = [f.event.time for f in evidence.launcher if f.says("interrupted")]
    told += [r.stopped.event.time for r in evidence.readings if r.stopped]
    stop = next((time for time in told if time is not None), None)
    ranks = [r.rank for r in evidence.readings if r.rank.lines]
    steps = [rank.progress[-1].time for rank in ranks if rank.progress]
    alive = [time for time in steps if time is not None]
    alive = alive or [rank.first_time for rank in ranks if rank.first_time is not None]
    if stop is None or not alive:
        return False
    silence = stop - max(alive)
    if silence < -SAME_SECOND:
        silence %= ZONE  # the clock of a log, and seconds since 1970
    rhythms = [rhythm for rank in ranks if (rhythm := rhythm_of(rank.progress))]
    return silence <= max(PATIENCE * max(rhythms, default=0.0), LEAST_SILENCE)


def _odd_one_out(evidence: RunEvidence) -> list[Suspect]:
    """All gave up waiting for each other, and one of them in another place than the rest."""
    waited = [r for r in evidence.readings if r.symptoms and r.rank.files]
    places: dict[str, list[RankReading]] = {}
    for reading in waited:
        frame = reading.symptoms[-1].event.frame
        place = f"{frame.file}:{frame.line}" if frame else ""
        places.setdefault(place, []).append(reading)
    alone = [group[0] for group in places.values() if len(group) == 1]
    if len(places) != 2 or len(alone) != 1 or len(waited) < 3:
        return []
    odd = alone[0]
    support, why = [odd.symptoms[-1]], wording.ELSEWHERE
    suspect = silent_suspect("verdict.odd-one-out", "config.rank", odd.rank, support, why)
    return [suspect._replace(position=odd.position)]


def _out_of_step(evidence: RunEvidence) -> list[Suspect]:
    """Both of two gave up, at their time limit or when the other one left; not in one place.

    Who had only been slow would have come to the same place in the end.
    """
    waited = [r for r in evidence.readings if r.symptoms and r.rank.files and not r.inner]
    if len(waited) != 2 or len(evidence.readings) != 2:
        return []
    last = [r.symptoms[-1] for r in waited]
    frames = [f.event.frame for f in last]
    places = {(frame.file, frame.line) if frame else None for frame in frames}
    timed_out = [f for f in last if f.category == "comm.timeout"]
    if len(places) != 2 or not timed_out or any(f.event.frame is None for f in timed_out):
        return []
    why = wording.IN_TWO_PLACES
    return [
        silent_suspect("verdict.out-of-step", "config.rank", reading.rank, support, why)._replace(
            position=reading.position, last_words=()
        )
        for reading, support in zip(waited, (last, last[1:]), strict=True)
    ]


def stuck(evidence: RunEvidence) -> list[Suspect]:
    """Every log stops without an error and without an end, and somebody saw the job stand still.

    Who takes a stack, or a picture of busy cards, does so because a job does not move. Without that
    a log that stops says nothing of why.
    """
    spoken = [r for r in evidence.readings if r.rank.lines]
    seen = [*evidence.kernel, *(f for r in spoken for f in r.context)]
    pictures = [f for f in seen if f.says("inspected")]
    if not pictures or evidence.facts.ended_by_cluster == "running":
        return []
    if not _just_stop(spoken, evidence):
        return []
    started = any(r.rank.progress for r in spoken)
    why = _why_stuck(pictures) if started else wording.STUCK_AT_START
    rank = spoken[0].rank if len(spoken) == 1 else None
    suspect = silent_suspect(STUCK, "hang", rank, pictures[:1], why)
    return [suspect._replace(role="worker", last_words=tuple(r.rank for r in spoken[:2]))]


def _just_stop(spoken: Sequence[RankReading], evidence: RunEvidence) -> bool:
    """No error, no end, and not everybody says that it has finished."""
    if any(r.ended or r.stopped or not r.quiet for r in spoken):
        return False
    return not all(map(evidence.says_finished, spoken))


def _why_stuck(pictures: Sequence[Observation]) -> Text:
    busy = any(f.says("card-picture") for f in pictures)
    return wording.STOPPED_MOVING if busy else wording.LOOKED_AT


RULES = (
    Rule(
        "elsewhere",
        no_success,
        elsewhere,
        {"named-by-console": "a launcher that saw it fail needs no comparison with the others"},
    ),
    Rule(
        "stuck", no_success, stuck, {"kernel-fault": "a broken machine is a reason to stand still"}
    ),
)
