"""Doctors that run on all nodes at once tell each other what they see.

With `--master` they meet at `--facts-port` of that host, and at the rendezvous itself where one is
up; they never open its port, because a launch that waits for it would take them for its node 0.
With `--ips` every doctor answers on its own address, so that nodes whose lists differ find each
other, too. Nodes of a launch that waits at the master count as well: they have written how many
processes they start. Where the job meets at an etcd the doctors do so, too.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pdtriage.doctor.context import Context
from pdtriage.doctor.ports import http_answer
from pdtriage.launch.options.elastic import as_elastic, etcd_access, etcd_address, etcd_of
from pdtriage.launch.options.unsupported import PS_MODES
from pdtriage.launch.plan.addresses import is_local, split_endpoint
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.record.fields import MAX_TEXT, decode_message
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    from pdtriage.launch.elastic.etcd import EtcdStore
    from pdtriage.launch.plan.ps_roles import Roles

_ROUND = 0.1
_PATIENCE = 1.0
_PARTING = 2.0
"""Seconds to stay for those who have not read us yet."""
_AT_ONCE = 32
_FOLDER = "pdtriage-doctor"
_MOST_TEXT = MAX_TEXT // 2


@dataclass(slots=True)
class Answers:
    """What came from the others."""

    own: Mapping[str, object]
    others: dict[str, dict[str, object]] = field(default_factory=dict)
    """By address and pid."""
    ahead: dict[str, float] = field(default_factory=dict)
    """Seconds the clock of another is ahead of ours, at least."""
    master_ahead: float | None = None
    """The same for the server of a rendezvous that was already up, to the second."""


def exchange(context: Context) -> Answers | None:
    """Meet the other doctors; None where the job names no place to meet."""
    at_etcd = _etcd_store(context)
    if at_etcd is not None:
        try:
            prefix = f"/{_FOLDER}/{context.flags.job_id}/"
            return _Meeting(context, [at_etcd], [at_etcd], prefix).hold()
        finally:
            at_etcd.close()
    places = _endpoints(context)
    if places is None:
        return None
    server = _serve(places.served)
    try:
        return _Meeting(
            context,
            [KVClient(host, port, _PATIENCE) for host, port in places.listen],
            [KVClient(host, port, _PATIENCE) for host, port in places.speak],
            f"/{context.flags.job_id}/{_FOLDER}/",
            places.rendezvous,
        ).hold()
    finally:
        if server is not None:
            server.close()


class _Endpoints(NamedTuple):
    """(host, port) each."""

    listen: tuple[tuple[str, int], ...]
    speak: tuple[tuple[str, int], ...]
    served: tuple[str, int]
    """By this doctor, if it is an address of this machine."""
    rendezvous: tuple[str, int] | None = None
    """Where a launch may be waiting."""


class _Store(Protocol):
    """Where doctors write and read; False or None where nobody answers."""

    def put(self, key: str, value: str, /) -> bool: ...

    def get_prefix(self, prefix: str, /) -> dict[str, str] | None: ...

    def delete(self, key: str, /) -> bool: ...


class _Meeting:
    def __init__(
        self,
        context: Context,
        listen: Sequence[_Store],
        speak: Sequence[_Store],
        prefix: str,
        rendezvous: tuple[str, int] | None = None,
    ) -> None:
        self.context = context
        self.listen = listen
        self.speak = speak
        self.prefix = prefix
        self.rendezvous = rendezvous
        self.name = f"{context.address}/{os.getpid()}.{os.urandom(3).hex()}"
        self.waiting = f"/{context.flags.job_id}/info"
        self.answers = Answers(_own_facts(context))
        self.parting = False
        self.present: set[str] = set()

    def hold(self) -> Answers:
        self.answers.master_ahead = self._clock_of_rendezvous()
        wanted = self.context.node_total - 1
        deadline = time.monotonic() + self.context.wishes.wait
        with ThreadPoolExecutor(min(_AT_ONCE, len(self.listen))) as pool:
            while True:
                self._round(pool)
                complete = len(self.answers.others) >= wanted
                if complete and not self.parting:
                    self.parting = True
                    deadline = time.monotonic() + _PARTING
                    continue
                if time.monotonic() >= deadline or (self.parting and self._read_by_all()):
                    break
                time.sleep(_ROUND)
        # Nobody may take a doctor that has left for one that answers.
        for client in self.speak:
            client.delete(f"{self.prefix}{self.name}")
        return self.answers

    def _round(self, pool: ThreadPoolExecutor) -> None:
        told = {
            **self.answers.own,
            "time": self.context.clock(),
            "heard": sorted(self.answers.others),
        }
        for client in self.speak:
            client.put(f"{self.prefix}{self.name}", json.dumps(told))
        self.present = set()
        for found in pool.map(lambda client: client.get_prefix(self.prefix), self.listen):
            for key, text in (found or {}).items():
                self._receive(key.removeprefix(self.prefix), decode_message(text))
        if self.rendezvous is not None:
            found = KVClient(*self.rendezvous, _PATIENCE).get_prefix(self.waiting)
            for key, text in (found or {}).items():
                self._receive_launcher(key, decode_message(text))

    def _receive(self, name: str, told: dict[str, object] | None) -> None:
        if name == self.name or told is None:
            return
        self.present.add(name)
        self.answers.others[name] = told
        moment = told.get("time")
        if isinstance(moment, (int, float)):
            # The way takes time, which makes the other look behind: the largest is the best.
            ahead = moment - self.context.clock()
            self.answers.ahead[name] = max(ahead, self.answers.ahead.get(name, ahead))

    def _receive_launcher(self, key: str, told: dict[str, object] | None) -> None:
        if told is None or "replicas" not in told:
            return
        address = str(told.get("candidate", "")).rpartition(":")[0]
        name = f"{address}/{told.get('name', key)}"
        self.answers.others[name] = {
            "address": address,
            "processes": told["replicas"],
            "kind": told.get("dtype"),
        }

    def _read_by_all(self) -> bool:
        for name in self.present:
            names = self.answers.others[name].get("heard")
            if not isinstance(names, list) or self.name not in names:
                return False
        return True  # Who has left has read us, or waits no longer.

    def _clock_of_rendezvous(self) -> float | None:
        if self.rendezvous is None:
            return None
        before = self.context.clock()
        answer = http_answer(*self.rendezvous, "/healthy", patience=_PATIENCE)
        if answer is None or answer.clock is None:
            return None
        # The stamp has no fractions: half a second is the best guess of what is missing.
        return answer.clock + 0.5 - (before + self.context.clock()) / 2


def _etcd_store(context: Context) -> EtcdStore | None:
    if context.node_total < 2 or etcd_of(context.flags) is None:
        return None
    from pdtriage.launch.elastic.etcd import Etcd, EtcdStore

    try:
        flags = context.flags
        return EtcdStore(Etcd(*etcd_address(flags), _PATIENCE, etcd_access(flags)))
    except UserError:
        return None  # Another check tells that.


def _endpoints(context: Context) -> _Endpoints | None:
    """None where doctors have nowhere to meet."""
    port = context.flags.facts_port
    if context.node_total < 2 or not port:
        return None
    given = context.flags.master
    if context.meeting == "master" and given and not given.startswith("etcd://"):
        try:
            rendezvous = split_endpoint(given)
        except ValueError:
            return None
        served = (rendezvous[0], port)
        places = (served, rendezvous)
        return _Endpoints(places, places, served, rendezvous)
    static = context.meeting == "ips" or context.lists is not None
    if not static or isinstance(context.node_rank, UserError):
        return None
    hosts = dict.fromkeys(context.node_addresses)
    own = (context.address, port)
    return _Endpoints(tuple((host, port) for host in hosts), (own,), own)


def _serve(place: tuple[str, int]) -> KVServer | None:
    """Our own server; None where the place is on another node, or is already served."""
    host, port = place
    if not is_local(host):
        return None
    try:
        return KVServer(port, host)
    except OSError:
        return None


def _own_facts(context: Context) -> dict[str, object]:
    found = context.devices
    wheel = context.wheel
    # Nodes of servers and trainers may hold any number of them, on any kind of device.
    alike = context.mode not in PS_MODES
    lists = context.lists
    return {
        "address": context.address,
        "rank": context.node_rank if isinstance(context.node_rank, int) else None,
        "processes": context.processes if alike else None,
        "kind": found.dtype if alike and not isinstance(found, UserError) else None,
        "roles": _roles(lists) if lists is not None else None,
        "nodes": _short(context.node_addresses),
        "nnodes": as_elastic(context.flags).nnodes,
        "paddle": wheel.version if wheel is not None else None,
    }


def _roles(lists: Roles) -> str:
    groups = (lists.servers, lists.workers, lists.coordinators, *lists.stages)
    return _short([";".join(group) for group in groups if group])


def _short(listed: Sequence[str]) -> str:
    """A value as it is, or, where it is too long to send, a digest that tells it from others."""
    text = ",".join(listed)
    return text if len(text) <= _MOST_TEXT else f"{len(listed)} ({zlib.crc32(text.encode()):08x})"
