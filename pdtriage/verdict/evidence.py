"""What is known of one run, put side by side for the rules that look for the culprit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from pdtriage.knowledge import Knowledge
from pdtriage.model import Event, Rank, RunFacts
from pdtriage.verdict.accusations import accusations_in, accusers_of
from pdtriage.verdict.good_ends import finished_together, says_finished, servers_were_ended
from pdtriage.verdict.life import (
    is_of_a_thread_aside,
    is_outlived_by_others,
    was_caught,
    was_caught_unclear,
)
from pdtriage.verdict.rank_reading import (
    Observation,
    RankReading,
    read_rank,
    without_outlived,
)

MOST_ASKED = 8
"""Ranks whose steps are looked at for signs that another one lived on."""


class RunEvidence:
    """Everything there is to know of one run."""

    def __init__(self, facts: RunFacts, knowledge: Knowledge) -> None:
        self.facts = facts
        self.signatures = knowledge.signatures
        self._finishes = knowledge.finishes
        self._remainders = knowledge.remainders
        self._unfinished = knowledge.unfinished
        self.readings = _without_what_others_outlived(
            [read_rank(rank, knowledge) for rank in facts.ranks], facts
        )
        self.accusations = accusations_in(self.readings)
        self.accusers = accusers_of(self.accusations)
        self.launcher = _observations(facts.launcher, knowledge)
        self.kernel = _observations(facts.kernel, knowledge)
        self.cluster = _observations(facts.cluster, knowledge)
        """What Kubernetes says of the pods."""

    @property
    def is_over(self) -> bool:
        """Whether nothing says that the job still runs."""
        return not self.facts.running and self.facts.ended_by_cluster != "running"

    @property
    def interrupted(self) -> bool:
        return any(f.says("launcher-stopped") for f in self.launcher)

    @property
    def says_failed(self) -> list[Observation]:
        return [f for f in self.launcher if f.says("failed") or f.is_bad_end]

    @property
    def is_one_process(self) -> bool:
        """Whether the launcher, or what it set, says that the job is one process."""
        started = {f.event.fields.get("replicas", "") for f in self.launcher} - {""}
        return self.facts.world_size == 1 and started <= {"1"}

    @cached_property
    def named(self) -> tuple[int, ...]:
        """The ranks that the launcher found dead first, by its own word."""
        lists = [f.event.fields.get("ranks", "") for f in self.launcher if f.says("lists-failed")]
        listed = {int(number) for ranks in lists for number in re.findall(r"\d+", ranks)}
        if listed:
            return tuple(sorted(listed))
        culprits = [
            f.event.fields.get("rank", "") for f in self.launcher if f.says("names-culprit")
        ]
        return tuple([int(rank) for rank in culprits if rank.isdecimal()][:1])

    @cached_property
    def went_well(self) -> bool:
        """The run ended, and well: by the cluster, the record, the launcher, or all its ranks."""
        for ended in (self.facts.ended_by_cluster, self.facts.ended_by_record):
            if ended is not None:
                return ended == "completed"
        if self.says_failed:  # "Local processes completed" is printed after ABORT!!! too
            return False
        if any(f.says("completed") for f in self.launcher):
            return True
        return self._all_ended_well()

    @cached_property
    def is_broken_off(self) -> bool:
        """Whether a log lacks its end, and nobody saw that of the run: there may be another one."""
        facts = self.facts
        if facts.ended_by_record or facts.ended_by_cluster or self.says_failed:
            return False
        ends = ["\n".join(_last_lines(r.rank)) for r in self.readings if not r.rank.mixed]
        return any(form.search(end) for end in ends for form in self._unfinished)

    @cached_property
    def ended_badly(self) -> bool:
        """Somebody saw it: the record, the cluster, the launcher, a parent, or who lost a peer."""
        facts = self.facts
        ended = (facts.ended_by_record, facts.ended_by_cluster)
        if any(end in ("failed", "launcher-killed", "interrupted") for end in ended):
            return True
        if self.says_failed or self.accusations or any(f.event.category for f in self.kernel):
            return True
        if any(found.event.role == "cause" for found in (*self.launcher, *self.cluster)):
            return True
        exits = [reading.rank.exit for reading in self.readings if reading.rank.exit]
        if any(ending.code or ending.signal for ending in exits):
            return True
        return any(r.stopped or r.inner or _was_inspected(r) for r in self.readings)

    def _all_ended_well(self) -> bool:
        spoken = [r for r in self.readings if r.rank.lines]
        doubtful = [r for r in spoken if not r.ended_well]
        if not spoken or not doubtful:
            return bool(spoken)
        if self.interrupted:
            return False
        by_servers = self.facts.mode in ("ps", "ps-heter") and servers_were_ended(self.readings)
        finished = by_servers or finished_together(doubtful, self._finishes, self._remainders)
        return finished and not self.others_are_missing

    def says_finished(self, reading: RankReading) -> bool:
        """Whether a rank finished by its words, deeds or steps, and nothing speaks against it."""
        return says_finished(reading, self._finishes, self._remainders)

    @property
    def others_are_missing(self) -> bool:
        """Ranks of the job that left no log here: by its size, by gaps, by what the logs say."""
        if any(not reading.rank.files for reading in self.readings):
            return True
        workers = [r.rank for r in self.readings if r.rank.role == "worker"]
        mixed = any(rank.mixed for rank in workers)
        if workers and not mixed and len(workers) < (self.facts.world_size or 0):
            return True  # of some it is not known which
        if max((rank.rank or 0 for rank in workers), default=0) >= max(1, len(workers)):
            return True
        for node in by_node(self.readings).values():
            numbers = {r.rank.local_rank for r in node if r.rank.local_rank is not None}
            if numbers and max(numbers) >= len(numbers):
                return True
        events = [event for reading in self.readings for _, event in reading.rank.events]
        sizes = [e.fields.get("world_size", "") for e in events if "own-rank" in e.says]
        if any(size.isdecimal() and int(size) > len(self.readings) for size in sizes):
            return True
        return len(self.readings) == 1 and any(map(_is_between_ranks, events))


def _last_lines(rank: Rank) -> list[str]:
    return [line for line in rank.tail if line.strip()][-2:]


def _without_what_others_outlived(
    readings: list[RankReading], facts: RunFacts
) -> list[RankReading]:
    """Readings without errors that the ranks which wait for a rank at each step outlived."""
    if all(r.quiet for r in readings):
        return readings
    readings = _without_what_was_caught_everywhere(readings)
    if facts.mode in ("ps", "ps-heter", "rpc"):
        return readings
    workers = [r.rank for r in readings if r.rank.role == "worker" and r.rank.progress]
    waiting = sorted(workers, key=lambda rank: rank.progress[-1].time or 0.0)[-MOST_ASKED:]
    return [_without_outlived(reading, waiting) for reading in readings]


def _without_what_was_caught_everywhere(readings: list[RankReading]) -> list[RankReading]:
    """Readings without exceptions that a rank printed as others did, who went on after them: it
    caught them, or they ended a thread that nobody waits for."""
    # a console may show a rank twice: its output, and the end of its log
    own = [r for r in readings if not (r.rank.mixed or any("console" in f for f in r.rank.files))]
    known = {_sameness(f): r.rank.key for r in own for f in r.outlived if f.event.block}
    if not known:
        return readings
    told = []
    for reading in readings:
        caught = [
            found
            for found in (*reading.causes, *reading.symptoms, *reading.survived)
            if (was_caught(found) or was_caught_unclear(found) or is_of_a_thread_aside(found))
            and known.get(_sameness(found), reading.rank.key) != reading.rank.key
        ]
        told.append(without_outlived(reading, caught) if caught else reading)
    return told


def _sameness(found: Observation) -> tuple[object, ...]:
    return found.signature.id, found.event.frame, found.event.text


def _without_outlived(reading: RankReading, waiting: Sequence[Rank]) -> RankReading:
    if reading.quiet or reading.rank.role != "worker":
        return reading
    trouble = [*reading.causes, *reading.symptoms, *reading.inner]
    outlived = [f for f in trouble if is_outlived_by_others(f, reading.rank, waiting)]
    return without_outlived(reading, outlived) if outlived else reading


def _observations(events: Sequence[tuple[str, Event]], knowledge: Knowledge) -> list[Observation]:
    return [
        Observation(file, event, knowledge.signatures[event.signature])
        for file, event in events
        if event.signature in knowledge.signatures
    ]


def _was_inspected(reading: RankReading) -> bool:
    return any(found.says("inspected") for found in reading.context)


def _is_between_ranks(event: Event) -> bool:
    return event.role in ("cause", "symptom") and "between-ranks" in event.says


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
