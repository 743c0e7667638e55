"""Runs that somebody stopped before anything had failed in them; what ranks say then follows."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.life import may_take_effect_later
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.kernel_log import killed_for_memory
from pdtriage.verdict.rules.launcher import cause_of_launcher, launcher_cause, own_report
from pdtriage.verdict.rules.never_met import never_met
from pdtriage.verdict.rules.pod_ends import ended_by_cluster
from pdtriage.verdict.rules.rule import Rule, no_success
from pdtriage.verdict.rules.stopped import INTERRUPTED, reason_to_stop, saw_a_failure_before
from pdtriage.verdict.suspects import (
    SIGKILL,
    Suspect,
    launcher_suspect,
    own_suspects,
    strong_suspects,
)

LAST_LINES = 12
"""So many may stand between the last word of a process and the end of its log."""
ON_THE_WAY_OUT = 30.0
"""Seconds; launchers wait so long, and no longer, for a process that they have told to end."""


def interrupted_first(evidence: RunEvidence) -> Sequence[Suspect]:
    """Who is to blame where somebody interrupted the run before anything had failed.

    A job that somebody gave up may have stood still before: then who kept it waiting is the cause.
    """
    if evidence.facts.ended_by_record not in (None, "interrupted"):
        return []
    stop = _words_of_a_stop(evidence)
    if not stop or _had_failed(evidence, stop[0]):
        return []
    return never_met(evidence) or reason_to_stop(evidence) or stop


def _words_of_a_stop(evidence: RunEvidence) -> list[Suspect]:
    """Whose word it is that the run was stopped; the launcher's first."""
    told = cause_of_launcher(evidence)
    if told is not None and told.found is not None and told.found.says("interrupted"):
        return [told]
    if evidence.facts.ended_by_record != "interrupted":
        ranks = [s for s in own_suspects(evidence) if s.found and s.found.says("interrupted")]
        return _printed_stop(evidence) or ranks
    support = [reading.stopped for reading in evidence.readings if reading.stopped][:1]
    stops = evidence.facts.stops
    known_here = not stops or any(stop.here for stop in stops)
    why = wording.RECORDED_STOP if known_here else wording.stopped_elsewhere(stops[0])
    host = stops[0].host if len(stops) == 1 and stops[0].node is not None else None
    return [launcher_suspect(INTERRUPTED, "external.kill", support, why, certain=True, host=host)]


def _printed_stop(evidence: RunEvidence) -> list[Suspect]:
    """The stop that a printed report of `pdtriage run` tells: nobody else is to blame."""
    printed = own_report(evidence)
    told = [s for s in printed if "interrupted" in evidence.signatures[s.signature].says]
    return told if len(told) == len(printed) and not any(s.rank for s in told) else []


def _had_failed(evidence: RunEvidence, stop: Suspect) -> bool:
    """Something was wrong before the run was stopped."""
    if evidence.facts.ended_by_record is None and _printed_stop(evidence):
        return False  # whoever printed it had the record and all the logs
    if killed_for_memory(evidence) or ended_by_cluster(evidence) or launcher_cause(evidence):
        return True
    if evidence.facts.ended_by_record is None and (
        own_report(evidence) or saw_a_failure_before(evidence, stop.found)
    ):
        return True
    own = [s for s in strong_suspects(evidence) if not _only_follows(s, stop)]
    if evidence.facts.ended_by_record == "interrupted":  # no process had failed, by its parent
        own = [suspect for suspect in own if _was_its_last_word(suspect, evidence)]
    return bool(own)


def _was_its_last_word(suspect: Suspect, evidence: RunEvidence) -> bool:
    """Whether nothing but the stop came after it: a thread died, and the process stood still."""
    found = suspect.found
    reading = next((r for r in evidence.readings if r.rank is suspect.rank), None)
    if found is None or reading is None or _only_reacts(found, reading):
        return False
    stop = reading.stopped.event if reading.stopped else None
    after = (stop.first_line or stop.line) if stop else reading.rank.last_line
    return after - max(found.event.last_line, found.event.line) <= LAST_LINES


def _only_reacts(found: Observation, reading: RankReading) -> bool:
    """Whether a rank lived until it was told to stop: what it raised was caught or came then.

    Who had failed before and stands still is killed in the end, or says that it was stopped.
    """
    ending = reading.rank.exit
    if may_take_effect_later(found) or ending is None or not ending.stopped:
        return False
    if ending.signal == SIGKILL:
        return False
    caught = found.event.block > 0 and not found.ends_process
    return reading.stopped is None or caught


def _only_follows(suspect: Suspect, stop: Suspect) -> bool:
    """A crash or a logged exit on the way out, or something right after the moment of the stop."""
    if suspect.category == "code.crash" or (stop.role == "launcher" and _is_logged_exit(suspect)):
        return True
    own = suspect.found.event.time if suspect.found else None
    then = stop.found.event.time if stop.found else None
    return own is not None and then is not None and 0 < own - then < ON_THE_WAY_OUT


def _is_logged_exit(suspect: Suspect) -> bool:
    """Python shows no traceback of it: somebody caught what a handler of the signal raised."""
    return suspect.found is not None and suspect.found.event.text.startswith("SystemExit")


RULES = (
    Rule(
        "interrupted-first",
        Text(
            "somebody stopped the run before anything had failed in it",
            "在出现任何失败之前，运行已被停止",
        ),
        no_success,
        interrupted_first,
        {
            "hosts-order": Text(
                "who numbers nodes in two ways stops the job because it does not begin",
                "节点编号不一致时，任务无法开始，才被人停止",
            )
        },
    ),
)
