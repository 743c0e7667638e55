"""The one loop around the policy: takes in what happens, writes it down, does what is decided."""

from __future__ import annotations

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pdtriage.launch.elastic.membership_events import EtcdBack, EtcdSilent, Expelled, WorldChanges
from pdtriage.launch.supervise.event_loop import (
    Death,
    EventLoop,
    Message,
    Occurrence,
    SignalReceived,
    StacksRequested,
)
from pdtriage.launch.supervise.events import (
    Noted,
    Observer,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    StacksTaken,
    StacksWanted,
    StopHung,
    Stopping,
    Supervised,
)
from pdtriage.launch.supervise.guardian import end_members
from pdtriage.launch.supervise.last_traces import KillTrace, MemoryKills
from pdtriage.launch.supervise.lost_logs import FileId
from pdtriage.launch.supervise.policy import (
    AllEnded,
    Coordinate,
    Forward,
    Input,
    Kill,
    Note,
    Notify,
    Policy,
    Stop,
    TimePassed,
)
from pdtriage.launch.supervise.processes import (
    Child,
    adopted_since,
    members_of_launch,
    send_to_group,
)
from pdtriage.record.schema import DeathRecord, PeerRecord, ProcessRecord, SignalRecord
from pdtriage.record.writer import Recorder, now
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.model import Standstill

_GLANCE = 0.01
"""Seconds between looks at what is waited for."""


class Ending(NamedTuple):
    """How it came to an end, as far as this node knows."""

    reason: str
    """`completed`, `failed`, `interrupted`, `peer`, `reform` or `refused`."""
    interrupted_by: int | None


