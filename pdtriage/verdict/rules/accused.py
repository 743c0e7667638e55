"""Suspects whom others accuse: of a lost connection, of not coming, or by elimination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Rank, Text
from pdtriage.verdict import wording
from pdtriage.verdict.accusations import RankKey, unseen_rank_of
from pdtriage.verdict.evidence import RunEvidence, by_node, launcher_pids
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.collectives import HANG, did_not_arrive
from pdtriage.verdict.rules.deaths import (
    LOST_LOG,
    SILENT,
    by_exit,
    names_exception,
    with_memory,
    without_words,
)
from pdtriage.verdict.rules.rule import Rule, complaints, doubtful_success
from pdtriage.verdict.suspects import Suspect, by_hint, silent_suspect, speaking_suspect

if TYPE_CHECKING:
    from pdtriage.verdict.suspects import More

OUTSIDER = "verdict.outsider"


def lost_peers(evidence: RunEvidence) -> list[Suspect]:
    """Accused by name, missing in a collective, or left over when everybody else complains."""
    lost = _accused_and_silent(evidence) or did_not_arrive(evidence) or _left_over(evidence)
    return [with_memory(suspect, evidence.kernel) for suspect in lost]


def awaited_peers(evidence: RunEvidence) -> list[Suspect]:
    """Lost peers whom the others gave up waiting for, and who may live."""
    return [suspect for suspect in lost_peers(evidence) if suspect.category == "comm.timeout"]


def unnamed_peer(evidence: RunEvidence) -> list[Suspect]:
    """Somebody is missing, and nobody here can say which rank it is."""
    if not evidence.accusations:
        return []
    best = max(evidence.accusations, key=lambda a: (bool(a.address), a.found.event.count))
    known = best.accused[0] if len(best.accused) == 1 else unseen_rank_of(best)
    if known is not None and _may_wait_itself(known, [best.found], evidence):
        known = None
    others = [f for f in best.accuser.symptoms if f is not best.found][:3]
    support = [*others, *best.accuser.explained[:2]]
    why = wording.accused_address(best.address) if best.address else wording.NOBODY_NAMED
    return [speaking_suspect(best.found, known, support, why, host=None)]


def servers_lost(evidence: RunEvidence) -> list[Suspect]:
    """Trainers that raised because a server was gone; the launcher only counts that they ended."""
    raised = [a for a in evidence.accusations if a.found.event.block and not a.accuser.ended]
    if not any(a.accuser.rank.role == "worker" for a in raised):
        return []
    return lost_peers(evidence) or unnamed_peer(evidence)


def _accused_and_silent(evidence: RunEvidence) -> list[Suspect]:
    """Where the arrows end: accused by name, accusing nobody, no error of its own."""
    accusing = {a.accuser.rank.key for a in evidence.accusations}
    words: dict[RankKey, list[Observation]] = {}
    for accusation in evidence.accusations:
        for accused in accusation.accused[:1]:
            words.setdefault(accused.key, []).append(accusation.found)
    known: dict[RankKey, RankReading] = {}
    for reading in evidence.readings:
        known.setdefault(reading.rank.key, reading)
    suspects = []
    for key, ranks in evidence.accusers.items():
        reading = known[key]
        timed_out = all(f.category == "comm.timeout" for f in words[key])
        if key in accusing or reading.causes or (timed_out and reading.waited_in):
            continue  # who was stopped while it waited as well is not the one they waited for
        if _was_stopped_for_another(reading, evidence):
            continue
        if _may_wait_itself(reading.rank, words[key], evidence):
            continue
        suspects.append(_of_accused(reading, words[key], wording.accused_by(ranks), ranks))
    return sorted(suspects, key=lambda s: (-len(s.accusers), s.order, s.position))


def _may_wait_itself(rank: Rank, words: Sequence[Observation], evidence: RunEvidence) -> bool:
    """Nobody lost the connection to it, they only waited for it, as it may have for another one
    that left no log here either."""
    if rank.files or any(f.category != "comm.timeout" for f in words):
        return False
    here = sum(bool(reading.rank.files) for reading in evidence.readings)
    return (evidence.facts.world_size or 0) > here + 1


def _was_stopped_for_another(reading: RankReading, evidence: RunEvidence) -> bool:
    """The launcher stopped it, which it does when somebody has failed, and one here just ended.

    Where it is not clear who sent the signal, that one's last word has to be an exception.
    """
    if reading.stopped is None:
        return False
    for node in by_node(evidence.readings).values():
        if all(other is not reading for other in node):
            continue
        here = [other for other in node if other.sender is not None]
        by_launcher = reading.sender in launcher_pids(evidence.facts, here)
        return any(
            by_launcher or names_exception(other.rank)
            for other in node
            if other is not reading and _just_ended(other)
        )
    return False


def _just_ended(reading: RankReading) -> bool:
    """Whether a rank was not stopped, lost nobody and says nothing of an end."""
    rank = reading.rank
    if reading.stopped or reading.ended or not reading.quiet or rank.role != "worker":
        return False
    return bool(rank.lines) and not (rank.exit and (rank.exit.stopped or rank.exit.code == 0))


def _left_over(evidence: RunEvidence) -> list[Suspect]:
    """The rank left by elimination: all others lost a peer that nobody names.

    Who is named and complains itself only passes on what it waits for, as in a ring.
    """
    readings, accusations = evidence.readings, evidence.accusations
    complaining = {a.accuser.rank.key for a in accusations}
    complaining.update(r.rank.key for r in readings if r.waited_in)
    named = {rank.key for a in accusations for rank in a.accused}
    if not accusations or not named <= complaining:
        return []
    addresses = [a.address for a in accusations if a.address and not a.accused]
    waited = any(a.found.category == "comm.timeout" for a in accusations)
    quiet = [r for r in readings if _may_be_missing(r, addresses, waited)]
    if evidence.facts.mode.startswith("ps"):  # where trainers do not need each other
        quiet = [r for r in quiet if not evidence.says_finished(r)]
    least = min((r.position for r in quiet), default=None)
    quiet = [r for r in quiet if r.position == least]
    if len(quiet) != 1 or len(readings) < 2:
        return []
    return [_of_accused(quiet[0], [a.found for a in accusations], wording.ONLY_QUIET_ONE)]


def _may_be_missing(reading: RankReading, addresses: Sequence[str], waited: bool) -> bool:
    """Whether a rank complains of nobody, and nothing speaks against that the others miss it."""
    rank = reading.rank
    if not reading.quiet or reading.waited_in or not rank.files or rank.local_rank is None:
        return False
    if rank.exit and rank.exit.stopped and not waited:
        return False  # who was alive when the launcher stopped it has broken no connection
    return all(_may_be_at(address, rank.host) for address in addresses)


def _may_be_at(address: str, host: str | None) -> bool:
    """Where no file says on which host a rank ran, its loopback is that of the others here."""
    return host in address if host else address.lstrip("[").startswith(("127.", "::1", "localhost"))


def _of_accused(
    reading: RankReading,
    words: list[Observation],
    missed: Text,
    accusers: tuple[int, ...] = (),
) -> Suspect:
    """What became of a rank that others miss; `words` are theirs."""
    rank, ending = reading.rank, reading.rank.exit
    known: More = {"accusers": accusers, "position": reading.position}
    if reading.inner:  # not silent: it says what broke it, though not why that happened
        return by_hint(reading, words, missed, accusers=accusers)
    if ending and not ending.stopped and (ending.code, ending.signal) != (None, None):
        return by_exit(rank, words, missed, **known)
    if reading.stopped is not None:
        return _of_stopped(reading, reading.stopped, words, missed, known)
    if not rank.files:
        category, why = words[0].category, wording.LOG_MISSING
        return silent_suspect(LOST_LOG, category, rank, words, missed, why, **known)
    if all(f.category == "comm.timeout" for f in words):
        # nobody saw a connection break: it may be gone, or just not come
        why = wording.SILENT
        return silent_suspect(HANG, "comm.timeout", rank, words, missed, why, **known)
    category = "ps.server" if rank.role == "server" else "unknown"
    return without_words(SILENT, category, rank, words, missed, wording.SILENT, **known)


def _of_stopped(
    reading: RankReading, stop: Observation, words: list[Observation], missed: Text, known: More
) -> Suspect:
    """What follows where others miss a rank that was stopped."""
    rank, ending = reading.rank, reading.rank.exit
    if any(f.category == "comm.timeout" for f in words):
        # it was still there when the others gave up waiting for it
        return silent_suspect(HANG, "comm.timeout", rank, [*words, stop], missed, **known)
    if ending and ending.stopped and ending.order:  # its parent saw others fail before
        why = wording.STOPPED_AFTER_OTHERS
        return silent_suspect(SILENT, "unknown", rank, words, missed, why, **known)
    support, why = [stop, *words], wording.STOPPED_BEFORE_OTHERS
    return silent_suspect(OUTSIDER, "external.kill", rank, support, missed, why, **known)


RULES = (
    Rule(
        "server-lost-unseen",
        Text(
            "a trainer lost its server although the launcher ended with 0",
            "启动器以 0 退出，但有 trainer 失去了 server",
        ),
        doubtful_success,
        servers_lost,
        {
            "trainer-failed-unseen": Text(
                "a cause of its own says more than that a server was gone",
                "自身的原因比“server 不见了”更能说明问题",
            )
        },
    ),
    Rule(
        "lost-peer",
        Text("other ranks say that they lost it", "其他 rank 报告失去了它"),
        complaints,
        lost_peers,
        {
            "stopped-with-peers": Text(
                "ranks that a launcher stopped, or died with, are missed for that",
                "被启动器停止或随之退出的 rank，因此才被其他 rank 找不到",
            ),
            "stood-still": Text(
                "stacks show who did not come; whose connection broke may have given up waiting",
                "调用栈显示谁没有到达；断开连接的可能只是放弃等待的 rank",
            ),
        },
    ),
    Rule(
        "unnamed-peer",
        Text("ranks lost a peer that nobody names", "有 rank 失去了对端，但没有指明是谁"),
        complaints,
        unnamed_peer,
        {
            "kernel-fault": Text(
                "a broken machine is a reason for a lost peer", "机器故障是失去对端的原因"
            )
        },
    ),
)
