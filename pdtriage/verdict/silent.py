"""Suspects without words of their own: killed, hung, gone, or known to the launcher only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pdtriage.knowledge import Signature
from pdtriage.model import Rank, RunFacts
from pdtriage.verdict import words
from pdtriage.verdict.accusations import Accusation
from pdtriage.verdict.reading import Found, Reading
from pdtriage.verdict.suspects import Suspect, accusers_of

CRASH_SIGNALS = frozenset({4, 6, 7, 8, 11})
_IPS = re.compile(r"[\w.:-]+")


def killed_by_kernel(readings: Sequence[Reading], kernel: list[Found]) -> list[Suspect]:
    """Ranks whose pid the kernel names as killed for memory."""
    suspects = []
    for reading in readings:
        pids = set(map(str, reading.rank.pids))
        named = [
            found
            for found in kernel
            if found.category == "memory.host" and found.event.fields.get("pid") in pids
        ]
        if named:
            suspect = _suspect("verdict.oom-kill", "memory.host", reading.rank, named)
            suspect.why.append(words.kernel_says())
            suspects.append(suspect)
    return suspects


def stopped_by_outsiders(facts: RunFacts, readings: Sequence[Reading]) -> list[Suspect]:
    """A rank that got SIGTERM from somebody else than all the others of its node did."""
    suspects = []
    for node in {reading.rank.node for reading in readings}:
        here = [r for r in readings if r.rank.node == node and r.sender is not None]
        launchers = launcher_pids(facts, here)
        for reading in here:
            alone = launchers and reading.sender not in launchers
            if alone and reading.sender not in reading.rank.pids and reading.stopped:
                suspect = _suspect(
                    "verdict.outsider", "external.kill", reading.rank, [reading.stopped]
                )
                suspect.why.append(words.outsider(reading.sender))
                suspects.append(suspect)
    return suspects


def launcher_pids(facts: RunFacts, readings: Sequence[Reading]) -> frozenset[int]:
    """Pids that are the launcher's: recorded, or the one sender two or more ranks share."""
    if facts.launcher_pids:
        return facts.launcher_pids
    senders = Counter(r.sender for r in readings if r.sender is not None)
    shared = [pid for pid, count in senders.most_common() if count > 1]
    return frozenset(shared[:1])


def first_to_die(readings: Sequence[Reading]) -> list[Suspect]:
    """The first death the parent saw, when that process left no word of its own."""
    ordered = [r for r in readings if r.rank.exit and r.rank.exit.order is not None]
    ordered.sort(key=lambda r: r.rank.exit.order if r.rank.exit and r.rank.exit.order else 0)
    for reading in ordered:
        ending = reading.rank.exit
        if ending is None or ending.stopped:
            continue
        if ending.code == 0 and not _is_missed(reading, readings):
            continue
        if reading.quiet:
            suspect = by_exit(reading.rank)
            suspect.why.append(words.died_first())
            suspect.position = reading.position
            return [suspect]
        return []
    return []


def accused_and_silent(
    readings: Sequence[Reading], accusations: Sequence[Accusation]
) -> list[Suspect]:
    """Where the arrows end: accused by name, accusing nobody, no error of its own."""
    accusers = accusers_of(accusations)
    accusing = {a.accuser.rank.key for a in accusations}
    suspects = []
    for key, ranks in accusers.items():
        if key in accusing:
            continue
        reading = next((r for r in readings if r.rank.key == key), None)
        if reading is None or reading.causes:
            continue
        spoken = [a.found for a in accusations if a.accused and a.accused[0].key == key]
        suspect = _of_accused(reading, spoken)
        suspect.accusers = ranks
        suspect.why.insert(0, words.accused_by(ranks))
        suspect.position = reading.position
        suspects.append(suspect)
    return sorted(suspects, key=lambda s: (-len(s.accusers), s.order, s.position))


def left_over(readings: Sequence[Reading], accusations: Sequence[Accusation]) -> list[Suspect]:
    """By elimination: everybody lost a peer nobody names, and one rank did not."""
    if any(a.accused for a in accusations) or not accusations:
        return []
    addresses = [a.address for a in accusations if a.address]
    quiet = [
        r
        for r in readings
        if r.quiet
        and not r.waited_in
        and r.rank.files
        and r.rank.local_rank is not None
        and all(r.rank.host and r.rank.host in address for address in addresses)
    ]
    if len(quiet) > 1:
        least = min(r.position for r in quiet)
        quiet = [r for r in quiet if r.position == least]
    if len(quiet) != 1 or len(readings) < 2:
        return []
    suspect = _of_accused(quiet[0], [a.found for a in accusations])
    suspect.why.insert(0, words.only_quiet_one())
    suspect.position = quiet[0].position
    return [suspect]


