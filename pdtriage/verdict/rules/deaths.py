"""Suspects without words of their own: killed, hung, gone, or known to the launcher only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pdtriage.model import Rank, RunFacts
from pdtriage.support.lazy_regex import late
from pdtriage.verdict import wording
from pdtriage.verdict.accusations import Accusation
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.suspects import Accusers, Suspect, suspect_of

NAMES_FAILED = frozenset(
    {
        "launch.abort",
        "launch.container-failed",
        "launch.spawn-exit",
        "launch.subprocess-code",
    }
)
SIGBUS = 7
CRASH_SIGNALS = frozenset({4, 6, SIGBUS, 8, 11})
_EXCEPTION = late(
    r"^(?:\w{1,60}\.){0,6}(?:[A-Za-z_]\w{0,60}(?:Error|Exception)|Exception)(?::\s*\S|\s*$)"
)


def stopped_by_outsiders(facts: RunFacts, readings: Sequence[RankReading]) -> list[Suspect]:
    """A rank that got SIGTERM from somebody else than all the others of its node did."""
    if all(reading.stopped is None for reading in readings):
        return []
    suspects = []
    for node in by_node(readings).values():
        here = [reading for reading in node if reading.sender is not None]
        launchers = launcher_pids(facts, here)
        for reading in here:
            alone = launchers and reading.sender not in launchers
            if alone and reading.sender not in reading.rank.pids and reading.stopped:
                suspect = suspect_of(
                    "verdict.outsider", "external.kill", reading.rank, [reading.stopped]
                )
                suspect.why.append(wording.outsider(reading.sender))
                suspects.append(suspect)
    return suspects


def others_are_missing(readings: Sequence[RankReading]) -> bool:
    """Ranks of the job that left no log here: by its size, by gaps, by what the logs say."""
    if any(not reading.rank.files for reading in readings):
        return True
    for node in by_node(readings).values():
        numbers = {r.rank.local_rank for r in node if r.rank.local_rank is not None}
        if numbers and max(numbers) >= len(numbers):
            return True
    events = [event for reading in readings for _, event in reading.rank.events]
    sizes = [e.fields.get("world_size", "") for e in events if e.signature.startswith("rank.")]
    if any(size.isdecimal() and int(size) > len(readings) for size in sizes):
        return True
    errors = [event for event in events if event.role in ("cause", "symptom")]
    return len(readings) == 1 and any(event.signature.startswith("comm.") for event in errors)


def ended_before_others(readings: Sequence[RankReading]) -> list[Suspect]:
    """The launcher stopped the others of its node and not this one, whose log just ends."""
    for node in by_node(readings).values():
        stopped = [r.stopped for r in node if r.stopped]
        left = [r for r in node if not r.stopped and r.rank.local_rank is not None]
        if not stopped or len(left) != 1:
            continue
        gone = left[0]
        if not gone.rank.files or not gone.quiet or gone.ended or gone.rank.exit:
            continue
        suspect = suspect_of("verdict.silent", "unknown", gone.rank, stopped[:2])
        suspect.why.append(wording.not_stopped())
        suspect.position = gone.position
        return [suspect]
    return []


def by_node(readings: Iterable[RankReading]) -> dict[int | str, list[RankReading]]:
    """What one launcher started together: by its number, else by the folder of the logs."""
    nodes: dict[int | str, list[RankReading]] = {}
    for reading in readings:
        rank = reading.rank
        node: int | str | None = rank.node
        if node is None:
            node = rank.files[0].rpartition("/")[0] if rank.files else ""
        nodes.setdefault(node, []).append(reading)
    return nodes


def launcher_pids(facts: RunFacts, readings: Sequence[RankReading]) -> frozenset[int]:
    """Pids that are the launcher's: recorded, or the one sender two or more ranks share."""
    if facts.launcher_pids:
        return facts.launcher_pids
    senders = Counter(r.sender for r in readings if r.sender is not None)
    shared = [pid for pid, count in senders.most_common() if count > 1]
    return frozenset(shared[:1])


