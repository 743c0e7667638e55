"""Suspects seen by comparison: who was not where the others waited, and jobs seen to stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdtriage.hang.rhythm import OF_USUAL, HangLimits, rhythm_of
from pdtriage.hang.stack_groups import StackFold, call_site_of, fold_of
from pdtriage.hang.stack_words import summary_of
from pdtriage.model import Text
from pdtriage.model.stacks import ProcessStack
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.open_ends import LEAST_SILENCE, PATIENCE, ZONE, still_grows
from pdtriage.verdict.rank_reading import Observation, RankReading, has_words_behind_steps
from pdtriage.verdict.rules.collectives import HANG
from pdtriage.verdict.rules.nccl_ras import missed_by_ras
from pdtriage.verdict.rules.rule import Rule, no_success
from pdtriage.verdict.suspects import Suspect, silent_suspect

if TYPE_CHECKING:
    from pdtriage.verdict.suspects import More

STUCK = "verdict.stuck"
AMONG_ALL = frozenset(
    {"AllGather", "AllReduce", "AllToAll", "Barrier", "Broadcast", "Gather", "Recv", "Reduce"}
    | {"ReduceScatter", "Scatter", "Send"}
)
"""Operations that begin when everybody has met."""
MISSED_STEPS, LEAST_STILL = 20, 4.0
"""Steps, and seconds, without a sign of life: longer than any rank is merely busy between two."""
STOP_LINES = 4
"""What Paddle prints above the words that a process was stopped, where there is no stack."""
SAME_SECOND = 2.0
"""Seconds since 1970 are told without fractions."""


def elsewhere(evidence: RunEvidence) -> list[Suspect]:
    """Ranks that were not where the others waited, or waited in another place of the program.

    No two of these speak of one run: they ask for one rank, for two, and for more that complain.
    """
    return (
        missed_by_nccl(evidence)
        or fell_behind(evidence)
        or _left_behind(evidence)
        or _odd_one_out(evidence)
        or _out_of_step(evidence)
    )


def stood_still(evidence: RunEvidence) -> list[Suspect]:
    """The launcher saw the job stand still until its end, and by the stacks who kept it waiting."""
    taken = evidence.facts.standstill
    if taken is None or not taken.is_hang:
        return []
    fold = fold_of(taken)
    seen, summary = wording.stood_still_text(taken.still or 0.0), summary_of(taken, fold)
    by_rank = {(r.rank.role, r.rank.rank): r for r in evidence.readings}
    named = fold.odd or _only_one_left(fold, evidence)
    odd = [(stack, by_rank.get((stack.role, stack.rank))) for stack in named]  # type: ignore[arg-type]
    suspects = []
    for stack, reading in odd:
        if reading is None:
            continue
        known: More = {"position": reading.position, "frame": call_site_of(stack).frame}
        suspects.append(silent_suspect(HANG, "hang", reading.rank, (), seen, summary, **known))
    for rank in fold.missing:
        if (reading := by_rank.get(("worker", rank))) is not None:
            suspects.append(
                silent_suspect(HANG, "hang", reading.rank, (), seen, summary, first_to_fail=True)
            )
    if suspects or fell_behind(evidence):
        return suspects
    lost = _lost_node(fold, evidence)
    why = [wording.stopped_answering(*lost)] if lost else []
    why += [seen, summary] if fold.groups else [seen]
    return [silent_suspect(STUCK, "hang", None, (), *why, host=lost[1] if lost else None)]


def _only_one_left(fold: StackFold, evidence: RunEvidence) -> tuple[ProcessStack, ...]:
    """The one process that stood there when all others had ended well, or that was all of the
    job."""
    left = tuple(stack for group in fold.groups for stack in group.members)
    if len(left) != 1 or fold.missing or evidence.facts.unanswered:
        return ()
    others = [r.rank for r in evidence.readings if r.rank.rank != left[0].rank]
    ended = all(rank.exit is not None and rank.exit.code == 0 for rank in others)
    return left if ended and not fold.groups[0].where.collective else ()


def _lost_node(fold: StackFold, evidence: RunEvidence) -> tuple[int, str | None] | None:
    """The node that does not answer any more, where all ranks here wait for others."""
    lost = evidence.facts.unanswered
    waiting = bool(fold.groups) and all(group.where.collective for group in fold.groups)
    if len(lost) != 1 or not waiting or evidence.facts.started_by != "pdtriage":
        return None  # Paddle's launcher takes the meeting place with it
    known = (node.host for node in evidence.facts.nodes if node.rank == lost[0])
    return lost[0], next(known, None)


def awaited_by_stacks(evidence: RunEvidence) -> list[Suspect]:
    """Whom the others waited for by stacks taken before: those gave up later and ended by that."""
    return [suspect for suspect in stood_still(evidence) if suspect.rank is not None]


def missed_by_nccl(evidence: RunEvidence) -> list[Suspect]:
    """Whom NCCL itself saw missing, where the logs just stop, the job had stood still when it was
    stopped, or the others gave up waiting: it may be asked of a healthy job, too."""
    spoken = [r for r in evidence.readings if r.rank.lines]
    lost = evidence.accusations
    gave_up = bool(lost) and all(a.found.category == "comm.timeout" for a in lost)
    if still_grows(evidence):
        return []
    stands = gave_up or _just_stop(spoken, evidence) or _stood_still(evidence)
    return missed_by_ras(evidence) if stands else []


def fell_behind(evidence: RunEvidence) -> list[Suspect]:
    """The rank that was not in the collective the others were stopped in."""
    waiting = [r for r in evidence.readings if r.waited_in or r.symptoms]
    others = [r for r in evidence.readings if not (r.waited_in or r.symptoms) and r.rank.lines]
    if not waiting or len(others) != 1:
        return []
    slow = others[0]
    least = min(r.position for r in waiting)
    if slow.position > least or slow.position[1] < 0:
        return []
    in_step = slow.position == least
    if not _stood_still(evidence) if in_step else _was_stopped_in_motion(evidence):
        return []
    operation = next((r.waited_in for r in waiting if r.waited_in), None)
    why = [wording.not_waiting(operation)] if operation else []
    told = wording.STOOD_STILL if in_step else wording.behind_text(slow.position[1], least[1])
    why.append(told)
    support = [slow.stopped] if slow.stopped else []
    return [silent_suspect(HANG, "hang", slow.rank, support, *why, position=slow.position)]


def _left_behind(evidence: RunEvidence) -> list[Suspect]:
    """The one that was stopped, long after its last sign of life, where all others had got further
    and just ended: those may well have been done."""
    stopped = [r for r in evidence.readings if r.stopped and r.quiet and not r.waited_in]
    others = [r for r in evidence.readings if not r.stopped and r.rank.lines]
    if len(stopped) != 1 or not others or len(others) + 1 < len(evidence.readings):
        return []
    slow = stopped[0]
    if not all(r.quiet and r.position >= slow.position for r in others):
        return []
    further = all(r.position > slow.position or has_words_behind_steps(r) for r in others)
    stop, steps = slow.stopped, slow.rank.progress
    if not further or stop is None or not steps or not _stood_still(evidence):
        return []
    if (stop.event.first_line or stop.event.line) - steps[-1].line > STOP_LINES:
        return []
    why, position = wording.LEFT_BEHIND, slow.position
    return [silent_suspect(HANG, "hang", slow.rank, [stop], why, position=position)]


def awaited_for_long(evidence: RunEvidence) -> list[Suspect]:
    """The same where the job had stood still for longer than an evaluation or a checkpoint takes:
    who stopped it then did so because of that."""
    if not _stood_still(evidence, OF_USUAL, HangLimits().floor):
        return []
    return missed_by_nccl(evidence) or fell_behind(evidence)


def never_joined(evidence: RunEvidence) -> list[Suspect]:
    """The one rank that never came, where all others waited until they were stopped."""
    spoken = [r for r in evidence.readings if r.rank.files]
    waiting = [r for r in spoken if r.waited_in]
    others = [r for r in spoken if not r.waited_in and r.quiet]
    if not waiting or len(others) != 1 or any(r.rank.progress for r in spoken):
        return []
    if any(r.waited_in in AMONG_ALL for r in waiting):
        return []  # they had met
    if _was_stopped_in_motion(evidence):
        return []
    support = [r.stopped for r in waiting if r.stopped][:2]
    why = wording.not_waiting(waiting[0].waited_in or "")
    return [silent_suspect("verdict.never-joined", "comm.init", others[0].rank, support, why)]


def _was_stopped_in_motion(evidence: RunEvidence) -> bool:
    """Too little time passed between the last sign of life and the stop to call anybody late.

    Of ranks that work together some wait for the slowest at any moment.
    """
    silence = _silence_before_stop(evidence)
    if silence is None:
        return False
    if silence < -SAME_SECOND:
        silence %= ZONE  # the clock of a log, and seconds since 1970
    return silence <= max(PATIENCE * _slowest_rhythm(evidence), LEAST_SILENCE)


def _stood_still(
    evidence: RunEvidence, steps: float = MISSED_STEPS, least: float = LEAST_STILL
) -> bool:
    """Whether many steps could have been made between the last sign of life and the stop."""
    silence = _silence_before_stop(evidence)
    rhythm = _slowest_rhythm(evidence)
    if silence is None or not rhythm:
        return False
    since = silence % ZONE  # a log's clock may be of another zone
    return max(steps * rhythm, least) < since < ZONE - SAME_SECOND


def _silence_before_stop(evidence: RunEvidence) -> float | None:
    """Seconds, by two clocks that may be of different zones; None where a moment is not told."""
    told = [f.event.time for f in evidence.launcher if f.says("interrupted")]
    told += [r.stopped.event.time for r in evidence.readings if r.stopped]
    stop = next((time for time in told if time is not None), None)
    ranks = [r.rank for r in evidence.readings if r.rank.lines]
    steps = [rank.progress[-1].time for rank in ranks if rank.progress]
    alive = [time for time in steps if time is not None]
    alive = alive or [rank.first_time for rank in ranks if rank.first_time is not None]
    return None if stop is None or not alive else stop - max(alive)


def _slowest_rhythm(evidence: RunEvidence) -> float:
    ranks = [r.rank for r in evidence.readings if r.rank.lines]
    return max((rhythm for rank in ranks if (rhythm := rhythm_of(rank.progress))), default=0.0)


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
    support, why, position = [odd.symptoms[-1]], wording.ELSEWHERE, odd.position
    signature, category = "verdict.odd-one-out", "config.rank"
    return [silent_suspect(signature, category, odd.rank, support, why, position=position)]


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
        silent_suspect(
            "verdict.out-of-step",
            "config.rank",
            reading.rank,
            support,
            why,
            position=reading.position,
            last_words=(),
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
    known: More = {"role": "worker", "last_words": tuple(r.rank for r in spoken[:2])}
    return [silent_suspect(STUCK, "hang", rank, pictures[:1], why, **known)]


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
        "stood-still",
        Text(
            "stacks taken while the job stood still show that the others waited for it",
            "任务卡住时取得的调用栈显示，其他 rank 在等待它",
        ),
        no_success,
        awaited_by_stacks,
        {
            "launcher-gone": Text(
                "a node that vanished is a reason for the others to stand still",
                "节点消失会使其他节点卡住",
            )
        },
    ),
    Rule(
        "elsewhere",
        Text("it was not where the others waited", "它不在其他 rank 等待的位置"),
        no_success,
        elsewhere,
        {
            "named-by-console": Text(
                "a launcher that saw it fail needs no comparison with the others",
                "启动器看到它失败，就不必再与其他 rank 比较",
            )
        },
    ),
    Rule(
        "stuck",
        Text("somebody looked at the job while it stood still", "有人在任务卡住时查看过它"),
        no_success,
        stuck,
        {
            "kernel-fault": Text(
                "a broken machine is a reason to stand still", "机器故障是卡住的原因"
            )
        },
    ),
)