def odd_one_out(readings: Sequence[Reading]) -> list[Suspect]:
    """All gave up waiting for each other, and one of them in another place than the rest."""
    waited = [r for r in readings if r.symptoms and r.rank.files]
    places: dict[str, list[Reading]] = {}
    for reading in waited:
        frame = reading.symptoms[-1].event.frame
        place = f"{frame.file}:{frame.line}" if frame else ""
        places.setdefault(place, []).append(reading)
    alone = [group[0] for group in places.values() if len(group) == 1]
    if len(places) != 2 or len(alone) != 1 or len(waited) < 3:
        return []
    odd = alone[0]
    suspect = _suspect("verdict.odd-one-out", "config.rank", odd.rank, [odd.symptoms[-1]])
    suspect.why.append(words.elsewhere())
    suspect.position = odd.position
    return [suspect]


def _of_accused(reading: Reading, spoken: list[Found]) -> Suspect:
    rank = reading.rank
    ending = rank.exit
    if ending and not ending.stopped and (ending.code, ending.signal) != (None, None):
        suspect = by_exit(rank)
        suspect.support = spoken
        return suspect
    if reading.stopped is not None:
        if not any(f.category == "comm.timeout" for f in spoken):
            suspect = _suspect("verdict.outsider", "external.kill", rank, [reading.stopped])
            suspect.support.extend(spoken)
            suspect.why.append(words.stopped_before_others())
            return suspect
        # it was still there when the others gave up waiting for it
        return _suspect("verdict.hang", "comm.timeout", rank, [*spoken, reading.stopped])
    if not rank.files:
        suspect = _suspect("verdict.lost-log", spoken[0].category, rank, spoken)
        suspect.why.append(words.log_missing())
        return suspect
    suspect = _suspect("verdict.silent", "unknown", rank, spoken)
    suspect.why.append(words.silent())
    return suspect


def by_exit(rank: Rank) -> Suspect:
    """A process judged by its exit status alone."""
    ending = rank.exit
    assert ending is not None
    if ending.signal is not None:
        crash = ending.signal in CRASH_SIGNALS
        suspect = _suspect(
            "verdict.crash" if crash else "verdict.killed",
            "code.crash" if crash else "external.kill",
            rank,
            [],
        )
        suspect.why.append(words.ended_by_signal(ending.signal))
        suspect.fields["signal"] = words.signal_name(ending.signal)
        return suspect
    if ending.code == 0:
        suspect = _suspect("verdict.early-exit", "comm.peer", rank, [])
        suspect.why.append(words.ended_early())
        return suspect
    suspect = _suspect("verdict.exit-code", "unknown", rank, [])
    if ending.code is not None:
        suspect.why.append(words.ended_with_code(ending.code))
        suspect.fields["exit_code"] = str(ending.code)
    return suspect


def named_by_console(readings: Sequence[Reading], launcher: Sequence[Found]) -> list[Suspect]:
    """Ranks that only the launcher's console says something about."""
    said = [f for f in launcher if f.event.signature in ("launch.abort", "launch.container-failed")]
    suspects = []
    for reading in readings:
        ending = reading.rank.exit
        if ending is None or ending.seen_by != "console" or not reading.quiet:
            continue
        if reading.stopped is not None and ending.code is None and ending.signal is None:
            continue
        if ending.signal is not None or ending.code:
            suspect = by_exit(reading.rank)
            suspect.support = said[:1]
        else:
            suspect = _suspect("verdict.lost-log", "unknown", reading.rank, said[:1])
        suspect.why.append(words.named_by_launcher())
        if not reading.rank.files:
            suspect.why.append(words.log_missing())
        suspect.position = reading.position
        suspects.append(suspect)
    return suspects


def fell_behind(readings: Sequence[Reading]) -> list[Suspect]:
    """The rank that was not in the collective the others were stopped in."""
    waiting = [r for r in readings if r.waited_in or r.symptoms]
    others = [r for r in readings if not (r.waited_in or r.symptoms) and r.rank.lines]
    if not waiting or len(others) != 1:
        return []
    slow = others[0]
    least = min(r.position for r in waiting)
    if slow.position >= least or slow.position[1] < 0:
        return []
    operation = next((r.waited_in for r in waiting if r.waited_in), None)
    support = [slow.stopped] if slow.stopped else []
    suspect = _suspect("verdict.hang", "hang", slow.rank, support)
    if operation:
        suspect.why.append(words.not_waiting(operation))
    suspect.why.append(words.behind(slow.position[1], least[1]))
    suspect.position = slow.position
    return [suspect]


