"""Why a suspect is believed to be the culprit, and how surely."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Confidence
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.life import last_line_about, may_take_effect_later
from pdtriage.verdict.rank_reading import NEAR, Observation, passage
from pdtriage.verdict.rules.deaths import is_one_of_unseen
from pdtriage.verdict.rules.kernel_log import OOM_KILL
from pdtriage.verdict.suspects import Suspect

A_MONTH = 30 * 86400.0
BEFORE_THE_START = 60.0
"""Seconds: what is dated so much earlier than a launch is none of its errors."""


class Lineup(NamedTuple):
    """All suspects of a run, as far as they matter for one of them."""

    suspects: int
    shapes: int
    """How many different things they say."""
    ranks: int
    all_alike: bool
    """All ranks of the run are suspects, and they say the same."""
    is_only_log: bool


def lineup_of(suspects: Sequence[Suspect], shapes: Sequence[str], evidence: RunEvidence) -> Lineup:
    ranks = len(evidence.readings)
    different = len(set(shapes))
    spoken = sum(1 for reading in evidence.readings if reading.rank.lines)
    all_alike = different == 1 and len(suspects) == ranks > 1 and _are_several(suspects)
    return Lineup(len(suspects), different, ranks, all_alike, spoken == ranks == 1)


def _are_several(suspects: Sequence[Suspect]) -> bool:
    """A console may show one rank twice: its output, and the end of its log."""
    known = [(s.role, s.rank.rank) for s in suspects if s.rank and s.rank.rank is not None]
    return len(set(known)) == len(known)


def with_reasons(suspect: Suspect, lineup: Lineup, evidence: RunEvidence) -> Suspect:
    """The suspect with all that makes it the culprit, beyond what its rule has found."""
    suspect = _by_death(suspect, evidence)
    suspect = _by_accusers(suspect)
    found = suspect.found
    if found is None:
        return suspect
    if suspect.rank is None:
        unnamed = suspect.why or suspect.role != "worker"
        return suspect if unnamed else suspect.because(wording.NAMED_BY_LAUNCHER)
    if suspect.is_launchers and found.event.role == "cause":
        return suspect.because(wording.LAUNCHER_ITSELF, certain=True)
    if suspect.named:
        return suspect  # many wrote into one console
    suspect = _among_others(suspect, lineup, alone=evidence.is_one_process)
    if suspect.certain and evidence.is_broken_off:
        suspect = suspect.because(wording.BROKEN_OFF)
    return suspect.because(wording.NOT_ALL_READ) if evidence.facts.unread else suspect


def _by_death(suspect: Suspect, evidence: RunEvidence) -> Suspect:
    """Where a node had fallen silent before, who died first elsewhere proves little."""
    if suspect.order != 0 or not suspect.found:
        return suspect
    unanswered = evidence.facts.unanswered
    if unanswered and not (suspect.rank and suspect.rank.node in unanswered):
        return suspect.because(wording.DIED_FIRST, wording.after_a_silence(unanswered))
    return suspect.because(wording.DIED_FIRST, certain=True)


def _by_accusers(suspect: Suspect) -> Suspect:
    found = suspect.found
    if not suspect.accusers or not found or not suspect.rank:
        return suspect
    raised = found.event.block > 0 and suspect.category != "code.crash"
    clear = raised or not found.signature.generic
    certain = suspect.certain or (clear and found.event.role == "cause")
    return suspect.because(wording.accused_by(suspect.accusers), certain=certain)


def _among_others(suspect: Suspect, lineup: Lineup, *, alone: bool) -> Suspect:
    """Whose log is the only one here is `alone` only where the job is known to have no other."""
    if lineup.is_only_log:
        why = wording.ONLY_PROCESS if alone else wording.ONLY_LOG
        # a symptom is no reason, however certain it is who shows it
        cause = suspect.found is not None and suspect.found.event.role == "cause"
        return suspect.because(why, certain=alone and cause and not _was_seen_once(suspect))
    if lineup.all_alike:
        return suspect.because(wording.same_on_all(lineup.ranks), certain=True)
    if lineup.suspects == 1:
        return suspect.because(wording.ONLY_WITH_ERROR)
    if suspect.why:
        return suspect
    several = lineup.shapes > 1
    return suspect.because(wording.SEVERAL_SUSPECTS if several else wording.OWN_ERROR)


def _was_seen_once(suspect: Suspect) -> bool:
    """What has to come again and again came too seldom: the log ended first."""
    found, rank = suspect.found, suspect.rank
    if found is None or rank is None or found.signature.repeats <= 1:
        return False
    seen = sum(event.count for _, event in rank.events if event.signature == found.signature.id)
    return seen < found.signature.repeats


def confidence_in(suspect: Suspect, evidence: RunEvidence) -> Confidence:
    """How sure it is that this suspect is the culprit, and of this."""
    if suspect.told:  # what is not here to be seen proves nothing
        return "guess" if suspect.told == "guess" else "likely"
    if _may_be_the_others(suspect, evidence):
        return "guess"
    sure = suspect.certain and not evidence.facts.unread and _ended_with_it(suspect, evidence)
    if (
        sure
        and not evidence.is_broken_off
        and not _is_older(suspect, evidence)
        and _is_stated(suspect, evidence)
        and not _is_disputed(suspect, evidence)
    ):
        return "proven"
    if suspect.found is not None and suspect.found.event.role == "cause":
        return "likely"
    if suspect.rank and is_one_of_unseen(suspect.rank, evidence.readings):
        return "guess"
    watched = any(
        found.says("own-verdict", "ras-launched", "ras-unreached") for found in suspect.support
    )
    died_first = suspect.order == 0 or suspect.first_to_fail or suspect.frame is not None
    if watched or suspect.accusers or died_first or suspect.signature == OOM_KILL:
        return "likely"
    return "guess"


def _may_be_the_others(suspect: Suspect, evidence: RunEvidence) -> bool:
    """Ranks disagree, and nobody but one of them says so: any other may be the odd one."""
    found = suspect.found
    if found is None or suspect.category != "config.rank" or len(evidence.readings) <= 2:
        return False
    return found.says("between-ranks")


def _is_older(suspect: Suspect, evidence: RunEvidence) -> bool:
    """Whether a suspect's line, by its date, came before the launcher of this run had begun."""
    time = suspect.found.event.time if suspect.found else None
    begun = [f.event.time for f in evidence.launcher if f.says("opens-launch", "started")]
    known = [moment for moment in begun if moment is not None]
    # by years only where one of them was guessed
    return time is not None and bool(known) and BEFORE_THE_START < min(known) - time < A_MONTH


