"""Suspects seen by comparison: who was not where the others waited, and who never met."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Event, Progress, Rank, RunFacts, Text
from pdtriage.support.lazy_regex import late
from pdtriage.verdict import wording
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.suspects import Suspect, suspect_of

RUNNING_STATES = frozenset({"launch.watching-pod", "launch.proc"})
LOOKED_AT = frozenset({"device.smi-busy", "comm.stack-dump"})
"""What people paste below the log of a job that does not move."""
_IPS = late(r"[\w.:-]+")
_BAR = late(r"\d{1,3}% {0,3}(?:\|[^|]{0,300}\| *)?(?P<step>\d{1,12})/(?P<total>\d{1,12}) \[[\d:]+<")
_EPOCH = late(r"\b[Ee]poch: ?\[ ?(?P<step>\d{1,9})/ ?(?P<total>\d{1,9}) ?\]")


def fell_behind(readings: Sequence[RankReading]) -> list[Suspect]:
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
    suspect = suspect_of("verdict.hang", "hang", slow.rank, support)
    if operation:
        suspect.why.append(wording.not_waiting(operation))
    suspect.why.append(wording.behind(slow.position[1], least[1]))
    suspect.position = slow.position
    return [suspect]


def never_joined(readings: Sequence[RankReading]) -> list[Suspect]:
    """Before the first step: all but one were stopped while they waited for everybody to meet."""
    spoken = [r for r in readings if r.rank.files]
    waiting = [r for r in spoken if r.waited_in]
    others = [r for r in spoken if not r.waited_in and r.quiet]
    if not waiting or len(others) != 1 or any(r.rank.progress for r in spoken):
        return []
    late = others[0]
    support = [r.stopped for r in waiting if r.stopped][:2]
    suspect = suspect_of("verdict.never-joined", "comm.init", late.rank, support)
    suspect.why.append(wording.not_waiting(waiting[0].waited_in or ""))
    return [suspect]


def odd_one_out(readings: Sequence[RankReading]) -> list[Suspect]:
    """All gave up waiting for each other, and one of them in another place than the rest."""
    waited = [r for r in readings if r.symptoms and r.rank.files]
    places: dict[str, list[RankReading]] = {}
    for reading in waited:
        frame = reading.symptoms[-1].event.frame
        place = f"{frame.file}:{frame.line}" if frame else ""
        places.setdefault(place, []).append(reading)
    alone = [group[0] for group in places.values() if len(group) == 1]
    if len(places) != 2 or len(alone) != 1 or len(waited) < 3:
        return []
    odd = alone[0]
    suspect = suspect_of("verdict.odd-one-out", "config.rank", odd.rank, [odd.symptoms[-1]])
    suspect.why.append(wording.elsewhere())
    suspect.position = odd.position
    return [suspect]


def out_of_step(readings: Sequence[RankReading]) -> list[Suspect]:
    """Both of two gave up, at their time limit or when the other one left; not in one place.

    Who had only been slow would have come to the same place in the end.
    """
    waited = [r for r in readings if r.symptoms and r.rank.files and not r.inner]
    if len(waited) != 2 or len(readings) != 2:
        return []
    last = [r.symptoms[-1] for r in waited]
    frames = [f.event.frame for f in last]
    places = {(frame.file, frame.line) if frame else None for frame in frames}
    timed_out = [f for f in last if f.category == "comm.timeout"]
    if len(places) != 2 or not timed_out or any(f.event.frame is None for f in timed_out):
        return []
    suspects = []
    for reading, found in zip(waited, last, strict=True):
        suspect = suspect_of("verdict.out-of-step", "config.rank", reading.rank, [found])
        suspect.why.append(wording.in_two_places())
        suspect.position, suspect.last_words = reading.position, ()
        suspects.append(suspect)
    suspects[0].support.extend(last[1:])
    return suspects


def stuck(readings: Sequence[RankReading], machine: Sequence[Observation]) -> list[Suspect]:
    """Every log stops without an error and without an end.

    Before the first step that is enough for a guess; later only with a picture of busy cards or a
    stack, which people take when a job does not move.
    """
    spoken = [r for r in readings if r.rank.lines]
    if not spoken or any(r.ended or r.stopped or not r.quiet for r in spoken):
        return []
    if all(r.says_finished for r in spoken):
        return []
    seen = [*machine, *(f for r in spoken for f in r.context)]
    busy = [f for f in seen if f.event.signature in LOOKED_AT]
    if not busy and any(r.rank.progress for r in spoken):
        return []
    if not busy and not any(r.rank.events or r.rank.last_time is not None for r in spoken):
        return []  # a text that nothing is known of
    suspect = suspect_of("verdict.stuck", "hang", None, busy[:1])
    started = any(r.rank.progress for r in spoken)
    drawn = any(f.event.signature == "device.smi-busy" for f in busy)
    moving = wording.stopped_moving() if drawn else wording.looked_at()
    suspect.why.append(moving if started else wording.stuck_at_start())
    suspect.last_words = tuple(r.rank for r in spoken[:2])
    if len(spoken) == 1:
        suspect.rank, suspect.host = spoken[0].rank, spoken[0].rank.host
    return [suspect]


def stopped_in_midst(
    readings: Sequence[RankReading], launcher: Sequence[Observation]
) -> list[Suspect]:
    """The launcher last said that all run; then nobody says anything more, not even an end."""
    states = [f for f in launcher if f.event.signature in RUNNING_STATES]
    spoken = [r for r in readings if r.rank.lines]
    silent = all(r.quiet and not (r.ended or r.stopped or r.rank.exit) for r in readings)
    if not states or not spoken or not silent or launcher[-1].event.role == "end":
        return []
    if all(r.says_finished for r in spoken):
        return []
    furthest = max(spoken, key=lambda r: r.position)
    suspect = suspect_of("verdict.stuck", "hang", None, [])
    suspect.why.append(wording.hung_or_running())
    suspect.last_words = (furthest.rank,)
    return [suspect]


def cut_short(readings: Sequence[RankReading]) -> list[Suspect]:
    """Every log stops far from the last step it has announced, and nobody says why."""
    spoken = [r for r in readings if r.rank.lines]
    if any(r.ended or r.stopped or r.rank.exit or not r.quiet for r in spoken):
        return []
    counting = [r for r in spoken if r.rank.progress]
    if not counting or not all(_stops_early(r.rank) for r in counting):
        return []
    furthest = max(counting, key=lambda r: r.position)
    suspect = suspect_of("verdict.cut-short", "hang", None, [])
    suspect.why.append(_stops_early(furthest.rank) or wording.hung_or_running())
    suspect.last_words = (furthest.rank,)
    if len(spoken) == 1:
        suspect.rank, suspect.host = furthest.rank, furthest.rank.host
    return [suspect]


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


def same_rank_twice(readings: Sequence[RankReading], facts: RunFacts) -> list[Suspect]:
    """Two processes of one run that both say they are rank N."""
    seen: dict[tuple[str, int], RankReading] = {}
    for reading in readings:
        rank = reading.rank
        if rank.rank is None or not rank.endpoint or not rank.files:
            continue
        other = seen.setdefault((rank.role, rank.rank), reading)
        if other is not reading and other.rank.endpoint != rank.endpoint and facts.run.attempt == 0:
            suspect = _clash(wording.same_rank(rank.rank, other.rank.endpoint or "", rank.endpoint))
            suspect.support = [r.stopped for r in (other, reading) if r.stopped]
            return [suspect]
    return _same_rank_by_their_word(readings, facts)


def _same_rank_by_their_word(readings: Sequence[RankReading], facts: RunFacts) -> list[Suspect]:
    """Logs of two nodes whose processes give themselves one rank, and none made a step."""
    if facts.run.attempt or any(r.rank.progress or r.ended for r in readings):
        return []
    seen: dict[str, RankReading] = {}
    for reading in readings:
        told = [e.fields["self_rank"] for _, e in reading.rank.events if _tells_rank(e)]
        if not told or not reading.rank.files:
            continue
        number = told[0]
        other = seen.setdefault(number, reading)
        mine, theirs = reading.rank.files[0], other.rank.files[0]
        if other is not reading and mine.rpartition("/")[0] != theirs.rpartition("/")[0]:
            suspect = _clash(wording.same_rank(int(number), theirs, mine))
            suspect.last_words = (other.rank, reading.rank)
            return [suspect]
    return []


def _tells_rank(event: Event) -> bool:
    return event.signature.startswith("rank.") and event.fields.get("self_rank", "").isdecimal()


def _clash(why: Text) -> Suspect:
    suspect = suspect_of("verdict.rank-clash", "config.launch", None, [])
    suspect.role = "launcher"
    suspect.why.append(why)
    return suspect


def peers_missing(
    launcher: Sequence[Observation], readings: Sequence[RankReading]
) -> list[Suspect]:
    """The launcher waited for other nodes and never started anything."""
    if any(r.rank.lines and r.rank.local_rank is not None and not r.rank.mixed for r in readings):
        return []  # all nodes have met when the first process starts
    waiting = [f for f in launcher if f.event.signature == "launch.waiting-peer"]
    started = [f for f in launcher if f.event.signature in ("launch.run-pod", "launch.local-start")]
    if not waiting or started:
        return []
    trouble = [f for f in launcher if f.event.role == "symptom"]
    suspect = suspect_of("verdict.peers-missing", "comm.init", None, [*trouble[:2], waiting[0]])
    suspect.role = "launcher"
    suspect.why.append(wording.nothing_started())
    return [suspect]


def nodes_differ(launcher: Sequence[Observation]) -> list[Suspect]:
    """Launchers of one job that wait for different numbers of nodes."""
    told: dict[str, Observation] = {}
    for found in launcher:
        fields = found.event.fields
        if found.event.signature == "launch.job" and fields["status"] == "False":
            told[found.file] = found
    jobs = {found.event.fields["job_id"] for found in told.values()}
    sizes: dict[str, Observation] = {}
    for found in told.values():
        sizes.setdefault(found.event.fields["replicas"], found)
    if len(jobs) != 1 or len(sizes) < 2:
        return []
    suspect = suspect_of("verdict.nodes-differ", "config.launch", None, list(sizes.values()))
    suspect.role = "launcher"
    suspect.why.append(wording.nodes_differ([*sizes]))
    return [suspect]


def ips_in_different_order(launcher: Sequence[Observation]) -> list[Suspect]:
    """Two command lines of one job that list the same hosts in different order."""
    lists: dict[tuple[str, ...], Observation] = {}
    for found in launcher:
        if found.event.signature == "launch.ips-flag":
            lists.setdefault(tuple(_IPS.findall(found.event.fields.get("endpoint", ""))), found)
    for first, one in lists.items():
        for second, other in lists.items():
            if first < second and sorted(first) == sorted(second) and len(first) > 1:
                suspect = suspect_of("verdict.ips-order", "config.rank", None, [one, other])
                suspect.role = "launcher"
                suspect.why.append(wording.ips_differ(",".join(first), ",".join(second)))
                return [suspect]
    return []
