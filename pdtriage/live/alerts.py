"""Tells once of what looks like a cause, while the job still runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from pdtriage.knowledge import Knowledge
from pdtriage.live.followed_log import FollowedLog
from pdtriage.model import Rank, Role
from pdtriage.model.kinds import process_name
from pdtriage.record.schema import PeerRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # Most jobs give no reason to judge anybody: what that needs is imported with the first one.
    from pdtriage.verdict.rank_reading import Observation

PATIENCE = 0.5
"""Seconds without a step after which an error that ended nothing yet was not survived."""
TOGETHER_EVERY = 2.0
"""Seconds between two alerts of the same cause on further ranks."""
MOST_RANKS = 16
MOST_PEERS = 1 << 20
ROLES: dict[str, Role] = {"server": "server", "heter": "heter", "coordinator": "coordinator"}


class _Undecided(NamedTuple):
    """An error that its process may yet survive."""

    error: Observation
    since: float


class Alerts:
    """Looks at suspicious logs and decides what is worth a line."""

    def __init__(self, knowledge: Knowledge, only: frozenset[int] | None = None) -> None:
        """`only` is set when the job is being stopped: what a process writes while it is ended is
        no news."""
        self.knowledge = knowledge
        self.only = only
        self._undecided: dict[str, _Undecided] = {}
        self._alerted: dict[str, set[str]] = {}
        """By signature: logs whose cause of that kind was told of."""
        self._same: dict[str, list[str]] = {}
        """By signature: further ranks with that cause, to be told of together."""
        self._together_at = 0.0

    def in_logs(self, logs: Iterable[FollowedLog], dead: Collection[int] = ()) -> list[Text]:
        """The alerts that are due; processes that are `dead` did not survive their errors."""
        alerts: list[Text] = []
        moment = time.monotonic()
        for log in logs:
            undecided, is_suspicious = self._undecided.get(log.path), log.is_suspicious()
            if undecided is None and not is_suspicious:  # as nearly all, ten times a second
                continue
            pid = log.process.pid if log.process else 0
            over = pid in dead
            due = undecided is not None and (over or moment - undecided.since >= PATIENCE)
            if not (is_suspicious or due) or not log.may_take_facts():
                continue
            if self.only is None or pid in self.only:
                alerts += self._in_log(log, moment, over)
        return alerts + self._of_further_ranks(moment)

    def of_peer(self, peer: PeerRecord) -> list[Text]:
        """What another node saw, in our own words and with its evidence."""
        from pdtriage.runs.peer_ranks import ranks_of

        ranks = ranks_of(peer.node, peer.facts, self.knowledge, MOST_PEERS)
        alerts = []
        for rank in ranks:
            error = self._error_of(rank)
            if error is None:
                continue
            name = f"{peer.node} {process_name(rank.role, rank.rank)}"
            alerted = self._alerted.setdefault(error.event.signature, set())
            if name not in alerted:
                alerted.add(name)
                alerts.append(_alert_of_peer(peer, rank, error))
        if alerts or not peer.facts.failed or self.only is not None:
            return alerts[:MOST_RANKS]  # who breaks while this node stops breaks for that
        return [_failed(peer, {rank.rank for rank in ranks})]

    def _in_log(self, log: FollowedLog, moment: float, over: bool) -> list[Text]:
        error = self._error_in(log)
        undecided = self._undecided.pop(log.path, None)
        if error is None or log.path in self._alerted.get(error.event.signature, ()):
            return []
        same = undecided is not None and undecided.error.event.line == error.event.line
        since = undecided.since if undecided is not None and same else moment
        if not (over or error.event.final) and moment - since < PATIENCE:
            self._undecided[log.path] = _Undecided(error, since)
            return []
        alerted = self._alerted.setdefault(error.event.signature, set())
        alerted.add(log.path)
        if len(alerted) > 1:
            self._same.setdefault(error.event.signature, []).append(log_owner(log))
            return []
        where = f"{log.file.path.rpartition('/')[2]}:{error.event.line}"
        return [_alert(_name_and_host(log), error, where)]

    def _of_further_ranks(self, moment: float) -> list[Text]:
        if not self._same or moment - self._together_at < TOGETHER_EVERY:
            return []
        self._together_at = moment
        alerts = []
        for signature, names in self._same.items():
            more = f", … ({len(names)})" if len(names) > MOST_RANKS else ""
            listed = ", ".join(names[:MOST_RANKS]) + more
            title = self.knowledge.signatures[signature].title
            alerts.append(Text(f"{listed}: {title.en}, too", f"{listed}：同样，{title.zh}"))
        self._same.clear()
        return alerts

    def _error_in(self, log: FollowedLog) -> Observation | None:
        facts, process = log.facts(), log.process
        path = facts.file.path
        rank = Rank(
            role=ROLES.get(process.role, "worker") if process else "worker",
            rank=process.rank if process else None,
            events=tuple((path, e) for e in facts.events if e.offset >= log.news_from),
            progress=facts.progress,
        )
        return self._error_of(rank)

    def _error_of(self, rank: Rank) -> Observation | None:
        """What this process failed of, unless it only followed another one."""
        from pdtriage.verdict.rank_reading import read_rank
        from pdtriage.verdict.suspects import CONSEQUENCES

        error = read_rank(rank, self.knowledge).primary
        return None if error is None or error.category in CONSEQUENCES else error


def log_owner(log: FollowedLog) -> str:
    """`rank 4`, or the name of the file where nobody knows whose it is."""
    process = log.process
    if process is None or process.rank is None:
        return log.file.path.rpartition("/")[2]
    return process_name(process.role, process.rank)


def _name_and_host(log: FollowedLog) -> Text:
    """`rank 4 on 192.168.0.2`."""
    process, name = log.process, log_owner(log)
    host = process.endpoint.rpartition(":")[0] if process and process.endpoint else ""
    return Text(f"{name} on {host}", f"{name}（{host}）") if host else Text(name, name)


def _alert(who: Text, error: Observation, where: str) -> Text:
    from pdtriage.masking.secrets import masked_text

    title, where = error.title, masked_text(where)[0]
    en, zh = masked_text(title.en)[0], masked_text(title.zh)[0]
    return Text(f"{who.en}: {en}, {where}", f"{who.zh}：{zh}，{where}")


def _alert_of_peer(peer: PeerRecord, rank: Rank, error: Observation) -> Text:
    name = process_name(rank.role, rank.rank)
    who = Text(
        f"{name} on {rank.host or f'node {peer.node}'}",
        f"{name}（{rank.host or f'节点 {peer.node}'}）",
    )
    where = f"{error.file.rpartition(':')[2]}:{error.event.line}: {error.event.text}"
    return _alert(who, error, where)


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
