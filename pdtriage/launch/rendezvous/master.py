"""Nodes that meet at `--master`: every node tells its endpoints, all compute the same ranks.

Keys and values are those of Paddle's launcher, so a job may mix nodes started by either.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.secret import SECRET_VARIABLE
from pdtriage.launch.plan.addresses import (
    address_towards,
    free_ports,
    is_address,
    is_local,
    is_loopback,
    is_taken,
    own_address,
    split_endpoint,
)
from pdtriage.launch.plan.cluster import Cluster, node_count
from pdtriage.launch.plan.start_refusals import not_started
from pdtriage.launch.rendezvous import meeting_words as meeting
from pdtriage.launch.rendezvous.announcements import (
    NODES,
    announced_host,
    announced_nodes,
    is_announcement,
)
from pdtriage.launch.rendezvous.job_secret import (
    JobSecret,
    NodeExchange,
    ignored_note,
    new_secret,
)
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.supervise.events import Invited, Noted, Observer
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_POLL = 0.25
_TRIES = 5
_REMIND = 30.0
_ALONE = 10.0
"""Seconds after which who waits is told of other jobs that meet at the same place."""
_LONGEST = 80
_DEAF = 15.0
"""Seconds after which a port of this very machine that does not answer is somebody else's."""
_TURN = 20.0
"""Seconds to wait for the nodes of an earlier start to go."""
_MOST_UNREADABLE = 4_096
_MOST_TOLD = 16
_CROWDED = 12.0
"""Seconds after which a node that does not write any more has been forgotten for sure."""
_FIRST_KEY = "aaaaaa"
"""Sorts before every pod's name: the node that serves the meeting gets rank 0, as in Paddle."""


@dataclass(slots=True)
class Rendezvous:
    """A meeting that took place."""

    cluster: Cluster
    client: KVClient
    server: KVServer | None
    secret: JobSecret | None = None
    """As given, or as this node made it for the others."""
    notes: tuple[Text, ...] = ()
    """What was odd about it, for the report."""

    def take_over(self) -> KVServer | None:
        """Serve in place of whoever did, where that was on this machine and is gone."""
        return _try_to_serve(self.client, self.secret)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()


class NodeAnnouncement(Protocol):
    """What a node says of itself, and the cluster it makes of what all have said."""

    def content(self, address: str) -> Mapping[str, object]: ...

    def cluster(self, found: Mapping[str, str], own: str, size: int) -> Cluster: ...


def meet(
    flags: LaunchFlags,
    pod: str,
    announcement: NodeAnnouncement,
    environ: Mapping[str, str],
    observer: Observer,
    wait: Callable[[float], None],
    secret: JobSecret | None = None,
) -> Rendezvous:
    """Wait until all nodes are here. `wait` sleeps, and raises when a signal comes."""
    address = reachable_address(flags)
    host, port, server, secret = _open_master(flags, address, environ, observer, secret)
    client = KVClient(host, port, secret=secret)
    place: KVClient | NodeExchange = client
    if secret is not None:
        place = NodeExchange(client, secret, new_secret(), echo=True)
    size = node_count(flags)[1]
    content = announcement.content(address)
    value = json.dumps({"name": pod, "rank": flags.rank, **content, NODES: size})
    prefix = f"/{flags.job_id}/info"
    waiting = _Waiting(client, place, size, observer, wait, server, secret)
    waiting.keys = (f"{prefix}/{pod}/{flags.rank}",) * 2
    if flags.rank < 0:
        waiting.keys = (waiting.keys[0], f"{prefix}/{_FIRST_KEY}/{flags.rank}")
    try:
        found = waiting.for_all(prefix, value)
        cluster = announcement.cluster(found, value, size)
        notes = tuple(_oddities(client, address, len(waiting.unreadable)))
        cluster = cluster._replace(notes=(*cluster.notes, *notes))
        if waiting.server is not None:
            waiting.server.end_meeting(f"{prefix}/", found)
        return Rendezvous(cluster, client, waiting.server, secret, notes)
    except UserError:
        # The others must be able to read the same list and come to the same refusal.
        if waiting.server is not None:
            time.sleep(4 * _POLL)
            waiting.server.close()
        raise
    except BaseException:
        _leave(client, waiting.key, waiting.server)
        raise


def _oddities(client: KVClient, address: str, unreadable: int) -> Iterator[Text]:
    if client.seen_as not in (None, address) and not is_local(client.seen_as):
        yield meeting.seen_as_another_text(address, client.seen_as)
    if unreadable:
        yield meeting.unreadable(unreadable)


