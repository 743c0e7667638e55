"""How long servers are needed: until all trainers, here and elsewhere, have ended well."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from pdtriage.launch.plan.collective import Plan
from pdtriage.launch.supervise.events import PeerSpoke
from pdtriage.launch.supervise.spawn import Child
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel

LOST_AFTER = 30.0
"""Seconds after our own trainers have ended in which a node that is not heard of may still be
training; after that nobody waits for it any more."""
LEAVE_TIME = 5.0
"""Seconds all trainers have to finish once a server has left with 0: those that told it to go
still have to end themselves, and those of other nodes to be heard of."""
_ENDED = ("trained", "done", "stopped", "failed")


def lifetime_of(plan: Plan, children: Sequence[Child], channel: FactsChannel | None) -> Lifetime:
    """Of the servers that `plan` starts on this node."""

    def tell_trained() -> None:
        if channel is not None:
            channel.publish("trained")

    return Lifetime(
        [child.pid for child in children if child.plan.role == "worker"],
        [node for node in plan.trainer_nodes if node != plan.cluster.node_rank],
        servers=[child.pid for child in children if child.plan.role == "server"],
        is_heard=channel.is_heard if channel is not None else None,
        on_trained=tell_trained,
    )


def left_early(rank: int) -> Text:
    """Said at once; it may still turn out that its trainers are about to end."""
    return Text(
        f"server {rank} exited with code 0 while trainers still need it",
        f"server {rank} 以退出码 0 退出，而训练进程仍需要它",
    )


def deserted() -> Text:
    return Text(
        f"{LEAVE_TIME:.0f} s after a server has left, trainers are still running: the job has "
        "failed",
        f"服务进程退出 {LEAVE_TIME:.0f} 秒后仍有训练进程在运行：作业失败",
    )


class Lifetime:
    """Counts trainers: those of this node by their pids, those elsewhere by what nodes tell."""

    def __init__(
        self,
        trainers: Collection[int],
        elsewhere: Collection[int] = (),
        *,
        servers: Collection[int] = (),
        is_heard: Callable[[int], bool] | None = None,
        on_trained: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`elsewhere`: ranks of the other nodes with trainers; `is_heard`: whether such a node
        lives, None where nodes cannot tell each other anything."""
        self._trainers = set(trainers)
        self._training = set(elsewhere)
        self._servers = frozenset(servers)
        self._is_heard = is_heard
        self._on_trained = on_trained
        self._clock = clock
        self._serves_only = not trainers
        self._trained_at: float | None = None
        self._left_at: float | None = None

    def ended(self, pid: int) -> bool:
        """A process ended with 0 (one that fails ends the whole job); whether it is a server
        that somebody still needs."""
        if pid in self._trainers:
            self._trainers.remove(pid)
            if not self._trainers:
                self._trained_at = self._clock()
                self._on_trained()
        needed = pid in self._servers and self._somebody_trains()
        if needed and self._left_at is None:
            self._left_at = self._clock()
        return needed

    def is_deserted(self) -> bool:
        """A server has left with 0 and the trainers did not follow it in time."""
        waited = self._left_at is not None and self._clock() - self._left_at >= LEAVE_TIME
        return waited and self._somebody_trains()

    def hear(self, message: object) -> None:
        if isinstance(message, PeerSpoke) and message.facts.state in _ENDED:
            self._training.discard(message.node)

    def is_over(self) -> bool:
        """Nobody needs the servers of this node any more."""
        if self._trainers:
            return False
        if not self._training:
            return True
        if self._is_heard is None:
            # As Paddle: own trainers decide; servers alone stay until they end by themselves.
            return not self._serves_only
        return self._waited_enough() and not any(map(self._is_heard, self._training))

    def unheard(self) -> tuple[int, ...]:
        """Nodes that may still train, for all we know."""
        return tuple(sorted(self._training))

    def next_look(self) -> float | None:
        """When that may change without any news; None for never."""
        moments = []
        if self._left_at is not None and self._clock() - self._left_at < LEAVE_TIME:
            moments.append(self._left_at + LEAVE_TIME)
        if self._trained_at is not None and self._is_heard is not None:
            moments += [] if self._waited_enough() else [self._trained_at + LOST_AFTER]
        return min(moments, default=None)

    def _somebody_trains(self) -> bool:
        """As far as we know; a node that is not heard of does not count."""
        elsewhere = self._is_heard is not None and any(map(self._is_heard, self._training))
        return bool(self._trainers) or elsewhere

    def _waited_enough(self) -> bool:
        return self._trained_at is not None and self._clock() - self._trained_at >= LOST_AFTER
