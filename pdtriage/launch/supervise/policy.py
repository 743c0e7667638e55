"""What to do when: the one supervision policy, for our own children and around Paddle's launcher.

`Policy.step(now, what happened)` answers with actions. It reads no clock, sends no signal and
writes nothing down: whoever supervises tells it what happened, does what it says, and comes back
when `deadline` has passed.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Literal

from pdtriage.launch.elastic.membership_events import Expelled, MembershipEvent, WorldChanges
from pdtriage.launch.supervise.event_loop import Message, SignalReceived
from pdtriage.launch.supervise.events import (
    Died,
    Interrupted,
    LaunchEvent,
    Noted,
    PeerBack,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    StacksTaken,
    StacksWanted,
    StopHung,
    Trained,
)
from pdtriage.launch.supervise.outcome import has_failed
from pdtriage.record.schema import DeathRecord, stopped_node
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.launch.options.flags import LaunchFlags
    from pdtriage.launch.supervise.ps_lifetime import Lifetime

DOUBLE = 0.1
"""Two SIGINTs closer than this are one: wrappers pass on what the terminal also sent."""
KILL_EVERY = 1.0
"""Seconds between SIGKILLs: a process may fork while it is being ended."""
STACKS_PATIENCE = 30.0
"""Seconds in which stacks are taken before a run is ended that took too long."""
_SIGNAL_REASONS = {
    "failed": "failure",
    "interrupted": "interrupt",
    "reform": "peer",
    "hung": "interrupt",
    "timeout": "interrupt",
}


class Patience(NamedTuple):
    """How long to wait for what, in seconds."""

    settle: float
    """After the first failure, for others to die of their own."""
    failure_grace: float
    """From SIGTERM to SIGKILL after a failure."""
    interrupt_grace: float
    """The same where somebody told us to stop."""


def patience_of(flags: LaunchFlags, beyond: float = 0.0) -> Patience:
    """What the flags ask for; after an interrupt, Paddle's launcher needs some seconds `beyond`."""
    return Patience(flags.settle, flags.failure_grace(), flags.interrupt_grace() + beyond)


class TimePassed:
    """All that has happened so far was told; some deadline may have passed."""


class StartedAgain:
    """Paddle's launcher has begun another attempt by itself."""


class AllEnded:
    """No process of the job is left."""


Input = (
    DeathRecord
    | SignalReceived
    | Message
    | MembershipEvent
    | TimePassed
    | StartedAgain
    | AllEnded
    | StacksTaken
    | StopHung
)


class Stop(NamedTuple):
    """SIGTERM to every process that is left."""

    reason: str


class Kill(NamedTuple):
    """SIGKILL to every process that is left."""

    reason: str


class Forward(NamedTuple):
    """Pass the signal on to Paddle's launcher."""

    signal: int


class Coordinate(NamedTuple):
    """Something other nodes have to do with."""

    what: Literal["failed", "interrupted", "trained", "leaving", "look"]
    """Tell them that it failed here, that we were told to stop, that our trainers are done, that we
    leave; or look whether they stopped before, and it failed here because of that."""
    signal: int | None = None
    """Which told us to stop."""


class Notify(NamedTuple):
    """Show this to whoever watches."""

    event: LaunchEvent


class Note(NamedTuple):
    """Put this into the record."""

    text: Text


Action = Stop | Kill | Forward | Coordinate | Notify | Note


