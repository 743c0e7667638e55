"""Says once what looks like a cause, while the job still runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from pdtriage.knowledge import Knowledge
from pdtriage.live.followed_log import Hearing
from pdtriage.model import Rank, Role
from pdtriage.record.schema import PeerRecord
from pdtriage.runs.peer_ranks import ranks_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text
from pdtriage.verdict.rank_reading import Observation, read_rank
from pdtriage.verdict.suspects import CONSEQUENCES

PATIENCE = 0.5
"""Seconds without a step after which an error that ended nothing yet was not survived."""
GATHERING = 2.0
"""The same cause on further ranks is told together, this often."""
MOST_RANKS = 16
MOST_PEERS = 1 << 20
ROLES: dict[str, Role] = {"server": "server", "heter": "heter", "coordinator": "coordinator"}


class Announcement(NamedTuple):
    """One cause, seen live."""

    who: Text
    """`rank 4 on 192.168.0.2`."""
    title: Text
    place: str
    """`workerlog.4:1831`."""

    def sentence(self) -> Text:
        return Text(
            f"{self.who.en}: {self.title.en}, {self.place}",
            f"{self.who.zh}：{self.title.zh}，{self.place}",
        )


@dataclass
class _Waiting:
    found: Observation
    since: float


@dataclass
class Announcer:
    """Looks at alarmed logs and decides what is worth a line."""

    knowledge: Knowledge
    only: frozenset[int] | None = None
    """Set when the job is being stopped: what a process says while it is ended is no news."""
    causes: int = 0
    """How many different ones were told."""
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _told: dict[str, set[str]] = field(default_factory=dict)
    """By signature: logs whose cause of that kind was told."""
    _same: dict[str, list[str]] = field(default_factory=dict)
    _gathered: float = 0.0

    def consider(self, hearings: Iterable[Hearing], dead: Collection[int] = ()) -> list[Text]:
        """The lines to say now; processes that are `dead` did not survive their errors."""
        said: list[Text] = []
        moment = time.monotonic()
        for hearing in hearings:
            waiting = self._waiting.get(hearing.path)
            pid = hearing.process.pid if hearing.process else 0
            over = pid in dead
            due = waiting is not None and (over or moment - waiting.since >= PATIENCE)
            if not (hearing.alarmed or due) or not hearing.may_ask():
                continue
            if self.only is None or pid in self.only:
                said += self._ask(hearing, moment, over)
        return said + self._gather(moment)

    def of_peer(self, peer: PeerRecord) -> list[Text]:
        """What another node saw, in our own words and with its evidence."""
        ranks = ranks_of(peer.node, peer.facts, self.knowledge, MOST_PEERS)
        said = []
        for rank in ranks:
            found = read_rank(rank, self.knowledge).primary
            if found is None or found.category in CONSEQUENCES:
                continue
            name = f"{peer.node} {_name(rank.role, rank.rank)}"
            told = self._told.setdefault(found.event.signature, set())
            if name not in told:
                told.add(name)
                said.append(_of_rank(peer, rank, found).sentence())
        if said or not peer.facts.failed:
            return said[:MOST_RANKS]
        return [_failed(peer, {rank.rank for rank in ranks})]

    def _ask(self, hearing: Hearing, moment: float, over: bool) -> list[Text]:
        found = self._primary(hearing)
        waiting = self._waiting.pop(hearing.path, None)
        if found is None or hearing.path in self._told.get(found.event.signature, ()):
            return []
        same = waiting is not None and waiting.found.event.line == found.event.line
        since = waiting.since if waiting is not None and same else moment
        if not (over or found.event.final) and moment - since < PATIENCE:
            self._waiting[hearing.path] = _Waiting(found, since)
            return []
        return self._tell(hearing, found)

    def _tell(self, hearing: Hearing, found: Observation) -> list[Text]:
        told = self._told.setdefault(found.event.signature, set())
        told.add(hearing.path)
        if len(told) > 1:
            self._same.setdefault(found.event.signature, []).append(name_of(hearing))
            return []
        self.causes += 1
        place = f"{hearing.file.path.rpartition('/')[2]}:{found.event.line}"
        return [Announcement(who_is(hearing), found.signature.title, place).sentence()]

    def _gather(self, moment: float) -> list[Text]:
        if not self._same or moment - self._gathered < GATHERING:
            return []
        self._gathered = moment
        said = []
        for signature, names in self._same.items():
            more = f", … ({len(names)})" if len(names) > MOST_RANKS else ""
            listed = ", ".join(names[:MOST_RANKS]) + more
            title = self.knowledge.signatures[signature].title
            said.append(Text(f"{listed}: {title.en}, too", f"{listed}：同样，{title.zh}"))
        self._same.clear()
        return said

    def _primary(self, hearing: Hearing) -> Observation | None:
        facts = hearing.facts()
        process = hearing.process
        rank = Rank(
            role=ROLES.get(process.role, "worker") if process else "worker",
            rank=process.rank if process else None,
            events=tuple(
                (facts.file.path, event)
                for event in facts.events
                if event.offset >= hearing.news_from
            ),
            progress=facts.progress,
        )
        found = read_rank(rank, self.knowledge).primary
        return None if found is None or found.category in CONSEQUENCES else found


def _of_rank(peer: PeerRecord, rank: Rank, found: Observation) -> Announcement:
    place = f"{found.file.rpartition(':')[2]}:{found.event.line}: {found.event.text}"
    who, node = _name(rank.role, rank.rank), peer.node
    shown = Text(
        f"{who} on {rank.host or f'node {node}'}", f"{who}（{rank.host or f'节点 {node}'}）"
    )
    return Announcement(shown, found.signature.title, place)


def _failed(peer: PeerRecord, own: Collection[int | None]) -> Text:
    rank = peer.facts.rank
    if rank is None:
        return Text(f"node {peer.node} failed", f"节点 {peer.node} 失败")
    if rank in own:
        return Text(f"node {peer.node} failed: rank {rank}", f"节点 {peer.node} 失败：rank {rank}")
    return Text(
        f"node {peer.node} failed; it blames rank {rank}",
        f"节点 {peer.node} 失败；它认为原因在 rank {rank}",
    )


def name_of(hearing: Hearing) -> str:
    process = hearing.process
    if process is None or process.rank is None:
        return hearing.file.path.rpartition("/")[2]
    return _name(process.role, process.rank)


def _name(role: str, rank: int | None) -> str:
    return f"{'rank' if role == 'worker' else role} {rank}"


def who_is(hearing: Hearing) -> Text:
    process = hearing.process
    name = name_of(hearing)
    host = process.endpoint.rpartition(":")[0] if process and process.endpoint else ""
    return Text(f"{name} on {host}", f"{name}（{host}）") if host else Text(name, name)