def first_to_die(readings: Sequence[RankReading]) -> list[Suspect]:
    """The first death a parent saw, when that process left no word of its own.

    Every node has a parent of its own: where the first to die on one complains of others, the
    first on another node may be the one.
    """
    ordered = [r for r in readings if r.rank.exit and r.rank.exit.order is not None]
    firsts = [_first_death(node, readings) for node in by_node(ordered).values()]
    quiet = [reading for reading in firsts if reading is not None and reading.quiet]
    if not quiet:
        return []
    first = min(quiet, key=_time_of_death)
    suspect = by_exit(first.rank)
    suspect.why.append(wording.died_first() if suspect.order == 0 else wording.failed_first())
    suspect.first_to_fail = True
    suspect.position = first.position
    return [suspect]


def _first_death(here: list[RankReading], readings: Sequence[RankReading]) -> RankReading | None:
    here.sort(key=lambda r: r.rank.exit.order if r.rank.exit and r.rank.exit.order else 0)
    # A trainer of servers may be ready before the others.
    serving = any(r.rank.role == "server" for r in readings)
    failed = [reading for reading in here if _may_have_failed(reading, readings, serving)]
    # An end whose status nobody saw says less than an error code without a word.
    told = [reading for reading in failed if _has_status(reading) and reading.quiet]
    return next((r for r in failed if _has_status(r) or not told), None)


def _may_have_failed(reading: RankReading, readings: Sequence[RankReading], serving: bool) -> bool:
    ending = reading.rank.exit
    if ending is None or ending.stopped:
        return False
    if ending.code != 0:
        return True
    finished = serving and reading.rank.role == "worker"
    return not finished and _is_missed(reading, readings)


def _has_status(reading: RankReading) -> bool:
    ending = reading.rank.exit
    return ending is not None and (ending.code, ending.signal) != (None, None)


def _time_of_death(reading: RankReading) -> tuple[float, tuple[str, int, int, str]]:
    ending = reading.rank.exit
    time = ending.time if ending and ending.time is not None else float("inf")
    return time, reading.rank.key


def accused_and_silent(
    readings: Sequence[RankReading], accusations: Sequence[Accusation], accusers: Accusers
) -> list[Suspect]:
    """Where the arrows end: accused by name, accusing nobody, no error of its own."""
    accusing = {a.accuser.rank.key for a in accusations}
    spoken: dict[tuple[str, int, int, str], list[Observation]] = {}
    for accusation in accusations:
        for accused in accusation.accused[:1]:
            spoken.setdefault(accused.key, []).append(accusation.found)
    known: dict[tuple[str, int, int, str], RankReading] = {}
    for reading in readings:
        known.setdefault(reading.rank.key, reading)
    suspects = []
    for key, ranks in accusers.items():
        reading = known[key]
        timed_out = all(f.category == "comm.timeout" for f in spoken[key])
        if key in accusing or reading.causes or (timed_out and reading.waited_in):
            continue  # who was stopped while it waited as well is not the one they waited for
        suspect = _of_accused(reading, spoken[key])
        suspect.accusers = ranks
        suspect.why.insert(0, wording.accused_by(ranks))
        suspect.position = reading.position
        suspects.append(suspect)
    return sorted(suspects, key=lambda s: (-len(s.accusers), s.order, s.position))


