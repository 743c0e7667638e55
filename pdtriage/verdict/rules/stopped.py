"""Suspects told by who was stopped, by whom, and who was not; and launchers that were gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import SENDER_PROGRAM, Rank, Text, Vanished
from pdtriage.support.exit_codes import signal_name
from pdtriage.verdict import wording
from pdtriage.verdict.accusations import Accusation, RankKey
from pdtriage.verdict.evidence import RunEvidence, by_node, launcher_pids
from pdtriage.verdict.life import CRASH_SIGNALS
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.accused import OUTSIDER, awaited_peers
from pdtriage.verdict.rules.deaths import SILENT
from pdtriage.verdict.rules.launcher import cause_of_launcher
from pdtriage.verdict.rules.rule import Rule, console, no_success
from pdtriage.verdict.rules.waiting import (
    awaited_for_long,
    fell_behind,
    missed_by_nccl,
    never_joined,
    stood_still,
)
from pdtriage.verdict.suspects import Suspect, launcher_suspect, silent_suspect

if TYPE_CHECKING:
    from pdtriage.verdict.suspects import More

INTERRUPTED = "verdict.interrupted"
LAUNCHER_GONE = "verdict.launcher-gone"
CRASHED = "verdict.crash"
UNREACHABLE = "verdict.node-unreachable"
MOST_NAMED = 4
"""Launchers that vanished; of more the rest goes without saying."""


def stopped_by_outsiders(evidence: RunEvidence) -> list[Suspect]:
    """Ranks that got SIGTERM from somebody else than all the others of their node did."""
    if all(reading.stopped is None for reading in evidence.readings):
        return []
    suspects = []
    for node in by_node(evidence.readings).values():
        here = [reading for reading in node if reading.sender is not None]
        launchers = launcher_pids(evidence.facts, here)
        for reading in here:
            own = (*launchers, *reading.rank.pids)
            if _was_stopped_by_its_node(reading):
                continue
            if launchers and reading.stopped and reading.sender not in own:
                program = reading.stopped.event.fields.get(SENDER_PROGRAM, "")
                why = wording.outsider(reading.sender, program)
                support = [reading.stopped]
                suspects.append(
                    silent_suspect(OUTSIDER, "external.kill", reading.rank, support, why)
                )
    return suspects


def _was_stopped_by_its_node(reading: RankReading) -> bool:
    """Whether a rank was stopped by the launcher that started it, maybe on another node."""
    return reading.rank.exit is not None and reading.rank.exit.stopped


def interruption(evidence: RunEvidence) -> list[Suspect]:
    """The suspect of a job stopped by hand, perhaps because a rank kept the others waiting."""
    stop = cause_of_launcher(evidence)
    if stop is None or stop.category != "external.kill":
        return []
    if saw_a_failure_before(evidence, stop.found):
        return []
    return reason_to_stop(evidence) or [stop]


def saw_a_failure_before(evidence: RunEvidence, stop: Observation | None) -> bool:
    """The launcher had seen a process fail when it was stopped itself."""
    return any(
        stop is not None and found.file == stop.file and found.where < stop.where
        for found in evidence.launcher
        if found.says("failed", "process-failed", "lists-failed")
    )


def launcher_gone(evidence: RunEvidence) -> list[Suspect]:
    """Killed, perhaps because somebody kept the others waiting; not because they miss its ranks."""
    facts = evidence.facts
    if not facts.vanished:
        return _lost_nodes(evidence)
    if len(facts.vanished) == len(facts.nodes) and (hung := reason_to_stop(evidence)):
        return hung  # no launcher was left that could have told of the others
    nodes = {gone.node for gone in facts.vanished}
    here = [
        r for r in evidence.readings if r.rank.lines and (None in nodes or r.rank.node in nodes)
    ]
    furthest = sorted(here, key=lambda r: r.position)[-1:]
    why = [_vanished(gone) for gone in facts.vanished[:MOST_NAMED]]
    number = facts.vanished[0].signal
    more: More = {
        "host": facts.vanished[0].host,
        "last_words": tuple(r.rank for r in furthest),
        "first_to_fail": True,
    }
    if number is not None:
        more["fields"] = {"signal": signal_name(number)}
    if number in CRASH_SIGNALS:
        return [launcher_suspect(CRASHED, "code.crash", (), *why, **more)]
    return [launcher_suspect(LAUNCHER_GONE, "external.kill", (), *why, **more)]


def _lost_nodes(evidence: RunEvidence) -> list[Suspect]:
    """Nodes that fell silent, and then ranks of other nodes lost theirs, and nobody else's."""
    hosts = {node.rank: node.host for node in evidence.facts.nodes}
    lost = [(node, hosts.get(node)) for node in evidence.facts.unanswered]
    if not lost or not evidence.accusations or _lost_the_master(evidence):
        return []
    accusing = {accusation.accuser.rank.key for accusation in evidence.accusations}
    for accused in (rank for a in evidence.accusations for rank in a.accused[:1]):
        # Who complains itself only passes on what it lost.
        of_lost = any(_is_on(accused, node, host) for node, host in lost)
        if not of_lost and accused.key not in accusing:
            return []
    found = [accusation.found for accusation in evidence.accusations[:2]]
    why = [wording.stopped_answering(node, host) for node, host in lost[:MOST_NAMED]]
    # The kernel of a machine that is up closes what its processes leave behind.
    closed = any(a.found.category != "comm.timeout" for a in evidence.accusations)
    gone = (LAUNCHER_GONE, "external.kill") if closed else (UNREACHABLE, "comm.timeout")
    return [launcher_suspect(*gone, found, *why, host=lost[0][1], first_to_fail=True)]


