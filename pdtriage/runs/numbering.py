"""What the number in a log's name means: the rank of its process, or its place on its node.

Real launchers write the local rank, the documentation of Paddle says rank, and people collect
the files of all nodes in one folder and number them anew. So it is decided by evidence: a number
beyond the endpoints of every host is a rank, and so is one that would lead beyond the job if it
were added to the node's first rank. Where nothing tells, nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import islice

from pdtriage.model import Text
from pdtriage.runs.console_ranks import numbers_in
from pdtriage.runs.node_run import Member, NodeRun
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.support.number_spans import first_numbers

MOST_NAMED = 4
"""Hosts that a log may be of, told by name."""
_NODE_NAME = lazy_compile(
    r"(?:^|[/_.-])(?:node|host|machine|worker|trainer|pod|rank)[_.-]?(\d+)(?=$|[/_.-])"
)
_ADDRESS = lazy_compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")


class Placement(NamedTuple):
    """Where a log's process stands in its job, as far as that is known."""

    rank: int | None
    local_rank: int | None
    node: int | None = None


class Host(NamedTuple):
    """A host of the job with the ranks on it; the name is None where only their number is told."""

    name: str | None
    ranks: tuple[int, ...]
    number: int = 0
    """In the order of the endpoints, which is that of ranks."""


class Hosts(NamedTuple):
    """The hosts of a job by name, in the order of its endpoints."""

    by_name: dict[str | None, Host]
    most: int = 0
    """Processes on any of them."""


