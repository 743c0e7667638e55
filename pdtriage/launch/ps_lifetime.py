"""How long servers are needed: until all trainers, here and elsewhere, have ended well."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from pdtriage.launch.happenings import PeerSpoke
from pdtriage.launch.plan import Plan
from pdtriage.launch.spawn import Child

if TYPE_CHECKING:
    from pdtriage.launch.facts import FactsChannel

LOST_AFTER = 30.0
"""Seconds after our own trainers have ended in which a node that is not heard of may still be
training; after that nobody waits for it any more."""
_ENDED = ("trained", "done", "stopped", "failed")


def lifetime_of(plan: Plan, children: Sequence[Child], channel: FactsChannel | None) -> Lifetime:
    """Of the servers that `plan` starts on this node."""

    def tell_trained() -> None:
        if channel is not None:
            channel.publish("trained")

    return Lifetime(
        [child.pid for child in children if child.plan.role == "worker"],
        [node for node in plan.trainer_nodes if node != plan.cluster.node_rank],
        is_heard=channel.is_heard if channel is not None else None,
        on_trained=tell_trained,
    )


class Lifetime:
    """Counts trainers: those of this node by their pids, those elsewhere by what nodes tell."""

    def __init__(
        self,
        trainers: Collection[int],
        elsewhere: Collection[int] = (),
        *,
        is_heard: Callable[[int], bool] | None = None,
        on_trained: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`elsewhere`: ranks of the other nodes with trainers; `is_heard`: whether such a node
        lives, None where nodes cannot tell each other anything."""
        self._trainers = set(trainers)
        self._training = set(elsewhere)
        self._is_heard = is_heard
        self._on_trained = on_trained
        self._clock = clock
        self._serves_only = not trainers
        self._trained_at: float | None = None

    def ended(self, pid: int) -> None:
        """A process ended with 0; one that fails ends the whole job."""
        if pid not in self._trainers:
            return
        self._trainers.remove(pid)
        if not self._trainers:
            self._trained_at = self._clock()
            self._on_trained()

    def hear(self, message: object) -> None:
        if isinstance(message, PeerSpoke) and message.facts.get("state") in _ENDED:
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
        if self._trained_at is None or self._is_heard is None or self._waited_enough():
            return None
        return self._trained_at + LOST_AFTER

    def _waited_enough(self) -> bool:
        return self._trained_at is not None and self._clock() - self._trained_at >= LOST_AFTER