class Policy:
    """Decides about the processes of one attempt on this node."""

    def __init__(
        self,
        patience: Patience,
        *,
        delegates: bool = False,
        elastic: bool = False,
        lifetime: Lifetime | None = None,
        until: float | None = None,
    ) -> None:
        """`until`: when the whole run has taken too long; None for never.

        `delegates`: Paddle's launcher stops the rest by itself; we only end what it leaves.

        `lifetime`: how long servers are needed; None where everybody ends by itself.
        """
        self.patience = patience
        self.delegates = delegates
        self.elastic = elastic
        self.lifetime = lifetime
        self.reason: str | None = None
        """Why the processes are to end, see `Ending.reason`; None while nothing is wrong."""
        self.interrupted_by: int | None = None
        self.stopped_elsewhere: int | None = None
        """The signal that told another node of this job to stop, and this one through it."""
        self.hurry = False
        """Somebody pressed Ctrl-C twice."""
        self.stopping = False
        """The processes that are left were sent a signal."""
        self._interrupted_at = 0.0
        self.grace = patience.failure_grace
        """From SIGTERM to SIGKILL, for whatever is to end now."""
        self._stop_at: float | None = None
        self._kill_at: float | None = None
        self._tell_at: float | None = None
        """When other nodes hear of the failure; None once they have, or need not."""
        self._trained = False
        self._until = until
        self._awaits_stacks = False

    def step(self, now: float, happened: Input) -> list[Action]:
        """Takes in what happened and answers with what to do about it, in this order."""
        if isinstance(happened, DeathRecord):
            return self._after_death(now, happened)
        if isinstance(happened, SignalReceived):
            return self._after_signal(now, happened.signal)
        if isinstance(happened, TimePassed):
            return [*self._about_time(now), *self._about_servers(now), *self._due(now)]
        if isinstance(happened, (StacksTaken, StopHung)):
            return self._after_watching(now, happened)
        if isinstance(happened, AllEnded):
            return self._tell_failure()
        if isinstance(happened, StartedAgain):
            self.reason = None
        elif isinstance(happened, (PeerSpoke, PeerSilent, PeerBack, PeerDiffers)):
            return self._after_message(now, happened)
        else:
            self._after_news(now, happened)
        return []

    def deadline(self, now: float) -> float | None:
        """When to come back with `TimePassed`, should nothing happen before; None for never."""
        look = self.lifetime.next_look(now) if self.lifetime is not None else None
        until = self._until if self.reason is None else None
        moments = (self._stop_at, self._tell_at, self._kill_at, look, until)
        return min((moment for moment in moments if moment is not None), default=None)

    def is_settling(self, now: float) -> bool:
        """All of an elastic node have failed at once: the others may turn out to have stopped
        before, so their news is worth the time it takes things to settle."""
        return self.elastic and self._is_failing() and now < (self._tell_at or 0.0)

    def ending(self) -> str:
        """The reason of the `Ending`, when no process is left."""
        if self.delegates and self.interrupted_by is not None:
            return "interrupted"
        return self.reason or "completed"

    def _after_death(self, now: float, death: DeathRecord) -> list[Action]:
        actions: list[Action] = []
        first = has_failed(death) and not death.stopped and self.reason is None
        if first:
            self.reason = "failed"
            self._tell_at = death.monotonic + self.patience.settle
            self._stop_at = None if self.delegates else self._tell_at
            if self.elastic:
                actions.append(Coordinate("look"))
        actions.append(Notify(Died(death, first)))
        if self.lifetime is not None and death.code == 0 and self.reason is None:
            ended = self.lifetime.end(death.pid, now)
            if ended == "all-trained":
                actions.append(Coordinate("trained"))
            elif ended == "server-missed":
                actions.append(Notify(Noted(self.lifetime.left_early(death.rank), "WARNING")))
        return actions

    def _after_signal(self, now: float, number: int) -> list[Action]:
        actions: list[Action] = []
        if self.interrupted_by is None:
            self.interrupted_by, self._interrupted_at = number, now
            actions.append(Notify(Interrupted(number)))
            actions.append(Note(_stopped_by(number)))
            if self.delegates:
                self._kill_at = now + self.patience.interrupt_grace
            else:
                if self.reason is None:
                    self.reason = "interrupted"
                    self.grace = self.patience.interrupt_grace
                self._stop_now(now)
            if self.elastic:
                actions.append(Coordinate("leaving"))
            elif self.reason in (None, "interrupted"):
                actions.append(Coordinate("interrupted", number))
        elif number == signal.SIGINT and now - self._interrupted_at > DOUBLE:
            self.hurry = True
            self._kill_at = now
            if not self.delegates:
                self._stop_now(now)
            actions.append(Notify(Interrupted(number, again=True)))
        if self.delegates:
            actions.append(Forward(number))
        return actions

    def _after_message(self, now: float, message: Message) -> list[Action]:
        if self.lifetime is not None:
            self.lifetime.learn(message)
        if isinstance(message, (PeerDiffers, PeerSpoke)) and message.hearsay:
            return []  # Anybody on the network may say so.
        if isinstance(message, PeerSpoke) and message.facts.interrupted is not None:
            return self._after_stop_elsewhere(now, message, message.facts.interrupted)
        if self.reason is not None or self.delegates:
            return []
        if isinstance(message, PeerDiffers):
            self.reason = "refused"
            self._stop_at = now
            return [Note(_started_differently(message.text))]
        if isinstance(message, PeerSpoke) and message.facts.failed:
            self.reason = "peer"
            self._stop_at = now + self.patience.settle
        return []

    def _after_stop_elsewhere(self, now: float, peer: PeerSpoke, number: int) -> list[Action]:
        """A node was told to stop: so is the job, and what breaks now breaks because of that."""
        if self.stopped_elsewhere is not None or self.elastic:
            return []
        self.stopped_elsewhere = number
        if self.reason in (None, "peer") and not self.delegates:
            self.reason = "interrupted"
            self.grace = self.patience.interrupt_grace
            self._stop_now(now)
        return [Note(stopped_node(peer.node, peer.host, number))]

    def _after_news(self, now: float, news: MembershipEvent) -> None:
        # Who fails while the others already stop, fails because they do.
        undecided = self.reason is None or self._is_failing()
        if isinstance(news, (WorldChanges, Expelled)) and undecided:
            self.reason = "reform"
            self._stop_at, self._tell_at = now, None

    def _about_time(self, now: float) -> list[Action]:
        """A run that took too long ends, and where its processes stood then is kept."""
        if self._until is None or now < self._until or self.reason is not None:
            return []
        self.reason = "timeout"
        self.grace = self.patience.interrupt_grace
        self._awaits_stacks = True
        self._stop_at = now + STACKS_PATIENCE
        if self.delegates:
            self._kill_at = now + STACKS_PATIENCE + self.patience.interrupt_grace
        return [Note(_TOO_LONG), Notify(Noted(_TOO_LONG, "ERROR")), Notify(StacksWanted("timeout"))]

    def _after_watching(self, now: float, happened: StacksTaken | StopHung) -> list[Action]:
        if isinstance(happened, StacksTaken):
            if self._awaits_stacks:
                self._awaits_stacks = False
                self._stop_at = now
            return []
        if self.reason is not None:
            return []
        self.reason = "hung"
        self.grace = self.patience.interrupt_grace
        self._stop_now(now)
        return [Note(_STOPPED_HUNG), Notify(Noted(_STOPPED_HUNG, "ERROR"))]

    def _about_servers(self, now: float) -> list[Action]:
        """What to do about those who only serve: some left too early, or they are not needed any
        more."""
        if self.lifetime is None or self.reason is not None:
            return []
        if self.lifetime.is_deserted(now):
            self.reason = "failed"
            self._stop_at = self._tell_at = now
            return [Notify(Noted(self.lifetime.deserted(), "ERROR"))]
        if self._trained or not self.lifetime.is_over(now):
            return []
        self._trained = True
        self._stop_at = now
        unreported = self.lifetime.unreported()
        notes: list[Action] = [Note(_without_report(unreported[0]))] if unreported else []
        return [*notes, Notify(Trained(unreported))]

    def _due(self, now: float) -> list[Action]:
        """What some deadline asks for."""
        actions: list[Action] = []
        reason = _SIGNAL_REASONS.get(self.reason or "", self.reason or "finished")
        if self._stop_at is not None and now >= self._stop_at:
            self._stop_at = None
            if self._kill_at is None:
                self._kill_at = now + self.grace
                self.stopping = True
                actions.append(Stop(reason))
        if self._tell_at is not None and now >= self._tell_at:
            actions += self._tell_failure()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + KILL_EVERY
            self.stopping = True
            actions.append(Kill(reason))
        return actions

    def _stop_now(self, now: float) -> None:
        self._stop_at = now
        if self._tell_at is not None:
            self._tell_at = now

    def _is_failing(self) -> bool:
        """Something failed here, and the others have not been told."""
        return self.reason == "failed" and self._tell_at is not None

    def _tell_failure(self) -> list[Action]:
        if self._tell_at is None:
            return []
        self._tell_at = None
        return [Coordinate("failed")]