class Numbering:
    """How the worker logs of one run in one of `nodes` folders are numbered."""

    def __init__(
        self,
        run: NodeRun,
        nodes: int,
        ranks_elsewhere: frozenset[int] = frozenset(),
        host: str | None = None,
    ) -> None:
        """`ranks_elsewhere` are the numbers of logs in other folders that can only be ranks;
        `host` is that of this folder, as its console tells it."""
        self._run = run
        self._nodes = nodes
        self._elsewhere = ranks_elsewhere
        self._host = host
        self._endpoints = run.endpoints
        self._hosts = hosts_in(run.endpoints)

    def placement(self, index: int) -> Placement:
        """The place in the job of the process whose log bears this number and does not tell it."""
        if self.by_rank:
            return self._placement_of(index, None)
        first = self.first_rank
        if first is None:
            return Placement(None, index)
        host = self._host_with(first)
        if host is not None and host.ranks[0] == first and index < len(host.ranks):
            return self._placement_of(host.ranks[index], index)
        many = len(self.indexes)
        if not self._endpoints and not first and 1 < many <= self.indexes[0]:
            return Placement(index, None)  # the second half of one node, or of the second node
        return self._placement_of(first + index, index)

    def placement_of(self, rank: int, index: int | None) -> Placement:
        """The place in the job of a process that tells its rank itself."""
        return self._placement_of(rank, None if self.by_rank else index)

    def _placement_of(self, rank: int, local: int | None) -> Placement:
        host = self._host_with(rank)
        if host is None or host.name is None:
            return Placement(rank, local if local is not None else self._local_by_count(rank))
        number = host.number if len(self._hosts.by_name) > 1 else self._run.number
        return Placement(rank, host.ranks.index(rank) if local is None else local, number)

    def _local_by_count(self, rank: int) -> int | None:
        first = self.first_rank
        return rank - first if first is not None and first <= rank else None

    def _host_with(self, rank: int) -> Host | None:
        if rank >= len(self._endpoints):
            return None
        return self._hosts.by_name[host_of(self._endpoints[rank])]

    @cached_property
    def indexes(self) -> list[int]:
        """The numbers of the worker logs, in order."""
        members = self._run.members
        found = {m.log.index for m in members if m.log.role == "worker"}
        return sorted(index for index in found if index is not None)

    @cached_property
    def by_rank(self) -> bool:
        """The numbers are ranks: of all nodes, or of one that is not the first."""
        if not self.indexes:
            return False
        if self.is_beyond_a_host or self._leads_beyond_the_job:
            return True
        return bool(self._elsewhere) and self._elsewhere.isdisjoint(self.indexes)

    @property
    def is_beyond_a_host(self) -> bool:
        """No host has as many processes as the highest number says."""
        several = len(self._hosts.by_name) > 1
        return several and bool(self.indexes) and self.indexes[-1] >= self._hosts.most

    @property
    def _leads_beyond_the_job(self) -> bool:
        first, world = self.first_rank, world_size(self._run) or len(self._endpoints)
        return bool(first and world and first + self.indexes[-1] >= world)

    @cached_property
    def first_rank(self) -> int | None:
        """Global rank of this node's first process."""
        first = first_rank_by_console(self._run)
        if first is None:
            first = self._first_by_own_words()
        if first is None:
            first = self._first_by_address()
        if first is None:
            first = self._first_by_abort()
        if first is not None:
            return first
        if self._nodes > 1:
            return self._first_by_folder()
        alone = node_count_of(self._run) == 1 and len(self._hosts.by_name) < 2
        return 0 if alone else None

    def _first_by_own_words(self) -> int | None:
        """One that knows its rank places its whole node."""
        for member in self._run.members:
            index = member.log.index
            told = self_rank(member) if index is not None else None
            if index is None or told is None:
                continue
            host = self._host_with(told)
            if host and index < len(host.ranks) and host.ranks[index] == told:
                return host.ranks[0]
            if told >= index:
                return told - index
        return None

    def _first_by_address(self) -> int | None:
        """People name the folder of a node by its address."""
        named = _ADDRESS.search(self._run.node.folder) if not self._host else None
        here = named[0] if named else self._host
        host = self._hosts.by_name.get(here) if here else None
        return host.ranks[0] if host else None

    def _first_by_folder(self) -> int | None:
        number = node_number(self._run.node.folder)
        if number is None:
            return None
        hosts = self._hosts.by_name
        if len(hosts) == self._nodes and number < len(hosts):
            return next(islice(hosts.values(), number, None)).ranks[0]
        workers = sum(member.log.role == "worker" for member in self._run.members)
        return number * workers

    def _first_by_abort(self) -> int | None:
        """The legacy launcher names the ranks that it found dead, by their global rank, and it
        looks after those of its own node only."""
        console = self._run.console
        lists = [e.fields.get("ranks", "") for _, e in console.events if "lists-failed" in e.says]
        dead = {rank for ranks in lists for rank in numbers_in(ranks)}
        hosts = self.candidates or self._equal_nodes
        homes = [host for host in hosts if dead and dead.issubset(host.ranks)]
        if not homes or homes[0] is hosts[0]:
            return homes[0].ranks[0] if homes else None
        ends = [self._ends.get(homes[0].ranks.index(rank), "") for rank in dead]
        if "stopped" not in ends:
            failed = [index for index, end in self._ends.items() if end == "failed"]
            sure = self._endpoints or (
                failed and set(ends) == {"failed"} and len(ends) == len(failed)
            )
            return homes[0].ranks[0] if sure else None
        # Who was found dead was not stopped: the logs are of another node than the console.
        return hosts[0].ranks[0] if len(hosts) == 2 else None

    @cached_property
    def _ends(self) -> dict[int, str]:
        """How the process of each number ended, as its log tells."""
        members = self._run.members
        return {m.log.index or 0: _end_of(m) for m in members if m.log.role == "worker"}

    @cached_property
    def candidates(self) -> tuple[Host, ...]:
        """Hosts that logs numbered from 0 may be of."""
        many = len(self.indexes)
        hosts = self._hosts.by_name
        if len(hosts) < 2 or self.indexes != list(range(many)):
            return ()
        return tuple(host for host in hosts.values() if len(host.ranks) >= many)

    @property
    def _equal_nodes(self) -> tuple[Host, ...]:
        """Nodes as there would be if each had as many processes as there are logs here."""
        many, world = len(self.indexes), world_size(self._run) or 0
        if self._endpoints or many < 2 or world % many or self.indexes != list(range(many)):
            return ()
        blocks = range(0, world, many)
        return tuple(Host(None, tuple(range(first, first + many))) for first in blocks)

    def doubt(self) -> Text | None:
        """Which nodes the logs may be of, where nothing says which of them it is."""
        hosts = self.candidates
        if self.by_rank or self.first_rank is not None or len(hosts) < 2:
            return None
        names = f"workerlog.{self.indexes[0]}" + (
            f"-{self.indexes[-1]}" if len(self.indexes) > 1 else ""
        )
        shown = hosts[:MOST_NAMED]
        more = " …" if len(hosts) > len(shown) else ""
        en = " or ".join(f"of {host.name} (ranks {first_numbers(host.ranks)})" for host in shown)
        zh = "或 ".join(f"{host.name}（rank {first_numbers(host.ranks)}）" for host in shown)
        missing = self._nodes < 2
        return Text(
            f"{names} may be {en}{more}: nothing here says which node wrote them"
            + ("; the logs of the others are not here" * missing),
            f"{names} 可能属于 {zh}{more}：这里看不出由哪个节点写出"
            + ("；其余节点的日志不在此处" * missing),
        )