def _lost_the_master(evidence: RunEvidence) -> bool:
    """Whether Paddle's master ended with the first node, and the others with it."""
    return evidence.facts.started_by == "paddle" and 0 in evidence.facts.unanswered


def _is_on(rank: Rank, node: int, host: str | None) -> bool:
    if rank.node is not None:
        return rank.node == node
    return host is not None and rank.host == host and not rank.files


def reason_to_stop(evidence: RunEvidence) -> list[Suspect]:
    """Who kept the others waiting until somebody lost patience."""
    return (
        stood_still(evidence)
        or missed_by_nccl(evidence)
        or fell_behind(evidence)
        or never_joined(evidence)
        or awaited_peers(evidence)
    )


def _vanished(gone: Vanished) -> Text:
    where = "" if gone.node is None else f" of node {gone.node}"
    zh = "" if gone.node is None else f"节点 {gone.node} 的"
    if gone.signal is not None:
        name = signal_name(gone.signal)
        return Text(
            f"Paddle's launcher{where} (pid {gone.pid}) was ended by {name} before any rank failed",
            f"{zh} Paddle 启动器（pid {gone.pid}）被 {name} 终止，此前没有 rank 失败".lstrip(),
        )
    return Text(
        f"the launcher{where} (pid {gone.pid}) vanished without ending the run",
        f"{zh}启动器（pid {gone.pid}）未结束运行就消失了",
    )


def stopped_with_their_peers(evidence: RunEvidence) -> list[Suspect]:
    """The launcher stopped one rank after the other, and some broke when those before were gone."""
    stopped = {r.rank.key for r in evidence.readings if r.stopped}
    if not stopped or not evidence.accusations or _may_have_another_reason(evidence):
        return []
    nodes = by_node(r for r in evidence.readings if r.rank.files).values()
    if not all(map(_began_with_the_first, nodes)):
        return []
    gone = _gone_with(stopped, evidence.accusations)
    if not all(_broke_with(a, gone) for a in evidence.accusations):
        return []
    if not all(r.rank.key in gone for r in evidence.readings):
        return []
    if hung := awaited_for_long(evidence):
        return hung
    support = [*_stops(evidence)[:1], *(a.found for a in evidence.accusations[:2])]
    why = wording.STOPPED_WITH_PEERS
    return [launcher_suspect(INTERRUPTED, "external.kill", support, why)]


def _may_have_another_reason(evidence: RunEvidence) -> bool:
    """The launcher saw somebody fail, or somebody who may have failed left no log here."""
    failed = evidence.facts.ended_by_record == "failed" or evidence.says_failed or evidence.named
    return bool(failed) or evidence.others_are_missing


def _began_with_the_first(node: list[RankReading]) -> bool:
    """Whether the stop reached the first process, too, and came from what may be their launcher."""
    stopped = [r for r in node if r.stopped]
    if not stopped:
        return True
    numbers = [r.rank.local_rank for r in node if r.rank.local_rank is not None]
    first = [r for r in stopped if r.rank.local_rank == min(numbers, default=-1)]
    return bool(first) and all(map(_may_be_its_launchers, stopped))


def _may_be_its_launchers(reading: RankReading) -> bool:
    if reading.sender is None:
        return True  # the program says so itself, which knows no more
    own = reading.stopped.event.fields.get("pid", "") if reading.stopped else ""
    return own.isdecimal() and reading.sender < int(own)


def _gone_with(stopped: set[RankKey], accusations: Sequence[Accusation]) -> set[RankKey]:
    """Those who were stopped, who broke with them, who broke with these, and so on."""
    gone, of = set(stopped), _by_accuser(accusations)
    while broken := {
        key for key, own in of.items() if key not in gone and all(_broke_with(a, gone) for a in own)
    }:
        gone |= broken
    return gone


def _by_accuser(accusations: Sequence[Accusation]) -> dict[RankKey, list[Accusation]]:
    """What each rank says of others."""
    found: dict[RankKey, list[Accusation]] = {}
    for accusation in accusations:
        found.setdefault(accusation.accuser.rank.key, []).append(accusation)
    return found


def _broke_with(accusation: Accusation, gone: Collection[RankKey]) -> bool:
    """Whether a rank lost a connection, and to nobody else than those who are gone."""
    if accusation.found.category == "comm.timeout" or accusation.accuser.causes:
        return False
    return all(rank.key in gone for rank in accusation.accused)


