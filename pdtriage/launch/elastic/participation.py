"""An elastic job on one node: join, take part in generations, meet again, leave."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.elastic.etcd import Etcd, EtcdStore
from pdtriage.launch.elastic.generation import EtcdView, Generation, Keys
from pdtriage.launch.elastic.generation_rules import is_running, waiting
from pdtriage.launch.elastic.membership import Membership
from pdtriage.launch.elastic.membership_events import EtcdBack, EtcdSilent
from pdtriage.launch.options.elastic import (
    etcd_access,
    etcd_address,
    etcd_of,
    level_of,
    node_patience,
    patience_with_etcd,
    terms_of,
    ttl_of,
    version_command,
)
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.rendezvous.announcements import (
    TrainerAnnouncement,
    cluster_of_peers,
    parse_peer,
)
from pdtriage.launch.rendezvous.job_nodes import JobEnded, StopRequested
from pdtriage.launch.rendezvous.master import reachable_address
from pdtriage.launch.supervise.event_loop import EventLoop, SignalReceived
from pdtriage.launch.supervise.events import Noted, Observer
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.launch.rendezvous.job_secret import JobSecret
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel

_POLL = 0.1
_REMIND = 30.0


class Elastic:
    """Use as a context. Lives as long as the launch; every attempt is a generation of its own."""

    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        pod: str,
        watch: EventLoop,
        observer: Observer,
    ) -> None:
        self.flags = flags
        self.generation: Generation | None = None
        """The one this node last took part in."""
        self.level = level_of(flags)
        self._environ = environ
        self._watch = watch
        self._observer = observer
        host, port = etcd_address(flags)
        access = etcd_access(flags)
        self._ttl = ttl = ttl_of(environ)
        self._place = f"{host}:{port}"
        self._address = (host, port, max(0.5, min(3.0, ttl / 3)), access)
        self._keys = Keys(flags.job_id)
        self.membership = Membership(
            Etcd(*self._address), self._keys, pod, flags, terms_of(flags), ttl, watch.send
        )
        self.parting = ttl + 4.0
        """Seconds to wait for what the others saw: until a lost node is known to be lost."""
        self._reached = False
        self._seen_running = False
        self._last_facts: tuple[EtcdStore, str] | None = None
        self.launch = ""
        self.secret: JobSecret | None = None
        """Of the job, where it has one."""

    def __enter__(self) -> Elastic:
        return self

    def __exit__(self, *_: object) -> None:
        self.membership.close()

    @property
    def attempt(self) -> int:
        return self.generation.attempt if self.generation is not None else 0

    def gather(self, processes: int, dtype: str) -> Cluster:
        """Wait for a generation this node belongs to."""
        address = reachable_address(self.flags)
        trainers = TrainerAnnouncement(self.flags, processes, dtype, self._environ)
        named = {"name": self.membership.pod, "rank": self.flags.rank, **trainers.content(address)}
        self.membership.offer(named)
        self._reach()
        self._observer.notice(Noted(Text("Waiting peer ready...", "等待各节点就绪……")))
        generation = _Waiting(self, processes).for_generation()
        cluster = _cluster(generation, self.membership.pod)
        self.membership.take(generation)
        self.generation = generation
        return cluster

    def open_channel(self, cluster: Cluster) -> FactsChannel | None:
        """The exchange of facts of this generation, over the same etcd."""
        if len(cluster.nodes) < 2 or self.generation is None:
            return None
        from pdtriage.launch.rendezvous.job_secret import exchange_of
        from pdtriage.launch.rendezvous.peer_channel import FactsChannel

        if self._last_facts is not None:
            # Nobody reads them any more.
            store, key = self._last_facts
            store.delete(key)
            store.close()
        base = f"{self._keys.facts}{self.generation.number}"
        facts = EtcdStore(Etcd(*self._address), base, lambda: self.membership.lease)
        job, deliver = self.flags.job_id, self._watch.send
        place = exchange_of(facts, self.secret, self.launch, cluster)
        channel = FactsChannel(place, cluster, job, deliver, leased=True, lease_seconds=self._ttl)
        self._last_facts = (facts, channel.key)
        return channel

    def leave(self) -> None:
        """Told to stop: the others shall not wait for us."""
        self.membership.report_end("leaving")

    def look(self) -> None:
        """Something happened that others may have to do with: see how the job stands."""
        self.membership.look()

    def wait(self, seconds: float = _POLL) -> None:
        """Lets time pass; raises `StopRequested` when a signal comes."""
        crashed = self.membership.crashed
        if crashed is not None:
            raise crashed
        for occurrence in self._watch.wait(seconds):
            if isinstance(occurrence, SignalReceived):
                self.leave()
                raise StopRequested(occurrence.signal)
            if isinstance(occurrence, EtcdSilent) and not self._reached:
                self.warn(_trying(occurrence, self.flags.elastic_timeout))
            elif isinstance(occurrence, (EtcdSilent, EtcdBack)):
                self.warn(occurrence.text)

    def refuse_lost_etcd(self) -> None:
        """While nothing runs there is nothing to do but to wait, and not for ever."""
        away, patience = self.membership.away_since, patience_with_etcd(self.flags)
        if away is not None and time.monotonic() - away > patience:
            raise _unreachable(self.flags, patience, self.membership.error)

    def warn(self, text: Text) -> None:
        self._observer.notice(Noted(text, "WARNING"))

    def note_running(self, view: EtcdView) -> bool:
        """Whether a generation has been seen alive in the time of this launch."""
        self._seen_running = self._seen_running or is_running(view)
        return self._seen_running

    def _reach(self) -> None:
        """Etcd has to answer once before anything can be waited for."""
        if self._reached:
            return
        self.membership.start()
        patience = float(max(1, self.flags.elastic_timeout))
        deadline = time.monotonic() + patience
        while self.membership.view is None:
            if self.membership.refused:
                raise _refused(self._place, self.membership.error)
            if time.monotonic() > deadline:
                raise _unreachable(self.flags, patience, self.membership.error)
            self.wait()
        self._reached = True


class _Waiting:
    """Waits for a generation to take part in, for as long as that makes sense."""

    def __init__(self, elastic: Elastic, processes: int) -> None:
        self.elastic = elastic
        self.member = elastic.membership
        self.processes = processes
        self.most_seen = 0
        self.short_since = self.reminded = time.monotonic()
        self.is_spare = False

    def for_generation(self) -> Generation:
        while True:
            generation = self.member.offered_world()
            if generation is not None:
                return generation
            # In this order: what is seen after it was fresh is fresh.
            fresh = self.member.is_fresh()
            view = self.member.view
            if view is not None and fresh:
                self._look(view)
            self.elastic.refuse_lost_etcd()
            self.elastic.wait()

    def _look(self, view: EtcdView) -> None:
        now = time.monotonic()
        running = is_running(view)
        generation = view.generation
        seen_alive = self.elastic.note_running(view)
        if seen_alive and generation is not None and generation.state == "ended":
            raise JobEnded(generation.why == "completed")
        if running and generation is not None:
            self._refuse_other_size(generation)
            self._announce_spare(view, generation)
            self.short_since, self.most_seen = now, 0
            return
        self.is_spare = False
        here = len(waiting(view)) + len(view.foreign)
        others = [m for m in view.members.values() if m.state not in ("ready", "leaving")]
        if here >= self.member.terms.least or here > self.most_seen or others:
            self.short_since, self.most_seen = now, here
        patience = node_patience(self.elastic.flags)
        if now - self.short_since > patience:
            raise _too_few(here, self.elastic.flags, patience)
        if now - self.reminded > _REMIND:
            self.reminded = now
            self.elastic.warn(_here(here, self.elastic.flags))

    def _refuse_other_size(self, generation: Generation) -> None:
        running = generation.speeches[0].get("replicas")
        if running != self.processes:
            raise UserError(
                Text(
                    f"This node would start {self.processes} processes, the nodes of the job "
                    f"start {running} each.",
                    f"本节点将启动 {self.processes} 个进程，而任务的各节点启动 {running} 个。",
                ),
                Text(
                    "Use the same number of cards on every node (--devices or --nproc_per_node).",
                    "请让各节点使用相同数量的卡（--devices 或 --nproc_per_node）。",
                ),
            )

    def _announce_spare(self, view: EtcdView, generation: Generation) -> None:
        full = len(generation.pods) >= self.member.terms.most
        if self.is_spare or not full or self.member.pod in generation.pods:
            return
        queue = [m.pod for m in waiting(view)]
        if self.member.pod not in queue:
            return
        self.is_spare = True
        place = queue.index(self.member.pod) + 1
        self.elastic.warn(
            Text(
                f"{len(generation.pods)} nodes are at work, no more are asked for: this node "
                f"waits as spare {place}",
                f"已有 {len(generation.pods)} 个节点在工作，名额已满：本节点作为第 {place} 个备用"
                "节点等待",
            )
        )


def _cluster(generation: Generation, pod: str) -> Cluster:
    peers = [
        parse_peer(name, json.dumps(speech))
        for name, speech in zip(generation.pods, generation.speeches, strict=True)
    ]
    cluster = cluster_of_peers(peers, generation.pods.index(pod))
    counts = [len(node) for node in cluster.endpoints]
    if len(set(counts)) > 1:
        raise _unequal(zip(cluster.nodes, counts, strict=True))
    return cluster


def _unequal(nodes: Iterable[tuple[str, int]]) -> UserError:
    """The refusal of nodes that start different numbers of processes."""
    listed = ", ".join(f"{node}: {count}" for node, count in nodes)
    return UserError(
        Text(
            f"The nodes do not start the same number of processes ({listed}).",
            f"各节点启动的进程数不一致（{listed}）。",
        ),
        Text(
            "Use the same number of cards on every node (--devices or --nproc_per_node).",
            "请让各节点使用相同数量的卡（--devices 或 --nproc_per_node）。",
        ),
    )


def _here(here: int, flags: LaunchFlags) -> Text:
    return Text(
        f"{here} node(s) are here, --nnodes is {flags.nnodes}",
        f"已有 {here} 个节点，--nnodes 为 {flags.nnodes}",
    )


def _too_few(here: int, flags: LaunchFlags, seconds: float) -> UserError:
    seen = _here(here, flags)
    return UserError(
        Text(
            f"Too few nodes after {seconds:g} s: {seen.en}.",
            f"等待 {seconds:g} 秒后节点仍不足：{seen.zh}。",
        ),
        Text(
            "Start the others with the same --master and --job_id, or wait longer with "
            "--elastic_timeout.",
            "请用相同的 --master 与 --job_id 启动其他节点，或用 --elastic_timeout 延长等待时间。",
        ),
    )


def _trying(silent: EtcdSilent, seconds: int) -> Text:
    return Text(
        f"etcd at {silent.place} does not answer ({silent.error}); trying for {seconds} s",
        f"etcd {silent.place} 没有响应（{silent.error}）；将重试 {seconds} 秒",
    )


def _refused(place: str, error: str) -> UserError:
    return UserError(
        Text(
            f"The etcd at {place} does not let this job in: {error}.",
            f"{place} 上的 etcd 拒绝了本任务：{error}。",
        ),
        Text(
            "Give --etcd_user and PDTRIAGE_ETCD_PASSWORD of a user who may read and write the keys "
            "of the job (docs/elastic.md).",
            "请提供有权读写本任务各键的用户：--etcd_user 和 PDTRIAGE_ETCD_PASSWORD"
            "（见 docs/elastic.md）。",
        ),
    )


def _unreachable(flags: LaunchFlags, seconds: float, error: str) -> UserError:
    place, check = etcd_of(flags), version_command(flags)
    return UserError(
        Text(
            f"The etcd at {place} could not be used for {seconds:g} s: {error}.",
            f"{seconds:g} 秒内无法使用 {place} 上的 etcd：{error}。",
        ),
        Text(
            "Check that it runs and can be reached from this node: "
            f"`{check}` (`pdtriage doctor` checks it, too).",
            f"请确认它正在运行且本节点可以访问：`{check}`（`pdtriage doctor` 也会检查）。",
        ),
    )
