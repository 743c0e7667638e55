"""The one loop that decides: who died, when the rest is stopped, when it is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pdtriage.launch.elastic.news import EtcdBack, EtcdSilent, Expelled, News, WorldChanges
from pdtriage.launch.supervise.event_loop import (
    Death,
    EventLoop,
    Message,
    Occurrence,
    SignalReceived,
)
from pdtriage.launch.supervise.events import (
    Died,
    Interrupted,
    Noted,
    Observer,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    Stopping,
    Trained,
)
from pdtriage.launch.supervise.guardian import end_members
from pdtriage.launch.supervise.processes import members_of_launch, send_to_group
from pdtriage.launch.supervise.spawn import Child
from pdtriage.record.schema import DeathRecord, PeerRecord, SignalRecord
from pdtriage.record.writer import Recorder, now
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.launch.supervise.ps_lifetime import Lifetime

_DOUBLE = 0.1
"""Two SIGINTs closer than this are one: wrappers pass on what the terminal also sent."""


_SIGNAL_REASONS = {"failed": "failure", "interrupted": "interrupt", "reform": "peer"}


class Patience(NamedTuple):
    """How long to wait for what."""

    settle: float
    failure_grace: float
    interrupt_grace: float


class Ending(NamedTuple):
    """How it came to an end, as far as this node knows."""

    reason: str
    """`completed`, `failed`, `interrupted`, `peer`, `reform` or `refused`."""
    interrupted_by: int | None
    deaths: tuple[DeathRecord, ...]


class Supervisor:
    """Watches the children of one attempt until none is left."""

    def __init__(
        self,
        launch: str,
        children: Sequence[Child],
        watch: EventLoop,
        recorder: Recorder,
        observer: Observer,
        patience: Patience,
        *,
        besides: frozenset[int] = frozenset(),
        on_failure: Callable[[], None] = lambda: None,
        on_interrupt: Callable[[], None] | None = None,
        on_suspicion: Callable[[], None] | None = None,
        lifetime: Lifetime | None = None,
    ) -> None:
        """`on_failure` is called when all has settled, `on_suspicion` at the first failure.

        `lifetime`: how long servers are needed; None where everybody ends by itself.
        """
        self.launch = launch
        self.children = {child.pid: child for child in children}
        self.alive = dict(self.children)
        self.watch = watch
        self.recorder = recorder
        self.observer = observer
        self.patience = patience
        self.besides = besides | {os.getpid()}
        self.on_failure = on_failure
        self.on_interrupt = on_interrupt
        self.on_suspicion = on_suspicion
        self.lifetime = lifetime
        self.deaths: list[DeathRecord] = []
        self.signalled: set[int] = set()
        self.reason: str | None = None
        self.interrupted_by: int | None = None
        self.interrupted_at = 0.0
        self.hurry = False
        self._announced = False
        self._trained = False
        self._stop_at: float | None = None
        self._kill_at: float | None = None
        self._grace = patience.failure_grace
        self._next_beat = time.monotonic()

    def run(self) -> Ending:
        while self.alive:
            self._turn(self._patience_left())
            self._act_on_time()
        if self.on_suspicion is not None:
            self._hear_out()
        self._announce()
        self._sweep()
        return Ending(self.reason or "completed", self.interrupted_by, tuple(self.deaths))

    def listen(self, seconds: float, until: Callable[[], bool]) -> None:
        """Stay open for what other nodes have to say, after all processes have ended."""
        deadline = time.monotonic() + seconds
        told = self.interrupted_by
        while not until() and time.monotonic() < deadline and not self.hurry:
            self._turn(0.05)
            if self.interrupted_by != told:
                return
        # What made it true may still lie in the queue.
        self._turn(0)

    def _hear_out(self) -> None:
        """All have failed here at once; it may turn out that the others stopped before."""
        while self.reason == "failed" and self._stop_at is not None and not self._announced:
            left = self._stop_at - time.monotonic()
            if left <= 0:
                return
            self._turn(left)

    def _turn(self, timeout: float | None) -> None:
        for occurrence in self.watch.wait(timeout):
            self._take(occurrence)
        beat = self.observer.beat_seconds
        if beat is not None and time.monotonic() >= self._next_beat:
            self.observer.beat()
            self._next_beat = time.monotonic() + beat

    def _take(self, occurrence: Occurrence) -> None:
        if isinstance(occurrence, Death):
            self._death(occurrence)
        elif isinstance(occurrence, SignalReceived):
            self._told(occurrence.signal)
        elif isinstance(occurrence, (WorldChanges, EtcdSilent, EtcdBack, Expelled)):
            self._news(occurrence)
        else:
            self._message(occurrence)

    def _death(self, death: Death) -> None:
        child = self.alive.pop(death.pid)
        record = DeathRecord(
            order=len(self.deaths),
            role=child.plan.role,
            rank=child.plan.rank,
            local_rank=child.plan.local_rank,
            pid=death.pid,
            time=death.time,
            monotonic=death.monotonic,
            code=death.code,
            signal=death.signal,
            core=death.core,
            stopped=death.pid in self.signalled,
            user_seconds=death.user_seconds,
            system_seconds=death.system_seconds,
            max_rss_kb=death.max_rss_kb,
        )
        self.deaths.append(record)
        self.recorder.death(record)
        failed = death.code != 0 and not record.stopped
        first = failed and self.reason is None
        if first:
            self.reason = "failed"
            self._stop_at = death.monotonic + self.patience.settle
            if self.on_suspicion is not None:
                self.on_suspicion()
        self.observer.notice(Died(record, first))
        well = death.code == 0 and self.reason is None
        if self.lifetime is not None and well and self.lifetime.ended(death.pid):
            from pdtriage.launch.supervise.ps_lifetime import left_early

            self.observer.notice(Noted(left_early(child.plan.rank), "WARNING"))

    def _told(self, number: int) -> None:
        moment = time.monotonic()
        if self.interrupted_by is None:
            self.interrupted_by, self.interrupted_at = number, moment
            self.observer.notice(Interrupted(number))
            name = signal.Signals(number).name
            self.recorder.note(Text(f"told to stop by {name}", f"收到 {name}，按要求停止"))
            if self.on_interrupt is not None:
                self.on_interrupt()
            if self.reason is None:
                self.reason = "interrupted"
                self._grace = self.patience.interrupt_grace
            self._stop_at = moment
        elif number == signal.SIGINT and moment - self.interrupted_at > _DOUBLE:
            self.hurry = True
            self._stop_at = self._kill_at = moment
            self.observer.notice(Interrupted(number, again=True))

    def _message(self, message: Message) -> None:
        self.observer.notice(message)
        self.recorder.peer(peer_record(message))
        if self.lifetime is not None:
            self.lifetime.hear(message)
        if self.reason is not None:
            return
        if isinstance(message, PeerDiffers):
            self.reason = "refused"
            self._stop_at = time.monotonic()
        elif isinstance(message, PeerSpoke) and message.facts.failed:
            self.reason = "peer"
            self._stop_at = time.monotonic() + self.patience.settle

    def _news(self, news: News) -> None:
        self.recorder.note(news.text)
        self.observer.notice(Noted(news.text, "WARNING"))
        # Who fails while the others already stop, fails because they do.
        failing = self.reason == "failed" and not self._announced
        if isinstance(news, (WorldChanges, Expelled)) and (self.reason is None or failing):
            self.reason = "reform"
            self._stop_at = time.monotonic()

    def _patience_left(self) -> float | None:
        look = self.lifetime.next_look() if self.lifetime is not None else None
        waited_for = (self._stop_at, self._kill_at, look)
        moments = [moment for moment in waited_for if moment is not None]
        if self.observer.beat_seconds is not None:
            moments.append(self._next_beat)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _act_on_time(self) -> None:
        moment = time.monotonic()
        if self.lifetime is not None and self.reason is None and self.lifetime.is_deserted():
            from pdtriage.launch.supervise.ps_lifetime import deserted

            self.reason = "failed"
            self._stop_at = moment
            self.observer.notice(Noted(deserted(), "ERROR"))
        if self.lifetime is not None and self._is_trained(self.lifetime):
            self._trained = True
            self._stop_at = moment
            unheard = self.lifetime.unheard()
            if unheard:
                self.recorder.note(
                    Text(
                        f"servers stopped; not heard of node {unheard[0]}",
                        f"server 已停止；没有收到节点 {unheard[0]} 的消息",
                    )
                )
            self.observer.notice(Trained(unheard))
        if self._stop_at is not None and moment >= self._stop_at:
            self._stop_at = None
            if self._kill_at is None:
                self._kill_at = moment + self._grace
                self._signal_all(signal.SIGTERM)
            self._announce()
        if self._kill_at is not None and moment >= self._kill_at:
            # Again each second: a process may fork while it is being ended.
            self._kill_at = moment + 1.0
            self._signal_all(signal.SIGKILL)

    def _is_trained(self, lifetime: Lifetime) -> bool:
        """Only servers are left, and nobody trains any more."""
        return self.reason is None and not self._trained and lifetime.is_over()

    def _announce(self) -> None:
        if self.reason == "failed" and not self._announced:
            self._announced = True
            self.on_failure()

    def _signal_all(self, number: int) -> None:
        if not self.alive:
            return
        reason = _SIGNAL_REASONS.get(self.reason or "", self.reason or "finished")
        who = tuple((child.plan.role, child.plan.rank) for child in self.alive.values())
        for pid, child in self.alive.items():
            # A child that was not collected yet still owns its pid, so this hits nobody else.
            self.signalled.add(pid)
            send_to_group(pid, number)
            self._record_signal(pid, child.plan.rank, number, reason)
        self.observer.notice(Stopping(reason, number, who))

    def _sweep(self) -> None:
        """End grandchildren that outlived their parents, also those that left the group."""
        sessions = {child.pid: child.born for child in self.children.values()}
        end_members(
            lambda: members_of_launch(self.launch, sessions, besides=self.besides),
            self._grace,
            sent=lambda pid, number: self._record_signal(pid, None, number, "leftover"),
            wait=self._turn,
            hurry=lambda: self.hurry,
        )

    def _record_signal(self, pid: int, rank: int | None, number: int, reason: str) -> None:
        self.recorder.signal(SignalRecord(pid, rank, int(number), reason, **now()))


def peer_record(message: Message) -> PeerRecord:
    """What came from another node, for the record."""
    time_of_day = now()["time"]
    if isinstance(message, PeerSpoke):
        return PeerRecord(message.node, "facts", time_of_day, facts=message.facts)
    if isinstance(message, PeerSilent):
        return PeerRecord(message.node, "silent", time_of_day, message.seconds)
    kind = "differs" if isinstance(message, PeerDiffers) else "back"
    return PeerRecord(message.node, kind, time_of_day)