class Supervision(ABC):
    """What supervising our own children and Paddle's launcher have in common."""

    def __init__(
        self,
        launch: str,
        folder: str,
        loop: EventLoop,
        recorder: Recorder,
        observer: Observer,
        policy: Policy,
        *,
        besides: frozenset[int] = frozenset(),
    ) -> None:
        """`folder` has the logs; `besides` carry the mark of the launch and shall outlive it."""
        self.launch = launch
        self.folder = folder
        self.loop = loop
        self.recorder = recorder
        self.observer = observer
        self.policy = policy
        self.besides = besides | {os.getpid()}
        self.processes: dict[int, ProcessRecord] = {}
        self.sessions: dict[int, int] = {}
        """When each of them was started, by the kernel's count."""
        self.logs: dict[int, FileId] = {}
        """The files that processes were started with."""
        self.alive: set[int] = set()
        self.deaths: list[DeathRecord] = []
        self._next_beat = time.monotonic()
        self._hearsay_noted = False
        self._signal_since: int | None = None
        self._memory = MemoryKills()
        self.share_stacks: Callable[[Standstill], None] | None = None
        """Tells the other nodes where the ranks of this one stand."""

    def listen(self, seconds: float, until: Callable[[], bool]) -> None:
        """Stay open for what other nodes have to say, after all processes have ended."""
        deadline = time.monotonic() + seconds
        before = self.policy.interrupted_by
        while not until() and time.monotonic() < deadline and not self.policy.hurry:
            self.turn(0.05)
            if self.policy.interrupted_by != before:
                return
        # What made it true may still lie in the queue.
        self.turn(0)

    def signal_since(self) -> int | None:
        """The signal that came for us since supervision has ended."""
        self.wait_until(lambda: True)
        return self._signal_since

    def wait_until(self, is_over: Callable[[], bool]) -> bool:
        """Waits after the end until something is known; False if a signal came for us first."""
        while self._signal_since is None:
            over = is_over()
            came = self.loop.wait(0 if over else _GLANCE)
            numbers = (one.signal for one in came if isinstance(one, SignalReceived))
            self._signal_since = next(numbers, None)
            if over:
                return True
        return False

    def watch(self, process: ProcessRecord, born: int) -> None:
        """Watches a process that was started and may die from now on."""
        self.processes[process.pid] = process
        self.sessions[process.pid] = born
        self.alive.add(process.pid)

    def announce(self) -> None:
        """Let whoever watches note and tell that the job stands still."""
        recorder = self.recorder
        self.observer.notice(
            Supervised(self._note_standstill, self.loop.send, recorder.note, recorder.card)
        )

    def _note_standstill(self, found: Standstill) -> None:
        self.recorder.standstill(found)
        if self.share_stacks is not None:
            self.share_stacks(found)

    def turn(self, timeout: float | None) -> None:
        """Wait for what happens, no longer than `timeout`, and take it in."""
        for occurrence in self.loop.wait(timeout):
            self.take(occurrence)
        beat = self.observer.beat_seconds
        if beat is not None and time.monotonic() >= self._next_beat:
            self.observer.beat()
            self._next_beat = time.monotonic() + beat

    def advance(self, happened: Input) -> None:
        """Have the policy decide and do what it says."""
        for action in self.policy.step(time.monotonic(), happened):
            if isinstance(action, Notify):
                self.observer.notice(action.event)
            elif isinstance(action, Note):
                self.recorder.note(action.text)
            elif isinstance(action, Stop):
                self.signal_all(signal.SIGTERM, action.reason)
            elif isinstance(action, Kill):
                self.signal_all(signal.SIGKILL, action.reason)
            else:
                self.pass_on(action)

    def take(self, occurrence: Occurrence) -> None:
        if isinstance(occurrence, Death):
            self.record_death(occurrence)
        elif isinstance(occurrence, (SignalReceived, StacksTaken, StopHung)):
            self.advance(occurrence)
        elif isinstance(occurrence, StacksRequested):
            self.observer.notice(StacksWanted("asked"))
        elif isinstance(occurrence, (WorldChanges, EtcdSilent, EtcdBack, Expelled)):
            self.recorder.note(occurrence.text)
            self.observer.notice(Noted(occurrence.text, "WARNING"))
            self.advance(occurrence)
        else:
            self.observer.notice(occurrence)
            self.recorder.peer(_peer_record(occurrence))
            self._note_hearsay(occurrence)
            self.advance(occurrence)

    def _note_hearsay(self, message: Message) -> None:
        if isinstance(message, PeerSpoke):
            facts = message.facts
            told = message.hearsay and (facts.failed or facts.interrupted is not None)
        else:
            told = isinstance(message, PeerDiffers) and message.hearsay
        if told and not self._hearsay_noted:
            self._hearsay_noted = True
            note = _hearsay(message.node)
            self.recorder.note(note)
            self.observer.notice(Noted(note, "WARNING"))

    def sweep(self, grace: float, recorded: Callable[[int, int], None] | None = None) -> None:
        """End grandchildren that outlived their parents, also those that left the group."""
        end_members(
            self.members,
            grace,
            sent=recorded,
            wait=self.turn,
            hurry=lambda: self.policy.hurry,
        )

    def members(self) -> list[int]:
        """All living processes of this launch."""
        members = members_of_launch(self.launch, self.sessions, besides=self.besides)
        born = min(self.sessions.values(), default=0)
        besides = {*self.besides, *self.loop.ignored, *members}
        return members + (adopted_since(born, besides=besides) if born else [])

    @abstractmethod
    def is_stopped(self, process: ProcessRecord, death: Death) -> bool:
        """Whether it ended because it was told to."""

    @abstractmethod
    def signal_all(self, number: int, reason: str) -> None:
        """Send a signal to every process that is left."""

    @abstractmethod
    def pass_on(self, action: Forward | Coordinate) -> None:
        """Carries out what the policy decided that concerns others than the processes here."""

    def record_death(self, death: Death) -> None:
        self.alive.discard(death.pid)
        process = self.processes[death.pid]
        stopped = self.is_stopped(process, death)
        kill = KillTrace()
        if death.signal == signal.SIGKILL and not stopped:
            kill = self._memory.explain_kill()
        record = DeathRecord(
            order=len(self.deaths),
            role=process.role,
            rank=process.rank,
            local_rank=process.local_rank,
            pid=death.pid,
            time=death.time,
            monotonic=death.monotonic,
            code=death.code,
            signal=death.signal,
            core=death.core,
            stopped=stopped,
            user_seconds=death.user_seconds,
            system_seconds=death.system_seconds,
            max_rss_kb=death.max_rss_kb,
            for_memory=kill.for_memory,
            memory_limit_kb=kill.limit,
            memory_peak_kb=kill.peak,
            memory_peak_before_kb=kill.peak_before,
        )
        self.deaths.append(record)
        self.recorder.death(record)
        if record.signal is not None and not stopped:
            from pdtriage.launch.supervise.last_traces import traces_of  # most end by themselves

            for trace in traces_of(record, os.getcwd()):
                self.recorder.note(trace)
        if not stopped and (death.code or death.signal):
            others = self._memory.other_kills()
            if others is not None:
                self.recorder.note(others)
        self.advance(record)