def numbers_that_are_ranks(runs: Sequence[NodeRun]) -> frozenset[int]:
    """Log numbers that are global ranks: no host of the job has so many processes."""
    if len(runs) < 2:
        return frozenset()
    numberings = [Numbering(run, len(runs)) for run in runs]
    return frozenset(i for n in numberings if n.is_beyond_a_host for i in n.indexes)


@lru_cache(maxsize=2)
def hosts_in(endpoints: tuple[str, ...]) -> Hosts:
    """The hosts of a job with their ranks."""
    ranks: dict[str | None, list[int]] = {}
    for rank, endpoint in enumerate(endpoints):
        ranks.setdefault(host_of(endpoint), []).append(rank)
    hosts = {
        name: Host(name, tuple(own), number) for number, (name, own) in enumerate(ranks.items())
    }
    return Hosts(hosts, max(map(len, ranks.values()), default=0))


def host_of(endpoint: str | None) -> str | None:
    """The host of `host:port`, brackets of IPv6 removed."""
    if not endpoint:
        return None
    host, colon, port = endpoint.rpartition(":")
    return (host if colon and port.isdecimal() else endpoint).strip("[]") or None


def node_number(folder: str) -> int | None:
    """N of a folder called node-N or the like: the weakest evidence of all."""
    found = _NODE_NAME.findall(folder)
    return int(found[-1]) if found else None


def self_rank(member: Member) -> int | None:
    """The global rank that messages of the process itself give, when they agree."""
    told = set()
    for span in member.segment:
        for event in span.events:
            number = event.fields.get("self_rank")
            if number and number.isdecimal():
                told.add(number)
    return int(told.pop()) if len(told) == 1 else None


def first_rank_by_console(run: NodeRun) -> int | None:
    """Global rank of a node's first process, as its console tells it."""
    values = run.console.values
    first = _number(values.get("PADDLE_TRAINER_ID"))
    node = _number(values.get("--rank"))
    started = run.console.first("started")
    replicas = _number(started.fields.get("replicas")) if started else None
    if first is not None or node is None or replicas is None or node_count_of(run) == 1:
        return first
    return node * replicas  # nodes are rarely unequal


def node_count_of(run: NodeRun) -> int:
    """How many nodes the launcher was told of; one unless it says otherwise."""
    values = run.console.values
    told = _number((values.get("--nnodes") or "1").split(":")[0]) or 1
    return max(told, len((values.get("--ips") or "x").split(",")), len(run.peers))


def world_size(run: NodeRun) -> int | None:
    """How many ranks the job has, as its console tells it."""
    return run.console.world_size or _number(run.console.values.get("PADDLE_TRAINERS_NUM"))


def _end_of(member: Member) -> str:
    """`failed` by an error of its own, `stopped`, or nothing that its log would tell."""
    roles = {event.role for span in member.segment for event in span.events}
    if "cause" in roles:
        return "failed"
    return "stopped" if "victim" in roles else ""


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None
