"""Edges of the graph: who says that whom is to blame, by rank or by address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from pdtriage.model import Rank, Role
from pdtriage.model.kinds import process_name
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict.rank_reading import Observation, RankReading

_ENDPOINT = lazy_compile(
    r"\[?((?:\d{1,3}\.){3}\d{1,3}|[A-Za-z][\w.-]{0,252}\w|[0-9a-fA-F:]{3,45})\]?:(\d{1,5})"
)
_HOST = lazy_compile(r"\[?((?:\d{1,3}\.){3}\d{1,3}|[A-Za-z][\w.-]*\w)\]?")

FEW = 2
"""Two ranks of one host are told apart by who of them speaks."""


RankKey = tuple[str, int, int, str]
Accusers = Mapping[RankKey, tuple[int, ...]]
"""By the key of a rank those who name it."""


class Accusation(NamedTuple):
    """One rank says that it lost another one."""

    accuser: RankReading
    found: Observation
    accused: tuple[Rank, ...]
    """Empty when the one it names is not among the ranks known here."""
    address: str | None = None
    """What it said, where no rank matches."""


class Directory:
    """The ranks of a run by every name an accusation may use for them."""

    def __init__(self, ranks: Sequence[Rank]) -> None:
        self._ranks = ranks
        self._known: dict[str, tuple[Rank, ...]] = {}

    @cached_property
    def _by_rank(self) -> dict[tuple[Role, int | None], tuple[Rank, ...]]:
        return _group_by(self._ranks, lambda rank: (rank.role, rank.rank))

    @cached_property
    def _by_endpoint(self) -> dict[str | None, tuple[Rank, ...]]:
        return _group_by(self._ranks, lambda rank: rank.endpoint)

    @cached_property
    def _by_host(self) -> dict[str | None, tuple[Rank, ...]]:
        found = _group_by(self._ranks, lambda rank: rank.host)
        for rank in self._ranks:
            for name in rank.addresses:
                found[name] = (*found.get(name, ()), rank)
        return found

    def by_number(self, role: Role, number: int) -> tuple[Rank, ...]:
        return self._by_rank.get((role, number), ())

    def at(self, address: str) -> tuple[Rank, ...]:
        """The ranks at an endpoint; a host alone stands for everybody on it."""
        if address not in self._known:
            named = _ENDPOINT.findall(address)
            ranks = _of(self._by_endpoint, {f"{host}:{port}" for host, port in named})
            self._known[address] = ranks or _of(
                self._by_host, {host for host, _ in named} or set(_HOST.findall(address))
            )
        return self._known[address]


def accusations_in(readings: Sequence[RankReading]) -> list[Accusation]:
    """Whom the ranks of a run accuse."""
    complaining = [reading for reading in readings if reading.symptoms]
    directory = Directory([reading.rank for reading in readings])
    return _narrow([a for reading in complaining for a in _accusations_of(reading, directory)])


def accusers_of(accusations: Iterable[Accusation]) -> Accusers:
    """The ranks that name one rank alone, by the key of the accused."""
    accusers: dict[RankKey, set[int]] = {}
    for accusation in accusations:
        if len(accusation.accused) == 1 and accusation.accuser.rank.rank is not None:
            key = accusation.accused[0].key
            accusers.setdefault(key, set()).add(accusation.accuser.rank.rank)
    return {key: tuple(sorted(ranks)) for key, ranks in accusers.items()}


def unseen_rank_of(accusation: Accusation) -> Rank | None:
    """The rank an accusation names by number, of which there is no log here."""
    number = accusation.found.event.fields.get("peer_rank", "")
    if accusation.accused or not number.isdecimal():
        return None
    return Rank(role=_role_of_peer(accusation.accuser, accusation.found), rank=int(number))


def _accusations_of(reading: RankReading, directory: Directory) -> list[Accusation]:
    """One per symptom that points at a peer; the newest of equal ones stands for all."""
    latest: dict[str, Observation] = {}
    for found in reading.symptoms:
        key = found.event.fields.get("peer_rank") or found.event.signature
        latest[key] = found
    every = [_accusation(reading, found, directory) for found in latest.values()]
    return [one for one in every if one.accused or one.address] or every[-1:]


def _accusation(reading: RankReading, found: Observation, directory: Directory) -> Accusation:
    fields = found.event.fields
    number = fields.get("peer_rank", "")
    if number.isdecimal():
        role = _role_of_peer(reading, found)
        named = directory.by_number(role, int(number))
        address = process_name(role, int(number))
        return Accusation(reading, found, named, None if named else address)
    address = fields.get("peer_addr") or fields.get("endpoint") or fields.get("host") or ""
    if not address:
        return Accusation(reading, found, ())
    accused = directory.at(address)
    if len(accused) <= FEW:  # of more, `_narrowed` leaves out all who complain, as this one does
        accused = tuple(rank for rank in accused if rank.key != reading.rank.key)
    return Accusation(reading, found, accused, address)


def _role_of_peer(accuser: RankReading, found: Observation) -> Role:
    """Whom the number means: one of the writer's own kind, unless the line is about others."""
    if found.says("peer-is-worker"):
        return "worker"
    return "server" if found.says("peer-is-server") else accuser.rank.role


def _narrow(accusations: Sequence[Accusation]) -> list[Accusation]:
    """Accusations of several ranks narrowed to the one of them that complains of nobody."""
    complaining = {a.accuser.rank.key for a in accusations}
    quiet: dict[int, tuple[Rank, ...]] = {}  # whole hosts are accused by whole hosts
    narrowed = []
    for accusation in accusations:
        accused = accusation.accused
        if len(accused) > 1:
            meant = quiet.get(id(accused))
            if meant is None:
                meant = tuple(rank for rank in accused if rank.key not in complaining)
                quiet[id(accused)] = meant
            accusation = accusation._replace(accused=meant if len(meant) == 1 else ())
        narrowed.append(accusation)
    return narrowed


_Name = TypeVar("_Name", bound=Hashable)


def _group_by(
    ranks: Sequence[Rank], name: Callable[[Rank], _Name]
) -> dict[_Name, tuple[Rank, ...]]:
    groups: dict[_Name, list[Rank]] = {}
    for rank in ranks:
        groups.setdefault(name(rank), []).append(rank)
    return {key: tuple(members) for key, members in groups.items()}


def _of(groups: Mapping[str | None, tuple[Rank, ...]], names: Collection[str]) -> tuple[Rank, ...]:
    return tuple(rank for name in sorted(names) for rank in groups.get(name, ()))
