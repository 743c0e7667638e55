"""Edges of the graph: who says that whom is to blame, by rank or by address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pdtriage.model import Rank
from pdtriage.verdict.reading import Found, Reading

_ENDPOINT = re.compile(
    r"\[?((?:\d{1,3}\.){3}\d{1,3}|[A-Za-z][\w.-]*[\w]|[0-9a-fA-F:]{3,})\]?:(\d{1,5})"
)
_HOST = re.compile(r"\[?((?:\d{1,3}\.){3}\d{1,3}|[A-Za-z][\w.-]*\w)\]?")


@dataclass(frozen=True)
class Accusation:
    accuser: Reading
    found: Found
    accused: tuple[Rank, ...]
    """Empty when the one it names is not among the ranks known here."""
    address: str | None = None
    """What it said, where no rank matches."""


def accusations_of(reading: Reading, ranks: Sequence[Rank]) -> list[Accusation]:
    """One per symptom that points at a peer; the newest of equal ones stands for all."""
    latest: dict[str, Found] = {}
    for found in reading.symptoms:
        key = found.event.fields.get("peer_rank") or found.event.signature
        latest[key] = found
    all_said = [_accusation(reading, found, ranks) for found in latest.values()]
    return [said for said in all_said if said.accused or said.address] or all_said[-1:]


def narrowed(accusations: Sequence[Accusation]) -> list[Accusation]:
    """Of several who may be meant, those who complain themselves are not: they lost somebody."""
    complaining = {a.accuser.rank.key for a in accusations}
    found = []
    for accusation in accusations:
        meant = [rank for rank in accusation.accused if rank.key not in complaining]
        if len(accusation.accused) > 1:
            accusation = replace(accusation, accused=tuple(meant) if len(meant) == 1 else ())
        found.append(accusation)
    return found


def _accusation(reading: Reading, found: Found, ranks: Sequence[Rank]) -> Accusation:
    fields = found.event.fields
    told = fields.get("peer_rank", "")
    if told.isdecimal():
        number = int(told)
        named = tuple(r for r in ranks if r.rank == number and r.role == reading.rank.role)
        return Accusation(reading, found, named, None if named else f"rank {number}")
    address = fields.get("peer_addr") or fields.get("endpoint") or fields.get("host")
    if not address:
        return Accusation(reading, found, ())
    accused = _by_endpoint(address, ranks) or _by_host(address, ranks)
    accused = [rank for rank in accused if rank.key != reading.rank.key]
    return Accusation(reading, found, tuple(accused), address)


def _by_endpoint(address: str, ranks: Sequence[Rank]) -> list[Rank]:
    named = {f"{host}:{port}" for host, port in _ENDPOINT.findall(address)}
    return [rank for rank in ranks if rank.endpoint in named]


def _by_host(address: str, ranks: Sequence[Rank]) -> list[Rank]:
    """A host alone names everybody on it; who of them is left is for `narrowed` to say."""
    hosts = {host for host, _ in _ENDPOINT.findall(address)} or set(_HOST.findall(address))
    return [rank for rank in ranks if rank.host in hosts]