def all_were_stopped(evidence: RunEvidence) -> list[Suspect]:
    """Every rank was stopped: by whoever stopped the job, or for a rank that is not here."""
    stopped = _stops(evidence)
    if not stopped or not all(r.stopped or not r.rank.files for r in evidence.readings):
        return []
    told = evidence.launcher and not evidence.says_failed
    if not told and not evidence.interrupted and evidence.others_are_missing:
        return [_stopped_for_others(evidence, stopped)]
    why = wording.ALL_STOPPED
    return [launcher_suspect(INTERRUPTED, "external.kill", stopped[:1], why)]


def not_stopped(evidence: RunEvidence) -> list[Suspect]:
    """Some were stopped; who was not may have ended before, without a word."""
    stopped = _stops(evidence)
    if not stopped or _only_servers_were_stopped(evidence):
        return []
    return _ended_before_others(evidence) or [_stopped_for_others(evidence, stopped)]


def _only_servers_were_stopped(evidence: RunEvidence) -> bool:
    """Whether only servers were stopped, as they are when all trainers have left."""
    trainers = [r for r in evidence.readings if r.rank.role == "worker" and r.rank.lines]
    stopped = [r for r in evidence.readings if r.stopped]
    return bool(trainers) and all(r.rank.role == "server" for r in stopped)


def _ended_before_others(evidence: RunEvidence) -> list[Suspect]:
    """The launcher stopped the others of its node and not this one, whose log just ends."""
    for node in by_node(evidence.readings).values():
        stopped = [r.stopped for r in node if r.stopped]
        left = [r for r in node if not r.stopped and r.rank.local_rank is not None]
        if not stopped or len(left) != 1:
            continue
        gone = left[0]
        if not gone.rank.files or not gone.quiet or gone.ended or gone.rank.exit:
            continue
        why = wording.NOT_STOPPED
        support, position = stopped[:2], gone.position
        return [silent_suspect(SILENT, "unknown", gone.rank, support, why, position=position)]
    return []


def _stops(evidence: RunEvidence) -> list[Observation]:
    return [reading.stopped for reading in evidence.readings if reading.stopped]


def _stopped_for_others(evidence: RunEvidence, stopped: list[Observation]) -> Suspect:
    """That ranks were only stopped, and what made the launcher do so is not in these logs."""
    why = [wording.ONLY_VICTIMS]
    missing: dict[str, list[int]] = {}
    for rank in evidence.facts.ranks:
        if rank.role == "worker" and rank.rank is not None and not rank.files and rank.host:
            missing.setdefault(rank.host, []).append(rank.rank)
    if missing:
        why.append(wording.answer_is_with(missing))
    return silent_suspect("verdict.victims-only", "unknown", None, stopped[:2], *why)


RULES = (
    Rule(
        "outsider",
        Text(
            "it got SIGTERM from another process than the others did",
            "它收到的 SIGTERM 与其他 rank 的来源不同",
        ),
        no_success,
        stopped_by_outsiders,
        {
            "own-report": Text(
                "a report that was printed had all the logs to judge by", "打印报告时能看到全部日志"
            )
        },
    ),
    Rule(
        "interruption",
        Text("the console says that the launcher was stopped", "控制台显示启动器被停止"),
        console,
        interruption,
        {
            "never-met": Text(
                "who ends a job by hand that never came together only lost patience",
                "手动结束一个始终没有会合的任务，只是因为等不下去",
            )
        },
    ),
    Rule(
        "launcher-gone",
        Text("a launcher, or its whole node, vanished", "某个启动器或其整个节点消失了"),
        no_success,
        launcher_gone,
        {
            "interruption": Text(
                "the console says who ended the launcher", "控制台说明了是谁结束了启动器"
            )
        },
    ),
    Rule(
        "stopped-with-peers",
        Text(
            "the launcher stopped one rank after the other, and the rest broke with them",
            "启动器逐个停止 rank，其余的因此出错",
        ),
        no_success,
        stopped_with_their_peers,
        {
            "launcher-gone": Text(
                "the guardian of a killed launcher stops its ranks",
                "启动器被杀后，其守护进程会停止各 rank",
            )
        },
    ),
    Rule(
        "all-stopped",
        Text("every rank was stopped with SIGTERM", "所有 rank 都被 SIGTERM 停止"),
        no_success,
        all_were_stopped,
        {
            "unnamed-peer": Text(
                "who lost a peer before it was stopped says why the job was stopped",
                "被停止之前就失去对端的 rank，说明了任务为何被停止",
            )
        },
    ),
    Rule(
        "not-stopped",
        Text(
            "the others were stopped with SIGTERM and it was not",
            "其他 rank 被 SIGTERM 停止，而它没有",
        ),
        no_success,
        not_stopped,
        {
            "all-stopped": Text(
                "where all were stopped nobody had ended before",
                "所有 rank 都被停止时，没有谁更早结束",
            )
        },
    ),
)
