"""Doctors that run on all nodes at once tell each other what they see.

With `--master` they meet where the job will meet; with `--ips` every doctor answers on its own
address at `--facts-port`, so that nodes whose lists differ find each other, too. Nodes of a launch
that waits at the master are heard as well: they have told how many processes they start.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pdtriage.doctor.reaching import ask
from pdtriage.doctor.situation import Situation
from pdtriage.launch.facts import clean_facts
from pdtriage.launch.kv import KVClient, KVServer
from pdtriage.launch.network import is_local, split_endpoint
from pdtriage.launch.refusal import RefusedError

_ROUND = 0.1
_PATIENCE = 1.0
_PARTING = 2.0
"""Seconds to stay for those who have not read us yet."""
_AT_ONCE = 32


@dataclass(slots=True)
class Heard:
    """What came from the others."""

    own: Mapping[str, object]
    others: dict[str, dict[str, object]] = field(default_factory=dict)
    """By address and pid."""
    ahead: dict[str, float] = field(default_factory=dict)
    """Seconds the clock of another is ahead of ours, at least."""
    place_ahead: float | None = None
    """The same for the server of a rendezvous that was already up, to the second."""


def exchange(situation: Situation) -> Heard | None:
    """Meet the other doctors; None where the job names no place to meet."""
    places, own_place = _places(situation)
    if not places:
        return None
    host, port = own_place
    server = _serve(host, port, everywhere=situation.meeting == "master")
    try:
        return _Meeting(situation, places, own_place, hosting=server is not None).hold()
    finally:
        if server is not None:
            server.close()


class _Meeting:
    def __init__(
        self,
        situation: Situation,
        places: list[tuple[str, int]],
        own_place: tuple[str, int],
        *,
        hosting: bool,
    ) -> None:
        self.situation = situation
        self.clients = [KVClient(host, port, _PATIENCE) for host, port in places]
        self.own_client = KVClient(*own_place, _PATIENCE)
        self.hosting = hosting
        job = situation.flags.job_id
        self.name = f"{situation.address}/{os.getpid()}.{os.urandom(3).hex()}"
        self.prefix = f"/{job}/pdtriage-doctor/"
        self.waiting = f"/{job}/info"
        self.heard = Heard(_own_facts(situation))
        self.parting = False
        self.present: set[str] = set()

    def hold(self) -> Heard:
        if not self.hosting:
            self.heard.place_ahead = self._clock_of_place()
        wanted = self.situation.node_total - 1
        deadline = time.monotonic() + self.situation.wishes.wait
        with ThreadPoolExecutor(min(_AT_ONCE, len(self.clients))) as pool:
            while True:
                self._round(pool)
                complete = len(self.heard.others) >= wanted
                if complete and not self.parting:
                    self.parting = True
                    deadline = time.monotonic() + _PARTING
                    continue
                if time.monotonic() >= deadline or (self.parting and self._read_by_all()):
                    break
                time.sleep(_ROUND)
        # Nobody may take a doctor that has left for one that answers.
        self.own_client.delete(f"{self.prefix}{self.name}")
        return self.heard

    def _round(self, pool: ThreadPoolExecutor) -> None:
        told = {
            **self.heard.own,
            "time": self.situation.clock(),
            "heard": sorted(self.heard.others),
        }
        self.own_client.put(f"{self.prefix}{self.name}", json.dumps(told))
        self.present = set()
        for found in pool.map(lambda client: client.get_prefix(self.prefix), self.clients):
            for key, text in (found or {}).items():
                self._hear(key.removeprefix(self.prefix), clean_facts(text))
        if self.situation.meeting == "master":
            for key, text in (self.own_client.get_prefix(self.waiting) or {}).items():
                self._hear_launcher(key, clean_facts(text))

    def _hear(self, name: str, told: dict[str, object] | None) -> None:
        if name == self.name or told is None:
            return
        self.present.add(name)
        self.heard.others[name] = told
        moment = told.get("time")
        if isinstance(moment, (int, float)):
            # The way takes time, which makes the other look behind: the largest is the best.
            ahead = moment - self.situation.clock()
            self.heard.ahead[name] = max(ahead, self.heard.ahead.get(name, ahead))

    def _hear_launcher(self, key: str, told: dict[str, object] | None) -> None:
        if told is None or "replicas" not in told:
            return
        address = str(told.get("candidate", "")).rpartition(":")[0]
        name = f"{address}/{told.get('name', key)}"
        self.heard.others[name] = {
            "address": address,
            "processes": told["replicas"],
            "kind": told.get("dtype"),
        }

    def _read_by_all(self) -> bool:
        for name in self.present:
            names = self.heard.others[name].get("heard")
            if not isinstance(names, list) or self.name not in names:
                return False
        return True  # Who has left has read us, or waits no longer.

    def _clock_of_place(self) -> float | None:
        before = self.situation.clock()
        answer = ask(self.own_client.host, self.own_client.port, "/healthy", patience=_PATIENCE)
        if answer is None or answer.clock is None:
            return None
        # The stamp has no fractions: half a second is the best guess of what is missing.
        return answer.clock + 0.5 - (before + self.situation.clock()) / 2


def _places(situation: Situation) -> tuple[list[tuple[str, int]], tuple[str, int]]:
    """Where to listen to the others, and where to speak."""
    nowhere = ("", 0)
    if situation.node_total < 2:
        return [], nowhere
    given = situation.flags.master
    if situation.meeting == "master" and given and not given.startswith("etcd://"):
        with contextlib.suppress(ValueError):
            place = split_endpoint(given)
            return [place], place
        return [], nowhere
    port = situation.flags.facts_port
    if situation.meeting != "ips" or not port or isinstance(situation.node_rank, RefusedError):
        return [], nowhere
    hosts = dict.fromkeys(situation.node_addresses)
    return [(host, port) for host in hosts], (situation.address, port)


def _serve(host: str, port: int, *, everywhere: bool) -> KVServer | None:
    """Our own server; None where the place is elsewhere, or is already served."""
    if not is_local(host):
        return None
    try:
        return KVServer(port, "" if everywhere else host)
    except OSError:
        return None


def _own_facts(situation: Situation) -> dict[str, object]:
    found = situation.devices
    wheel = situation.wheel
    return {
        "address": situation.address,
        "rank": situation.node_rank if isinstance(situation.node_rank, int) else None,
        "processes": situation.processes,
        "kind": None if isinstance(found, RefusedError) else found.dtype,
        "nodes": list(situation.node_addresses),
        "nnodes": situation.flags.nnodes,
        "paddle": wheel.version if wheel is not None else None,
    }
