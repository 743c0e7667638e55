"""What nodes tell each other while a job runs: that they live, and what they saw.

One key a node, outside the prefix Paddle counts. What comes from a peer is untrusted: limited in
size, depth and length, stripped of control characters, and reduced to what has the right shape.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.start_refusals import out_of_threads
from pdtriage.launch.rendezvous import meeting_words as words
from pdtriage.launch.rendezvous.job_secret import (
    Exchange,
    JobSecret,
    NodeExchange,
    exchange_of,
    ignored_note,
)
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.rendezvous.roll_call import RollCall
from pdtriage.launch.supervise.events import PeerBack, PeerDiffers, PeerSilent, PeerSpoke
from pdtriage.record.fields import count, decode_message, mapping
from pdtriage.record.fields import text as text_of
from pdtriage.record.peer_facts import decode_facts, encode_facts
from pdtriage.record.schema import PeerFacts
from pdtriage.record.stack_codec import short_stacks
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.model import Standstill

SILENT_AFTER = 3.0
MISSED_AFTER = 1.0
"""Seconds without a key that hangs on a lease: the lease itself was waited for already."""
_BEAT = 0.5
_HURRIED = 0.1
_WRITTEN_AFTER = 0.02
_UNHEARD = 10.0
"""Seconds a node may take from the meeting to its first word: it has to find its devices."""
_PATIENT, _MOST_PATIENT = 2.0, 10.0
"""Times the longest pause between beats that a busy machine made lately, and no more seconds."""
_PAUSES = 20
_LATE = 5.0
"""Seconds without the exchange at the beginning that are worth a note."""
_HEARD_AFTER = 3
"""Beats after which a node that lives has read what was written."""
_HOSTING = 3.0
"""Seconds the node that hosts the exchange stays for the others to read it."""

Message = PeerSpoke | PeerSilent | PeerBack | PeerDiffers


@dataclass(slots=True)
class _Peer:
    beat: int | None = None
    heard: float = 0.0
    heard_wall: float = 0.0
    """Before the last sign of life, and after the one before that."""
    met: tuple[float, float] | None = None
    """When it was known to take part and to have something to tell, by both clocks."""
    version: int | None = 0
    unheard: float = 0.0
    """Seconds in which it could have been heard and was not."""
    pauses: deque[float] = field(default_factory=lambda: deque(maxlen=_PAUSES))
    """Between its last beats."""
    silent: bool = False
    over: bool = False
    left: bool = False
    differs: bool = False


class FactsChannel:
    """Beats for this node and listens to the others, in a thread of its own."""

    def __init__(
        self,
        client: Exchange,
        cluster: Cluster,
        job: str,
        deliver: Callable[[Message], None],
        *,
        server: KVServer | None = None,
        serve: Callable[[], KVServer | None] | None = None,
        roll_call: RollCall | None = None,
        host: KVServer | None = None,
        address: str = "",
        leased: bool = False,
        lease_seconds: float = 0.0,
        odd: Sequence[Text] = (),
    ) -> None:
        """`address` is that of the machine that serves the exchange; `server` is closed with the
        channel; `serve` opens it where that can be done on this node and whoever served before,
        perhaps for another job, is gone; `host` is one on this node that somebody else closes, and
        has to stay until the others have read it; `leased` says that a key is there as long as its
        node is, so that nobody has to write only to show that it lives, and goes `lease_seconds`
        after the last sign of that; `odd` is what was noticed when the nodes met.
        An OSError says that there is no thread to listen with."""
        self._client = client
        # Without a secret anybody may have written it.
        self._hearsay = not (isinstance(client, NodeExchange) and client.is_signed)
        self._ranks_of = cluster.ranks_by_node
        self._hosts = cluster.nodes
        self._foreign = 0
        self._server = server
        self._host = host
        self._serve = serve
        self._gathered = roll_call
        self._roll_call: RollCall | None = None
        """While the job runs."""
        self._differs = False
        self._is_static = cluster.meeting in ("ips", "cloud")
        self._leased = leased
        self._lease_seconds = lease_seconds
        self._odd = odd
        self._silent_after = MISSED_AFTER if leased else SILENT_AFTER
        self._written = ""
        # Nodes of a parameter-server job may hold any number of processes.
        self._sizes = () if cluster.listed else tuple(map(len, cluster.endpoints))
        self._replicas = self._sizes[cluster.node_rank] if self._sizes else None
        self._deliver = deliver
        # Two jobs of the same name on one port must not hear each other.
        mark = zlib.crc32(",".join((*cluster.nodes, cluster.master)).encode())
        self._prefix = f"/{job}/pdtriage/{mark:08x}/"
        self.key = f"{self._prefix}{cluster.node_rank}"
        """Where this node writes."""
        self._peers = {
            rank: _Peer() for rank in range(len(cluster.nodes)) if rank != cluster.node_rank
        }
        # Who knows the secret runs pdtriage, and so speaks; Paddle's launcher has nothing to tell.
        if cluster.meeting == "master" and not self._hearsay and not leased:
            self._meet(self._peers)
        there = [rank for rank, node in enumerate(cluster.nodes) if node == address]
        likely = there or list(range(2 if len(cluster.nodes) == 2 else 0))
        self._serving = set(likely[:1]) & set(self._peers)
        """The node whose silence is known where the exchange does not answer. Where it is this one,
        the others may live: Paddle's launcher takes the exchange with it when its ranks fail."""
        self._every = max(_BEAT, len(cluster.nodes) / 64)
        self._opened = self._listened_at = time.monotonic()
        self._looked = time.time()
        """When the exchange was asked before the last time: what is new since was written later."""
        self._lock = threading.Lock()
        self._state = "running"
        self._facts = PeerFacts()
        self._version = self._written_version = 0
        self._promised = 0
        self._wake = threading.Event()
        self._leaving = False
        self._closing = False
        self.reached: bool | None = None
        """Whether the place of exchange answered the last time; None before the first try."""
        self._reached_after: float | None = None
        self._thread = threading.Thread(target=self._loop, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._release()
            raise out_of_threads() from None

    def gather(self, wait: Callable[[float], None]) -> None:
        """Sees whether all nodes were told the same, before anything is started."""
        if self._gathered is not None:
            self._gathered.gather(wait)
            self._roll_call = self._gathered

    def publish(self, state: str, facts: PeerFacts | None = None) -> None:
        """Tell the others at once; for `state` see `PeerFacts`."""
        with self._lock:
            self._state = state
            self._version += 1
            told = self._facts if facts is None else facts
            self._facts = told._replace(state=state, stacks=self._facts.stacks)
        self._wake.set()

    def share_stacks(self, taken: Standstill) -> None:
        """Tell the others where the ranks of this node stand; none where they move again."""
        with self._lock:
            self._version += 1
            self._facts = self._facts._replace(stacks=short_stacks(taken.stacks))
        self._wake.set()

    def publish_later(self, state: str) -> Callable[[PeerFacts], None]:
        """Publishes facts that are still being found out: call the result with them."""
        with self._lock:
            self._promised += 1

        def publish(facts: PeerFacts) -> None:
            self.publish(state, facts)
            with self._lock:
                self._promised -= 1

        return publish

    def await_readers(self) -> None:
        """Waits until the others have had time to read what was published, some seconds at most:
        the place of exchange may go with what comes next."""
        deadline = time.monotonic() + _HOSTING
        while any(map(self.is_alive, self._peers)) and time.monotonic() < deadline:
            if self._written_version == self._version:
                time.sleep(min(_HEARD_AFTER * self._every, deadline - time.monotonic()))
                return
            time.sleep(_WRITTEN_AFTER)

    def has_published_all(self) -> bool:
        """Whether nothing that was to be published is still being found out."""
        return self._promised == 0

    @property
    def is_served(self) -> bool:
        """Whether this node has opened the place of exchange itself."""
        return self._server is not None

    def is_alive(self, rank: int) -> bool:
        """A node that has been heard of and has not fallen silent since."""
        peer = self._peers.get(rank)
        return peer is not None and peer.heard > 0.0 and not peer.silent

    def all_over(self) -> bool:
        """Every node that was ever heard of has failed, finished or fallen silent."""
        return all(peer.over or peer.silent or peer.heard == 0.0 for peer in self._peers.values())

    def may_fall_silent(self) -> bool:
        """Whether nothing has come of some node for several beats: soon it is known to be gone."""
        moment = time.monotonic()
        return any(
            peer.heard > 0.0 and moment - peer.heard > 2 * self._every
            for peer in self._peers.values()
            if not (peer.over or peer.silent)
        )

    def late(self) -> Text | None:
        """How long nothing could be heard at the beginning, for the report."""
        after = self._reached_after
        return words.exchange_reached_late(after) if after is not None and after > _LATE else None

    def missed(self) -> Text | None:
        """Whom nothing was heard of to the end, for the report."""
        if self.reached is False and not all(p.over or p.silent for p in self._peers.values()):
            return words.EXCHANGE_UNREACHED
        missed = [rank for rank, peer in self._peers.items() if peer.heard == 0.0]
        if not missed or not self._is_static:
            return None  # nodes of Paddle's launcher have nothing to tell
        return words.nodes_without_a_word(missed)

    def ignored(self) -> list[Text]:
        """What was not listened to, here or at the meeting, for the report."""
        found: list[Text | None] = [*self._odd]
        if isinstance(self._client, NodeExchange) and self._client.is_signed:
            found.append(ignored_note(self._client.ignored))
        if self._foreign:
            found.append(words.foreign_ranks_ignored(self._foreign))
        served = self._host or self._server
        if served is not None and served.store.refused:
            found.append(words.strangers_refused(served.store.refused))
        return [note for note in found if note is not None]

    def close(self) -> None:
        self._leaving = True
        self._wake.set()
        hosting = self._host or self._server
        deadline = time.monotonic() + (_HOSTING if hosting is not None else 0)
        while not self._all_left() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._closing = True
        self._wake.set()
        self._thread.join(timeout=self._client.timeout + 1)
        self._release()

    def _release(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._gathered is not None:
            self._gathered.close()

    def _all_left(self) -> bool:
        # A node that was not heard of yet may still be about to read who takes part.
        young = time.monotonic() - self._opened < _HOSTING
        return all(
            peer.left or peer.silent or (peer.heard == 0.0 and not young)
            for peer in self._peers.values()
        )

    def _loop(self) -> None:
        count = 0
        while True:
            count += 1
            closing = self._closing
            reached = self._write(count)
            asked = time.time()
            found = self._client.get_prefix(self._prefix) if reached else None
            if found is None and not closing and self._server is None and self._serve is not None:
                self._server = self._serve()
            if found is not None and self.reached is False and self._leased:
                self._wait_anew()
            self.reached = found is not None
            if self.reached and self._reached_after is None:
                self._reached_after = time.monotonic() - self._opened
            if found is not None:
                self._written = found.get(self.key, "")
                for key, text in found.items():
                    self._read_peer(key, text)
                self._looked = asked
            self._report_silence(self._may_be_missed(found is not None))
            self._call_the_roll()
            if closing:
                return
            self._wake.wait(_HURRIED if self._leaving else self._every)
            self._wake.clear()

    def _call_the_roll(self) -> None:
        """Nodes may come, and be told something else, when others are at work already."""
        roll_call = self._roll_call
        if roll_call is None:
            return
        if self._state != "running" or self._leaving:
            self._roll_call = None
            roll_call.leave()
            return
        differs = roll_call.look()
        if not self._hearsay:
            self._meet(roll_call.here & self._peers.keys())
        if differs is not None and not self._differs:
            self._differs = True
            own = self._replicas or 0
            self._deliver(
                PeerDiffers(differs.node, differs.processes, own, self._hearsay, differs.text)
            )

    def _write(self, count: int) -> bool:
        with self._lock:
            version = self._version
            message = {
                "beat": 0 if self._leased else count,
                "state": self._state,
                "version": version,
                "replicas": self._replicas,
                "leaving": self._leaving,
                "facts": encode_facts(self._facts),
            }
        text = json.dumps(message, ensure_ascii=False)
        if self._leased and text == self._written:
            return True
        done = self._client.put(self.key, text)
        if done:
            self._written_version = version
        return done

    def _read_peer(self, key: str, text: str) -> None:
        name = key.rpartition("/")[2]
        peer = self._peers.get(int(name)) if name.isascii() and name.isdecimal() else None
        message = decode_message(text) if peer is not None else None
        if peer is None or message is None:
            return
        rank = int(name)
        beat = count(message, "beat")
        if self._leased or beat != peer.beat:
            peer.beat = beat
            moment = time.monotonic()
            if peer.heard > 0.0:
                peer.pauses.append(moment - peer.heard)
            peer.heard, peer.heard_wall, peer.unheard = moment, self._looked, 0.0
            if peer.silent:
                peer.silent = False
                self._deliver(PeerBack(rank))
        replicas, own = count(message, "replicas"), self._replicas
        differs = bool(self._sizes) and replicas not in (None, self._sizes[rank])
        if own is not None and replicas is not None and differs and not peer.differs:
            peer.differs = True
            self._deliver(PeerDiffers(rank, replicas, own, self._hearsay))
        state, version = text_of(message, "state"), count(message, "version")
        if version != peer.version:
            peer.version = version
            facts = self._own_ranks(rank, decode_facts(mapping(message, "facts")))
            host = self._hosts[rank]
            self._deliver(PeerSpoke(rank, facts._replace(state=state), self._hearsay, host))
        # Only now: who waits for the end of a peer must find its last words delivered.
        peer.over = peer.over or state in ("failed", "stopped", "done")
        peer.left = message.get("leaving") is True

    def _own_ranks(self, node: int, facts: PeerFacts) -> PeerFacts:
        """A node speaks of its own ranks only."""
        known = self._ranks_of[node] if self._ranks_of else None
        if known is None:
            return facts
        own = tuple(rank for rank in facts.ranks if rank.role != "worker" or rank.rank in known)
        self._foreign += len(facts.ranks) - len(own)
        stacks = tuple(s for s in facts.stacks if s.role != "worker" or s.rank in known)
        if facts.role == "worker" and facts.rank not in known:
            # Whom it accuses is for us to find out; how that one ended, it cannot know.
            facts = facts._replace(code=None, signal=None)
        return facts._replace(ranks=own, stacks=stacks)

    def _wait_anew(self) -> None:
        """The place of exchange was away, and leases ran out meanwhile: nobody's fault."""
        for peer in self._peers.values():
            if peer.heard > 0.0:
                peer.heard = time.monotonic()

    def _meet(self, ranks: Collection[int]) -> None:
        for rank in ranks:
            peer = self._peers[rank]
            peer.met = peer.met or (time.monotonic(), time.time())

    def _may_be_missed(self, reached: bool) -> Collection[int]:
        """Who would have been heard now, did it live."""
        if reached:
            return self._peers
        # An exchange of this node that does not answer is late, as is all of its machine.
        own = self._leased or self._host is not None or self._server is not None
        return () if own else self._serving

    def _report_silence(self, ranks: Collection[int]) -> None:
        moment = time.monotonic()
        # A machine that stood still, or had no time for us, has not listened meanwhile: one look
        # that came late makes nobody silent.
        listened = min(moment - self._listened_at, self._silent_after / 2)
        self._listened_at = moment
        for rank in ranks:
            peer = self._peers[rank]
            if peer.silent or peer.over:
                continue
            if peer.heard > 0.0:
                last, since, patience = peer.heard, peer.heard_wall, self._silent_after
            elif peer.met is not None:
                (last, since), patience = peer.met, _UNHEARD
            else:
                continue
            quiet = moment - last
            peer.unheard = min(quiet, peer.unheard + listened)
            if peer.unheard > max(patience + self._every, _patience_with(peer)):
                peer.silent = True
                unheard = round(quiet + self._lease_seconds, 1)
                since -= self._lease_seconds
                self._deliver(PeerSilent(rank, unheard, since, self._hosts[rank]))


def _patience_with(peer: _Peer) -> float:
    """Seconds that a node may take whose beats come late."""
    return min(_MOST_PATIENT, _PATIENT * max(peer.pauses, default=0.0))


def open_static_channel(
    cluster: Cluster,
    job: str,
    port: int,
    deliver: Callable[[Message], None],
    *,
    secret: JobSecret | None = None,
    launch: str = "",
) -> FactsChannel:
    """The exchange of an `--ips` job: node 0 serves on `port`, as soon as that is free."""
    host = cluster.nodes[0]

    def serve() -> KVServer | None:
        # A name may resolve to an address that only the others can use.
        for address in (host, ""):
            with contextlib.suppress(OSError):
                return KVServer(port, address, secret)
        return None

    own = cluster.node_rank == 0
    client = exchange_of(KVClient(host, port, secret=secret), secret, launch, cluster)
    return FactsChannel(
        client,
        cluster,
        job,
        deliver,
        server=serve() if own else None,
        serve=serve if own else None,
        roll_call=RollCall(cluster, job, port, launch, secret),
        address=host,
    )