def never_joined(readings: Sequence[Reading]) -> list[Suspect]:
    """Before the first step: all but one were stopped while they waited for everybody to meet."""
    spoken = [r for r in readings if r.rank.files]
    waiting = [r for r in spoken if r.waited_in]
    others = [r for r in spoken if not r.waited_in and r.quiet]
    if not waiting or len(others) != 1 or any(r.rank.progress for r in spoken):
        return []
    late = others[0]
    support = [r.stopped for r in waiting if r.stopped][:2]
    suspect = _suspect("verdict.never-joined", "comm.init", late.rank, support)
    suspect.why.append(words.not_waiting(waiting[0].waited_in or ""))
    return [suspect]


def same_rank_twice(readings: Sequence[Reading], facts: RunFacts) -> list[Suspect]:
    """Two processes of one run that both say they are rank N."""
    seen: dict[tuple[str, int], Reading] = {}
    for reading in readings:
        rank = reading.rank
        if rank.rank is None or not rank.endpoint or not rank.files:
            continue
        other = seen.setdefault((rank.role, rank.rank), reading)
        if other is not reading and other.rank.endpoint != rank.endpoint and facts.run.attempt == 0:
            suspect = _suspect("verdict.rank-clash", "config.launch", None, [])
            suspect.role = "launcher"
            suspect.support = [r.stopped for r in (other, reading) if r.stopped]
            suspect.why.append(words.same_rank(rank.rank, other.rank.endpoint or "", rank.endpoint))
            return [suspect]
    return []


def peers_missing(launcher: Sequence[Found]) -> list[Suspect]:
    """The launcher waited for other nodes and never started anything."""
    waiting = [f for f in launcher if f.event.signature == "launch.waiting-peer"]
    started = [f for f in launcher if f.event.signature in ("launch.run-pod", "launch.local-start")]
    if not waiting or started:
        return []
    trouble = [f for f in launcher if f.event.role == "symptom"]
    suspect = _suspect("verdict.peers-missing", "comm.init", None, [*trouble[:2], waiting[0]])
    suspect.role = "launcher"
    suspect.why.append(words.nothing_started())
    return [suspect]


def stuck_at_start(
    readings: Sequence[Reading], signatures: Mapping[str, Signature]
) -> list[Suspect]:
    """Every log stops in initialisation: no step, no error, no end."""
    spoken = [r for r in readings if r.rank.lines]
    if not spoken or any(r.rank.progress or r.ended or r.stopped or not r.quiet for r in spoken):
        return []
    banners = []
    for reading in spoken:
        last = reading.rank.events[-1] if reading.rank.events else None
        is_banner = last is not None and last[1].signature.startswith("device.banner")
        if last is None or not is_banner or last[1].text not in reading.rank.tail[-2:]:
            return []
        banners.append(reading)
    last_words = [
        Found(
            r.rank.events[-1][0], r.rank.events[-1][1], signatures[r.rank.events[-1][1].signature]
        )
        for r in banners
    ]
    suspect = _suspect("verdict.stuck", "hang", None, last_words[:2])
    suspect.why.append(words.stuck_at_start())
    if len(banners) == 1:
        suspect.rank, suspect.host = banners[0].rank, banners[0].rank.host
    return [suspect]


def ips_in_different_order(launcher: Sequence[Found]) -> list[Suspect]:
    """Two command lines of one job that list the same hosts in different order."""
    lists: dict[tuple[str, ...], Found] = {}
    for found in launcher:
        if found.event.signature == "launch.ips-flag":
            lists.setdefault(tuple(_IPS.findall(found.event.fields.get("endpoint", ""))), found)
    for first, one in lists.items():
        for second, other in lists.items():
            if first < second and sorted(first) == sorted(second) and len(first) > 1:
                suspect = _suspect("verdict.ips-order", "config.rank", None, [one, other])
                suspect.role = "launcher"
                suspect.why.append(words.ips_differ(",".join(first), ",".join(second)))
                return [suspect]
    return []


def _is_missed(reading: Reading, readings: Sequence[Reading]) -> bool:
    """It left with 0 while others, ahead of it or equal, went on and complained."""
    return any(r.symptoms for r in readings if r is not reading)


def _suspect(signature: str, category: str, rank: Rank | None, support: list[Found]) -> Suspect:
    return Suspect(
        signature=signature,
        category=category,
        rank=rank,
        support=support,
        role=rank.role if rank else "worker",
        host=rank.host if rank else None,
    )
