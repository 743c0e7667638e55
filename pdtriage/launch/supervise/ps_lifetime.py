"""How long servers are needed: until all trainers, here and elsewhere, have ended well."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Literal

from pdtriage.launch.plan.process_plan import Plan
from pdtriage.launch.supervise.events import PeerSpoke
from pdtriage.record.schema import ProcessRecord
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


def lifetime_of(
    plan: Plan, processes: Sequence[ProcessRecord], channel: FactsChannel | None
) -> Lifetime:
    """How long the servers that `plan` starts on this node are needed."""
    return Lifetime(
        [process.pid for process in processes if process.role == "worker"],
        [node for node in plan.trainer_nodes if node != plan.cluster.node_rank],
        servers=[process.pid for process in processes if process.role == "server"],
        is_answering=channel.is_alive if channel is not None else None,
    )


class Lifetime:
    """Counts trainers: those of this node by their pids, those elsewhere by what nodes tell."""

    def __init__(
        self,
        trainers: Collection[int],
        elsewhere: Collection[int] = (),
        *,
        servers: Collection[int] = (),
        is_answering: Callable[[int], bool] | None = None,
    ) -> None:
        """`elsewhere`: ranks of the other nodes with trainers; `is_answering`: whether such a node
        lives, None where nodes cannot tell each other anything."""
        self._trainers = set(trainers)
        self._training = set(elsewhere)
        self._servers = frozenset(servers)
        self._is_answering = is_answering
        self._serves_only = not trainers
        self._trained_at: float | None = None
        self._left_at: float | None = None

    def end(self, pid: int, now: float) -> Literal["all-trained", "server-missed"] | None:
        """A process ended with 0 (one that fails ends the whole job): what that means."""
        if pid in self._trainers:
            self._trainers.remove(pid)
            if self._trainers:
                return None
            self._trained_at = now
            return "all-trained"
        if pid not in self._servers or not self._somebody_trains():
            return None
        if self._left_at is None:
            self._left_at = now
        return "server-missed"

    def is_deserted(self, now: float) -> bool:
        """A server has left with 0 and the trainers did not follow it in time."""
        waited = self._left_at is not None and now - self._left_at >= LEAVE_TIME
        return waited and self._somebody_trains()

    def learn(self, message: object) -> None:
        """A message of another node: it may say that its trainers have ended."""
        if isinstance(message, PeerSpoke) and message.facts.state in _ENDED:
            self._training.discard(message.node)

    def is_over(self, now: float) -> bool:
        """Whether nobody needs the servers of this node any more."""
        if self._trainers:
            return False
        if not self._training:
            return True
        if self._is_answering is None:
            # As Paddle: own trainers decide; servers alone stay until they end by themselves.
            return not self._serves_only
        return self._has_waited(now) and not any(map(self._is_answering, self._training))

    def unreported(self) -> tuple[int, ...]:
        """Nodes that may still train, for all we know."""
        return tuple(sorted(self._training))

    def next_look(self, now: float) -> float | None:
        """When that may change without any news; None for never."""
        moments = []
        if self._left_at is not None and now - self._left_at < LEAVE_TIME:
            moments.append(self._left_at + LEAVE_TIME)
        if self._trained_at is not None and self._is_answering is not None:
            moments += [] if self._has_waited(now) else [self._trained_at + LOST_AFTER]
        return min(moments, default=None)

    def left_early(self, rank: int | None) -> Text:
        """The note on a server that is missed; its trainers may still be about to end."""
        return Text(
            f"server {rank} exited with code 0 while trainers still need it",
            f"server {rank} 以退出码 0 退出，而训练进程仍需要它",
        )

    def deserted(self) -> Text:
        return Text(
            f"{LEAVE_TIME:.0f} s after a server has left, trainers are still running: the job has "
            "failed",
            f"服务进程退出 {LEAVE_TIME:.0f} 秒后仍有训练进程在运行：任务失败",
        )

    def _somebody_trains(self) -> bool:
        """Whether some trainer still trains, as far as we know; a node nobody hears of does not
        count."""
        elsewhere = self._is_answering is not None and any(map(self._is_answering, self._training))
        return bool(self._trainers) or elsewhere

    def _has_waited(self, now: float) -> bool:
        return self._trained_at is not None and now - self._trained_at >= LOST_AFTER