def _ended_with_it(suspect: Suspect, evidence: RunEvidence) -> bool:
    """Whether nobody caught it, or somebody saw a bad end: a mere last line may be harmless."""
    found = suspect.found
    if found is None or suspect.is_launchers:
        return True
    if found.ends_process:
        return True
    if not evidence.ended_badly or _lived_to_be_stopped(suspect, found, evidence):
        return False
    return not _went_on_below(suspect, found)


def _went_on_below(suspect: Suspect, found: Observation) -> bool:
    """Whether it was caught, or ended a mere thread, and its process said more or ended in
    another way. Whoever reads data for others is waited for."""
    is_awaited = may_take_effect_later(found) and found.category.startswith("data")
    if not found.event.block or is_awaited or suspect.rank is None:
        return False
    rank, ending = suspect.rank, suspect.rank.exit
    if (
        ending is not None
        and not ending.stopped
        and (ending.signal or ending.code not in (None, 1))
    ):
        return True
    return not rank.mixed and rank.last_line > last_line_about(found)


def _lived_to_be_stopped(suspect: Suspect, found: Observation, evidence: RunEvidence) -> bool:
    """Whether it was caught and printed, and its process was alive until SIGTERM came."""
    if not found.event.block or may_take_effect_later(found):
        return False
    return any(r.stopped is not None for r in evidence.readings if r.rank is suspect.rank)


def _is_stated(suspect: Suspect, evidence: RunEvidence) -> bool:
    """Words say what happened, not only the place they were printed at or how a process ended."""
    signature = evidence.signatures[suspect.signature]
    if "states-cause" not in signature.says:
        return any(
            f.says("states-cause") and f.category == suspect.category for f in suspect.support
        )
    return signature.trigger != "traceback" or _is_of_users_code(suspect.found)


def _is_of_users_code(found: Observation | None) -> bool:
    """Their own code raised it; what a library raises may have come from anywhere."""
    frame = found.event.frame if found else None
    if found is None or frame is None:
        return False
    frames = [line for line in found.event.before if '", line ' in line]
    return bool(frames) and f'"{frame.file}", line {frame.line}' in frames[-1]


def _is_disputed(suspect: Suspect, evidence: RunEvidence) -> bool:
    """Whether another failure of the same rank came before it, or after what ended the process."""
    found = suspect.found
    reading = next((r for r in evidence.readings if r.rank is suspect.rank), None)
    if found is None or reading is None:
        return False
    others = [
        other
        for other in (*reading.causes, *reading.symptoms)
        if other.file == found.file
        and other.category != found.category
        and passage(other) != passage(found)
    ]
    return any(_came_before(other, found) or _came_after_its_end(other, found) for other in others)


def _came_before(other: Observation, found: Observation) -> bool:
    """A general word right above the clear one only announces it."""
    lines = found.event.line - max(other.event.last_seen, other.event.line)
    return lines > 0 and (not other.signature.generic or lines > NEAR)


def _came_after_its_end(other: Observation, found: Observation) -> bool:
    """Whether the other error came below what ended the process; a crash may belong to that."""
    later = other.event.line > max(found.event.last_line, found.event.line)
    return later and found.event.final and other.category != "code.crash"