def left_over(readings: Sequence[RankReading], accusations: Sequence[Accusation]) -> list[Suspect]:
    """By elimination: everybody lost a peer nobody names, and one rank did not.

    Who is named and complains itself only passes on what it waits for, as in a ring.
    """
    complaining = {a.accuser.rank.key for a in accusations}
    complaining.update(r.rank.key for r in readings if r.waited_in)
    named = {rank.key for a in accusations for rank in a.accused}
    if not accusations or not named <= complaining:
        return []
    addresses = [a.address for a in accusations if a.address and not a.accused]
    waited = any(a.found.category == "comm.timeout" for a in accusations)
    quiet = [
        r
        for r in readings
        if r.quiet
        and not r.waited_in
        # Who was alive when the launcher stopped it has broken no connection.
        and (waited or not (r.rank.exit and r.rank.exit.stopped))
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
    suspect.why.insert(0, wording.only_quiet_one())
    suspect.position = quiet[0].position
    return [suspect]


def _of_accused(reading: RankReading, spoken: list[Observation]) -> Suspect:
    rank = reading.rank
    ending = rank.exit
    if reading.inner:  # not silent: it says what broke it, though not why that happened
        suspect = by_hint(reading)
        suspect.support.extend(spoken)
        return suspect
    if ending and not ending.stopped and (ending.code, ending.signal) != (None, None):
        suspect = by_exit(rank)
        suspect.support = spoken
        return suspect
    if reading.stopped is not None:
        if not any(f.category == "comm.timeout" for f in spoken):
            suspect = suspect_of("verdict.outsider", "external.kill", rank, [reading.stopped])
            suspect.support.extend(spoken)
            suspect.why.append(wording.stopped_before_others())
            return suspect
        # it was still there when the others gave up waiting for it
        return suspect_of("verdict.hang", "comm.timeout", rank, [*spoken, reading.stopped])
    if not rank.files:
        suspect = suspect_of("verdict.lost-log", spoken[0].category, rank, spoken)
        suspect.why.append(wording.log_missing())
        return suspect
    if all(f.category == "comm.timeout" for f in spoken):
        # nobody saw a connection break: it may be gone, or just not come
        suspect = suspect_of("verdict.hang", "comm.timeout", rank, spoken)
        suspect.why.append(wording.silent())
        return suspect
    category = "ps.server" if rank.role == "server" else "unknown"
    suspect = suspect_of("verdict.silent", category, rank, spoken)
    suspect.why.append(wording.silent())
    return suspect


def by_hint(reading: RankReading) -> Suspect:
    """A rank that says what broke it and not why: that came earlier, and is not in its log."""
    first, *others = reading.inner
    suspect = suspect_of(first.event.signature, first.category, reading.rank, others[:2])
    suspect.found, suspect.position = first, reading.position
    suspect.fields = dict(first.event.fields)
    return suspect


def by_exit(rank: Rank) -> Suspect:
    """A process judged by its exit status alone."""
    ending = rank.exit
    assert ending is not None
    if ending.signal is not None:
        suspect = suspect_of(*_ended_by(ending.signal), rank, [])
        suspect.why.append(wording.ended_by_signal(ending.signal))
        suspect.fields["signal"] = wording.signal_name(ending.signal)
        return suspect
    if ending.code == 0:
        left = rank.role == "server"
        suspect = suspect_of(
            "verdict.server-left" if left else "verdict.early-exit",
            "ps.server" if left else "comm.peer",
            rank,
            [],
        )
        suspect.why.append(wording.ended_early())
        return suspect
    suspect = suspect_of("verdict.exit-code", "unknown", rank, [])
    if ending.code is not None:
        suspect.why.append(wording.ended_with_code(ending.code))
        suspect.fields["exit_code"] = str(ending.code)
    return suspect


def _ended_by(signal: int) -> tuple[str, str]:
    """Signature and category of an end by this signal."""
    if signal == SIGBUS:
        return "verdict.bus-error", "memory.shm"
    if signal in CRASH_SIGNALS:
        return "verdict.crash", "code.crash"
    return "verdict.killed", "external.kill"


def last_word_is_an_exception(readings: Sequence[RankReading]) -> list[Suspect]:
    """Who copied a log may have left the traceback behind and kept the line below it."""
    suspects = []
    for reading in readings:
        rank = reading.rank
        if not reading.quiet or reading.stopped or reading.ended or not rank.tail:
            continue
        if _EXCEPTION.match(rank.tail[-1]):
            suspect = suspect_of("verdict.bare-exception", "code.python", rank, [])
            suspect.why.append(wording.traceback_missing())
            suspect.position = reading.position
            suspects.append(suspect)
    return suspects


def named_by_console(
    readings: Sequence[RankReading], launcher: Sequence[Observation]
) -> list[Suspect]:
    """Ranks that only the launcher's console says something about."""
    said = [f for f in launcher if f.event.signature in NAMES_FAILED]
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
            suspect = suspect_of("verdict.lost-log", "unknown", reading.rank, said[:1])
        suspect.why.append(wording.named_by_launcher())
        if not reading.rank.files:
            suspect.why.append(wording.log_missing())
        suspect.position = reading.position
        suspects.append(suspect)
    return suspects


def _is_missed(reading: RankReading, readings: Sequence[RankReading]) -> bool:
    """It left with 0 while others, ahead of it or equal, went on and complained; trainers without
    a server need not say a word until somebody stops them."""
    if reading.rank.role == "server":
        trainers = [r.rank.exit for r in readings if r.rank.role == "worker"]
        if any(ending is not None and ending.stopped for ending in trainers):
            return True
    return any(r.symptoms for r in readings if r is not reading)