class _Waiting:
    def __init__(
        self,
        client: KVClient,
        place: KVClient | NodeExchange,
        size: int,
        observer: Observer,
        wait: Callable[[float], None],
        server: KVServer | None,
        secret: JobSecret | None,
    ) -> None:
        self.server = server
        self.secret = secret
        self.keys = ("", "")
        """Of a guest, and of the node that serves."""
        self.turned_away = ""
        self.unreadable: set[str] = set()
        """Keys below which something stood that no node has written; each counts once."""
        self.crowded: float | None = None
        self.occupied: float | None = None
        self.client = client
        self.place = place
        self.size = size
        self.observer = observer
        self.wait = wait
        self.began = time.monotonic()
        self.reminded = self.began
        self.answered: float | None = None
        self.neighbours = False
        """Whether other jobs were looked for."""
        self.here: set[str] = set()
        """Keys of the nodes that are here."""

    @property
    def key(self) -> str:
        return self.keys[self.server is not None]

    def for_all(self, prefix: str, value: str) -> dict[str, str]:
        self.observer.notice(Noted(Text("Waiting peer start...", "等待其他节点启动……")))
        while True:
            found = None
            if self.place.put(self.key, value):
                found = self._announcements(prefix)
            if self.client.refused:
                raise meeting.another_secret(self.client.endpoint)
            if self.client.is_paddles and self.secret is not None:
                raise meeting.no_secret_at_paddles(self.client.endpoint)
            self._tell_of_turned_away()
            self._tell_who_is_here(found or {})
            if found is not None and len(found) == self.size and not self._is_doubtful(found):
                self._part(value)
                return found
            if self.client.occupied:
                self._await_turn()
            else:
                self._refuse_crowd(found or {})
                self._remind(found, prefix)
            if found is None and self.server is None and not self.client.occupied:
                # Whoever served was of the start before, or is gone.
                self.server = _try_to_serve(self.client, self.secret)
            self.wait(_POLL)

    def _announcements(self, prefix: str) -> dict[str, str] | None:
        """Whatever nodes have written; strangers are left out, and told of once."""
        found = self.place.get_prefix(prefix)
        unreadable = {key for key, text in (found or {}).items() if not is_announcement(text)}
        if unreadable and not self.unreadable:
            note = meeting.unreadable(len(unreadable))
            self.observer.notice(Noted(note, "WARNING"))
        self.unreadable |= set(islice(unreadable, _MOST_UNREADABLE - len(self.unreadable)))
        return found and {key: text for key, text in found.items() if key not in unreadable}

    def _await_turn(self) -> None:
        """Waits while nodes of an earlier start are still there: about to end, or at work."""
        moment = self.began = time.monotonic()
        place = self.client.endpoint
        if self.occupied is None:
            self.occupied = moment
            self.observer.notice(Noted(meeting.still_there(place), "WARNING"))
        elif moment - self.occupied > _TURN:
            raise meeting.already_running(place)

    def _refuse_crowd(self, found: dict[str, str]) -> None:
        """Too many, and not only because a node was killed and started again."""
        moment = time.monotonic()
        if len(found) <= self.size and not self._is_doubtful(found):
            self.crowded = None
        elif self.crowded is None:
            self.crowded = moment
        elif moment - self.crowded > _CROWDED:
            counted = _counted_otherwise(found, self.size)
            if counted:
                raise meeting.counted_differently(self.size, counted)
            if len(found) > self.size:
                raise meeting.too_many(len(found), self.size)
            raise meeting.ranks_twice(found)

    def _is_doubtful(self, found: Mapping[str, str]) -> bool:
        """Whether two nodes announced the same --rank, or one another number of nodes: it may be
        one of an earlier start, and gone."""
        ranks = [rank for key in found if (rank := key.rpartition("/")[2]).isdecimal()]
        return len(set(ranks)) < len(ranks) or bool(_counted_otherwise(found, self.size))

    def _look_for_neighbours(self, prefix: str) -> None:
        """Looks for nodes under other names of the job: who waits in vain may wait for one of
        these."""
        self.neighbours = True
        own = prefix.split("/")[1]
        jobs = {
            key.split("/")[1]
            for key, text in (self.client.get_prefix("/") or {}).items()
            if "/info/" in key and (self.secret is not None or is_announcement(text))
        }
        others = sorted(job for job in jobs - {own} if job.isprintable() and len(job) < _LONGEST)
        if others:
            note = meeting.other_jobs(own, self.client.endpoint, others)
            self.observer.notice(Noted(note, "WARNING"))

    def _part(self, value: str) -> None:
        """Who has met all shows that it has heard them, or they would go on waiting."""
        if isinstance(self.place, NodeExchange):
            any(self.place.put(self.key, value) for _ in range(_TRIES))

    def _tell_of_turned_away(self) -> None:
        """Paddle's own launcher knows no secret, and does not say that it was refused."""
        if self.server is None or not self.server.store.turned_away or self.turned_away:
            return
        self.turned_away = self.server.store.turned_away[0]
        self.observer.notice(Noted(meeting.turned_away_text(self.turned_away), "WARNING"))

    def _tell_who_is_here(self, found: Mapping[str, str]) -> None:
        if self.here == found.keys():
            return
        self.here = set(found)
        hosts = sorted(announced_host(text) for text in found.values())
        listed = ", ".join(hosts[:_MOST_TOLD]) + ", …" * (len(hosts) > _MOST_TOLD)
        at, count = self.client.endpoint, f"{len(found)}/{self.size}"
        text = Text(f"at {at} are {count} nodes: {listed}", f"{at} 处有 {count} 个节点：{listed}")
        self.observer.notice(Noted(text, "DEBUG"))

    def _remind(self, found: dict[str, str] | None, prefix: str) -> None:
        moment = time.monotonic()
        place = self.client.endpoint
        if found is not None:
            self.answered = moment
        elif self.answered is not None and moment - self.answered > _DEAF:
            raise UserError(
                Text(
                    f"The rendezvous at {place} went away before all nodes were here.",
                    f"{place} 的汇合服务在所有节点到齐之前消失了。",
                ),
                Text(
                    "Look at node 0: it ended, or cannot be reached any more.",
                    "请查看节点 0：它已结束，或网络不通。",
                ),
            )
        elif moment - self.began > _DEAF and is_local(self.client.host):
            raise UserError(
                Text(
                    f"Port {self.client.port} of --master is taken by something that is not the "
                    "rendezvous of a Paddle job.",
                    f"--master 的端口 {self.client.port} 被其他程序占用，"
                    "它不是 Paddle 任务的汇合服务。",
                ),
                Text(
                    "Choose another port on all nodes, or end what uses it.",
                    "请在所有节点上换一个端口，或结束占用它的程序。",
                ),
            )
        if found is not None and not self.neighbours and moment - self.began > _ALONE:
            self._look_for_neighbours(prefix)
        if moment - self.reminded < _REMIND:
            return
        self.reminded = moment
        if found is None:
            text = Text(
                f"still no answer from {place}: has node 0 been started, and can it be reached?",
                f"{place} 仍无响应：节点 0 是否已启动，网络是否连通？",
            )
        else:
            text = Text(
                f"{len(found)} of {self.size} nodes are here",
                f"已有 {len(found)}/{self.size} 个节点就绪",
            )
        self.observer.notice(Noted(text, "WARNING"))
        note = ignored_note(self.place.ignored) if isinstance(self.place, NodeExchange) else None
        if note is not None:
            self.observer.notice(Noted(note, "WARNING"))


