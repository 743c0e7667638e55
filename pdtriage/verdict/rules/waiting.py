"""Suspects seen by comparison: who was not where the others waited, and logs that just stop."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Progress, Rank, Text
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.accused import HANG
from pdtriage.verdict.rules.rule import Rule, no_success, no_success_and_over
from pdtriage.verdict.suspects import Suspect, silent_suspect

STUCK = "verdict.stuck"
CUT_SHORT = "verdict.cut-short"
_BAR = lazy_compile(
    r"\d{1,3}% {0,3}(?:\|[^|]{0,300}\| *)?(?P<step>\d{1,12})/(?P<total>\d{1,12}) \[[\d:]+<"
)
_EPOCH = lazy_compile(r"\b[Ee]poch: ?\[ ?(?P<step>\d{1,9})/ ?(?P<total>\d{1,9}) ?\]")


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
    if slow.position >= least or slow.position[1] < 0:
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
    support = [r.stopped for r in waiting if r.stopped][:2]
    why = wording.not_waiting(waiting[0].waited_in or "")
    return [silent_suspect("verdict.never-joined", "comm.init", others[0].rank, support, why)]


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
    """Every log stops without an error and without an end.

    Before the first step that is enough for a guess; later only with a picture of busy cards or a
    stack, which people take when a job does not move.
    """
    spoken = [r for r in evidence.readings if r.rank.lines]
    if evidence.facts.ended_by_cluster == "running" or not _just_stop(spoken, evidence):
        return []
    seen = [*evidence.kernel, *(f for r in spoken for f in r.context)]
    pictures = [f for f in seen if f.says("inspected")]
    started = any(r.rank.progress for r in spoken)
    known = any(r.rank.events or r.rank.last_time is not None for r in spoken)
    if not pictures and (started or not known):  # a text that nothing is known of
        return []
    why = _why_stuck(pictures) if started else wording.STUCK_AT_START
    return [_of_all(STUCK, spoken, spoken[:2], why)._replace(support=(*pictures[:1],))]


def _just_stop(spoken: Sequence[RankReading], evidence: RunEvidence) -> bool:
    """No error, no end, and not everybody says that it has finished."""
    if any(r.ended or r.stopped or not r.quiet for r in spoken):
        return False
    return not all(map(evidence.says_finished, spoken))


def _why_stuck(pictures: Sequence[Observation]) -> Text:
    busy = any(f.says("card-picture") for f in pictures)
    return wording.STOPPED_MOVING if busy else wording.LOOKED_AT


def broken_off(evidence: RunEvidence) -> list[Suspect]:
    """Logs that stop while all ran, or far from the end they announced."""
    if evidence.facts.started_by == "pdtriage":
        return []  # our own record knows better
    return _stopped_in_midst(evidence) or _cut_short(evidence)


def _stopped_in_midst(evidence: RunEvidence) -> list[Suspect]:
    """The launcher last said that all run; then nobody says anything more, not even an end."""
    readings, launcher = evidence.readings, evidence.launcher
    spoken = [r for r in readings if r.rank.lines]
    silent = all(r.quiet and not (r.ended or r.stopped or r.rank.exit) for r in readings)
    running = any(f.says("running") for f in launcher) and launcher[-1].event.role != "end"
    if not running or not silent or not _just_stop(spoken, evidence):
        return []
    furthest = max(spoken, key=lambda r: r.position)
    suspect = silent_suspect(STUCK, "hang", None, (), wording.HUNG_OR_RUNNING)
    return [suspect._replace(last_words=(furthest.rank,))]


def _cut_short(evidence: RunEvidence) -> list[Suspect]:
    """Every log stops far from the last step it has announced, and nobody says why."""
    spoken = [r for r in evidence.readings if r.rank.lines]
    if any(r.ended or r.stopped or r.rank.exit or not r.quiet for r in spoken):
        return []
    counting = [r for r in spoken if r.rank.progress]
    if not counting or not all(_stops_early(r.rank) for r in counting):
        return []
    furthest = max(counting, key=lambda r: r.position)
    why = _stops_early(furthest.rank) or wording.HUNG_OR_RUNNING
    return [_of_all(CUT_SHORT, spoken, [furthest], why)]


def _of_all(
    signature: str, spoken: Sequence[RankReading], shown: Sequence[RankReading], why: Text
) -> Suspect:
    """A hang of the job; of the rank, where it is the only one that left a log."""
    rank = shown[0].rank if len(spoken) == 1 else None
    suspect = silent_suspect(signature, "hang", rank, (), why)
    return suspect._replace(role="worker", last_words=tuple(r.rank for r in shown))


def _stops_early(rank: Rank) -> Text | None:
    """Where it stops, if that is far from an end it has announced."""
    last = rank.progress[-1]
    if _far_from_its_end(rank.progress):
        return wording.cut_short(last.step, last.total or 0)
    if last.total is not None or len(rank.progress) < 2:
        return None
    text = next((line for line in reversed(rank.tail) if line.strip()), "")
    bars = list(_BAR.finditer(text))
    if bars:
        step, total = int(bars[-1]["step"]), int(bars[-1]["total"])
        return wording.bar_cut_short(step, total) if step < total else None
    epoch = _EPOCH.search(text)
    if epoch and int(epoch["step"]) < int(epoch["total"]):
        return wording.epoch_cut_short(int(epoch["step"]), int(epoch["total"]))
    return None


def _far_from_its_end(progress: Sequence[Progress]) -> bool:
    """More steps are missing than lie between two lines that tell one."""
    *earlier, last = progress
    if last.total is None or not earlier:
        return False
    ahead = last.step - earlier[-1].step
    return ahead > 0 and last.step + 2 * ahead < last.total


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
    Rule(
        "broken-off",
        no_success_and_over,
        broken_off,
        {"failed-somehow": "a job whose launcher says that it failed did not just stop"},
    ),
)