class Supervisor(Supervision):
    """Watches our own children of one attempt until none is left."""

    def __init__(
        self,
        launch: str,
        folder: str,
        children: Sequence[Child],
        loop: EventLoop,
        recorder: Recorder,
        observer: Observer,
        policy: Policy,
        *,
        coordinate: Callable[[Coordinate], None],
        besides: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(launch, folder, loop, recorder, observer, policy, besides=besides)
        self.coordinate = coordinate
        for child in children:
            self.watch(child.process, child.born)
            self.logs[child.process.pid] = child.log

    def run(self) -> Ending:
        self.announce()
        while self.alive or self.policy.is_settling(time.monotonic()):
            self.turn(self._patience_left())
            self.advance(TimePassed())
        self.advance(AllEnded())
        self.sweep(
            self.policy.grace,
            lambda pid, number: self._record_signal(pid, None, number, "leftover"),
        )
        policy = self.policy
        return Ending(policy.ending(), policy.interrupted_by or policy.stopped_elsewhere)

    def is_stopped(self, process: ProcessRecord, death: Death) -> bool:  # noqa: ARG002
        return self.policy.stopping

    def signal_all(self, number: int, reason: str) -> None:
        if not self.alive:
            return
        left = [process for pid, process in self.processes.items() if pid in self.alive]
        for process in left:
            # A child that was not collected yet still owns its pid, so this hits nobody else.
            send_to_group(process.pid, number)
            self._record_signal(process.pid, process.rank, number, reason)
        who = tuple((process.role, process.rank) for process in left)
        self.observer.notice(Stopping(reason, number, who))

    def pass_on(self, action: Forward | Coordinate) -> None:
        if isinstance(action, Coordinate):
            self.coordinate(action)

    def _patience_left(self) -> float | None:
        moment = time.monotonic()
        deadline = self.policy.deadline(moment)
        if self.observer.beat_seconds is not None:
            deadline = self._next_beat if deadline is None else min(deadline, self._next_beat)
        return None if deadline is None else max(0.0, deadline - moment)

    def _record_signal(self, pid: int, rank: int | None, number: int, reason: str) -> None:
        self.recorder.signal(SignalRecord(pid, rank, int(number), reason, **now()))


def _hearsay(node: int) -> Text:
    return Text(
        f"what node {node} tells is not signed, so it stops nothing here and proves nothing: give "
        "every node the same --job_secret",
        f"节点 {node} 的消息没有签名，因此不会停止本节点的进程，也不作为证据："
        "请为所有节点设置相同的 --job_secret",
    )


def _peer_record(message: Message) -> PeerRecord:
    """What came from another node, for the record."""
    time_of_day = now()["time"]
    if isinstance(message, PeerSpoke):
        return PeerRecord(
            message.node,
            "facts",
            time_of_day,
            facts=message.facts,
            hearsay=message.hearsay,
            host=message.host,
        )
    if isinstance(message, PeerSilent):
        silent = max(message.seconds, round(time_of_day - message.since, 1))
        return PeerRecord(message.node, "silent", time_of_day, silent, host=message.host)
    kind = "differs" if isinstance(message, PeerDiffers) else "back"
    return PeerRecord(message.node, kind, time_of_day)