_TOO_LONG = Text(
    "the run has taken longer than --timeout allows and is ended",
    "运行时间超过 --timeout，即将结束",
)
_STOPPED_HUNG = Text(
    "the job stands still and is ended (--on_hang stop)", "任务卡住，即将结束（--on_hang stop）"
)


def _started_differently(why: Text) -> Text:
    return Text(
        f"the job was ended because its nodes were started differently: {why.en}",
        f"各节点的启动参数不一致，任务已结束：{why.zh}",
    )


def _stopped_by(number: int) -> Text:
    name = signal_name(number)
    sender = _SENDERS.get(number, Text("", ""))
    return Text(f"told to stop by {name}{sender.en}", f"收到 {name}{sender.zh}，按要求停止")


_SENDERS = {
    int(signal.SIGINT): Text(", as a person does with Ctrl-C", "（如有人按 Ctrl-C）"),
    int(signal.SIGTERM): Text(", as a scheduler or `kill` does", "（如调度系统或 `kill` 发出）"),
    int(signal.SIGHUP): Text(", as a terminal does that is closed", "（如终端被关闭）"),
}


def _without_report(node: int) -> Text:
    return Text(
        f"servers stopped; not heard of node {node}",
        f"server 已停止；没有收到节点 {node} 的消息",
    )
