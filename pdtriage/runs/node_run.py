"""One run on one node: part of file, environment and console."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from itertools import chain

from pdtriage.model import EnvBlock, Life
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.runs.console_ranks import ConsoleFacts
from pdtriage.runs.folders import Log, NodeFolder
from pdtriage.runs.log_parts import UNTOLD
from pdtriage.runs.run_boundaries import Segment, times_of
from pdtriage.runs.world_size import is_list_of
from pdtriage.scan.clock import Times, span_of


class Member:
    """The log of one process in one run; as many as ranks, so a plain class with slots."""

    __slots__ = ("death", "log", "process", "segment", "times", "values")

    def __init__(
        self,
        log: Log,
        segment: Segment,
        values: Mapping[str, str] = UNTOLD,
        process: ProcessRecord | None = None,
        death: DeathRecord | None = None,
    ) -> None:
        self.log = log
        self.segment = segment
        self.times = times_of(segment)
        """The first and the last it tells, if it tells any."""
        self.values = values
        self.process = process
        self.death = death


class NodeRun:
    """One run on one node."""

    def __init__(
        self,
        node: NodeFolder,
        launch: int = 0,
        attempt: int = 0,
        record: RunRecord | None = None,
        life: Life | None = None,
    ) -> None:
        self.node = node
        self.launch = launch
        self.attempt = attempt
        self.record = record
        self.life = life
        """Of the pod's container, where Kubernetes tells of it."""
        self.members: list[Member] = []
        self.console = ConsoleFacts()
        self.peers: tuple[EnvBlock, ...] = ()
        self.newest = False

    @cached_property
    def environments(self) -> list[Mapping[str, str]]:
        """What is known of its members' environments; to be asked when all of them are there."""
        return [member.values for member in self.members if member.values]

    @cached_property
    def number(self) -> int | None:
        """Which node of the job this is; like all below, to be asked when the run is complete."""
        if self.record:
            return self.record.node_rank
        for values in self.environments:
            rank, size = values.get("PADDLE_GLOBAL_RANK"), values.get("PADDLE_LOCAL_SIZE")
            if rank and size and rank.isdecimal() and size.isdecimal() and int(size):
                return int(rank) // int(size)
        return None

    @cached_property
    def times(self) -> Times:
        """The first and the last that its logs and its console tell."""
        told = [member.times for member in self.members]
        told += [span.times for span in self.console.spans]
        return span_of(chain.from_iterable(told)) or self._death_times

    @property
    def _death_times(self) -> Times:
        """When its processes were ended, by UTC: where no clock on the wall tells anything."""
        events = (e for m in self.members for span in m.segment for e in span.events)
        return span_of(e.time for e in events if e.time is not None)

    @cached_property
    def endpoints(self) -> tuple[str, ...]:
        """Endpoints of all ranks of the job in rank order, where a file of this run tells them."""
        if self.record and self.record.endpoints:
            return self.record.endpoints
        for values in self.environments:
            listed = values.get("PADDLE_TRAINER_ENDPOINTS", "")
            if listed:
                return _split(listed)
        listed = self.console.values.get("PADDLE_TRAINER_ENDPOINTS", "")
        if listed:
            return _split(listed)
        if self.newest and self.node.endpoints and is_list_of(self):
            return self.node.endpoints[0].endpoints
        return ()


@lru_cache(maxsize=4)
def _split(listed: str) -> tuple[str, ...]:
    """All nodes of a big job are told the same long list: it is kept once."""
    return tuple(listed.split(","))