def reachable_address(flags: LaunchFlags) -> str:
    """Our address for other nodes: many hosts resolve their own name to a loopback address."""
    address = own_address(flags.host)
    if flags.host or not is_loopback(address):
        return address
    if not flags.master:
        return address_towards(None) or address
    host = flags.master.rpartition("://")[2].rpartition(":")[0]
    if is_loopback(host):
        return address
    return host if is_local(host) else address_towards(host) or address


def _leave(client: KVClient, key: str, server: KVServer | None) -> None:
    """Takes back what this node announced: nobody shall count on a node that went away."""
    if server is None:
        client.delete(key)
    else:
        server.close()


def _open_master(
    flags: LaunchFlags,
    address: str,
    environ: Mapping[str, str],
    observer: Observer,
    secret: JobSecret | None,
) -> tuple[str, int, KVServer | None, JobSecret | None]:
    """Where the nodes meet, the server if it is here, and the secret they share."""
    if not flags.master:
        port = free_ports(1, environ)[0]
        shared: tuple[str, ...] = ()
        if secret is None:
            made = new_secret()
            secret, shared = JobSecret(made), (f"{SECRET_VARIABLE}={made}",)
        try:
            server = _serve(address, port, secret)
        except OSError as error:
            raise not_started("pdtriage", error) from None
        master = f"{address}:{port}"
        command = (*shared, "pdtriage", "run", "--master", master, *flags.argv)
        observer.notice(Invited(command, master))
        return address, port, server, secret
    try:
        host, port = split_endpoint(flags.master)
    except ValueError:
        raise UserError(
            Text(f"--master cannot be {flags.master!r}.", f"--master 不能是 {flags.master!r}。"),
            Text("Write ip:port of node 0.", "请写节点 0 的 ip:port。"),
        ) from None
    if host in ("127.0.0.1", "localhost", address) or is_local(host):
        try:
            return host, port, _serve(host, port, secret), secret
        except OSError as error:
            # Another pod of this host was first; it serves, we are a guest.
            if error.errno == errno.EAGAIN:
                raise not_started("pdtriage", error) from None
    return host, port, None, secret


def _try_to_serve(client: KVClient, secret: JobSecret | None) -> KVServer | None:
    if not is_local(client.host):
        return None
    try:
        return _serve(client.host, client.port, secret)
    except OSError:
        return None


def _serve(host: str, port: int, secret: JobSecret | None = None) -> KVServer:
    """On the address of the job alone; on all where it is a name, which may mean a loopback address
    here and another one to the others."""
    if not is_address(host) or not is_local(host):
        return KVServer(port, secret=secret)
    if is_taken(port):
        raise OSError(port)  # By a pod that calls this machine something else.
    return KVServer(port, host, secret)


def _counted_otherwise(found: Mapping[str, str], size: int) -> list[int]:
    """The --nnodes of nodes that expect more or fewer than we do; Paddle's own say nothing."""
    counts = {announced_nodes(text) for text in found.values()}
    return sorted(count for count in counts - {size} if count is not None)
