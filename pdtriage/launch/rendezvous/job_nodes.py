"""Brings the nodes of a job together and opens the exchange between them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan import cluster as clusters
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.supervise.event_loop import EventLoop, SignalReceived
from pdtriage.launch.supervise.events import Noted, Observer
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # The HTTP modules are imported only by jobs of several nodes.
    from pdtriage.launch.elastic.participation import Elastic
    from pdtriage.launch.rendezvous.job_secret import JobSecret
    from pdtriage.launch.rendezvous.master import NodeAnnouncement, Rendezvous
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel


class StopRequested(Exception):  # noqa: N818 (not an error)
    """A signal came before anything was started."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class JobEnded(Exception):  # noqa: N818 (not an error)
    """An elastic job came to its end while this node was not in it."""

    def __init__(self, completed: bool) -> None:
        super().__init__(completed)
        self.completed = completed


def end_elsewhere(completed: bool) -> Text:
    """How the job ended on the other nodes, for one that took part before."""
    if completed:
        return Text("the job has completed on the other nodes", "任务已在其他节点上完成")
    return Text("the job has failed on the other nodes", "任务已在其他节点上失败")


class Nodes:
    """The other nodes, as long as the job lasts."""

    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        pod: str,
        watch: EventLoop,
        observer: Observer,
        elastic: Elastic | None = None,
        *,
        launch: str = "",
        secret: JobSecret | None = None,
    ) -> None:
        self.flags = flags
        """As platform variables correct them once `gather` was called."""
        self._environ = environ
        self._pod = pod
        self._watch = watch
        self._observer = observer
        self._elastic = elastic
        self._launch = launch
        self._secret = secret
        self._rendezvous: Rendezvous | None = None
        self._open = contextlib.ExitStack()

    def gather(self, processes: int, dtype: str) -> Cluster:
        """Find out who takes part; waits for the others where they have to meet."""
        if self._elastic is not None:
            return self._elastic.gather(processes, dtype)
        meeting, self.flags = clusters.how_to_meet(self.flags, self._environ)
        if meeting == "cloud":
            return clusters.from_cloud(self.flags, processes, self._environ)
        if meeting == "ips":
            return clusters.from_ips(self.flags, processes, self._environ)
        if meeting == "alone":
            return clusters.alone(self.flags, processes, self._environ)
        from pdtriage.launch.rendezvous.announcements import TrainerAnnouncement

        return self.meet(TrainerAnnouncement(self.flags, processes, dtype, self._environ))

    def meet(self, announcement: NodeAnnouncement) -> Cluster:
        """Wait at `--master` until all nodes are here."""
        from pdtriage.launch.rendezvous.master import meet

        self._rendezvous = meet(
            self.flags,
            self._pod,
            announcement,
            self._environ,
            self._observer,
            self._wait,
            self._secret,
        )
        self._secret = self._rendezvous.secret
        self._open.callback(self._rendezvous.close)
        return self._rendezvous.cluster

    def open_channel(self, cluster: Cluster) -> FactsChannel | None:
        """The exchange of facts; None on a single node, or where it cannot be opened."""
        try:
            return self._open_channel(cluster)
        except OSError as error:
            self._observer.notice(Noted(no_channel(error), "WARNING"))
            return None

    def _open_channel(self, cluster: Cluster) -> FactsChannel | None:
        if self._elastic is not None:
            return self._opened(self._elastic.open_channel(cluster))
        port = self.flags.facts_port
        if len(cluster.nodes) < 2 or (self._rendezvous is None and port == 0):
            return None
        from pdtriage.launch.rendezvous.job_secret import exchange_of
        from pdtriage.launch.rendezvous.peer_channel import FactsChannel, open_static_channel

        job, deliver = self.flags.job_id, self._watch.send
        if self._rendezvous is not None:
            host = self._rendezvous.server
            client = exchange_of(self._rendezvous.client, self._secret, self._launch, cluster)
            serve = None if host is not None else self._rendezvous.take_over
            place, odd = self._rendezvous.client.host, self._rendezvous.notes
            channel = FactsChannel(
                client, cluster, job, deliver, serve=serve, host=host, address=place, odd=odd
            )
        else:
            channel = open_static_channel(
                cluster, job, port, deliver, secret=self._secret, launch=self._launch
            )
        if self._rendezvous is None and cluster.node_rank == 0 and not channel.is_served:
            self._observer.notice(Noted(_no_exchange(port), "WARNING"))
        self._opened(channel)
        channel.gather(self._wait)
        return channel

    def close(self) -> None:
        self._open.close()

    def _opened(self, channel: FactsChannel | None) -> FactsChannel | None:
        if channel is not None:
            self._open.callback(channel.close)
        return channel

    def _wait(self, seconds: float) -> None:
        for occurrence in self._watch.wait(seconds):
            if isinstance(occurrence, SignalReceived):
                raise StopRequested(occurrence.signal)


def no_channel(error: OSError) -> Text:
    return Text(
        f"this node cannot hear what the others tell ({error.strerror}): should one of them fail, "
        "its processes here go on until they notice themselves",
        f"本节点收不到其他节点的消息（{error.strerror}）：其他节点失败时，本节点的进程要到自己发现时才会结束",
    )


def _no_exchange(port: int) -> Text:
    return Text(
        f"port {port} cannot be opened: until it is free the nodes may not be able to tell each "
        "other what they see (--facts-port chooses another)",
        f"无法打开端口 {port}：在它空闲之前，各节点可能不能互通故障信息"
        "（可用 --facts-port 换端口）",
    )
