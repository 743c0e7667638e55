"""Watches whether a job stands still, in a thread of its own, and has its stacks taken then."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pdtriage.hang.rhythm import HangLimits, JobRhythm, RankSample, RhythmState
from pdtriage.hang.stack_groups import fold_of
from pdtriage.hang.stack_words import summary_of
from pdtriage.hang.take import StackTarget, TakenStacks
from pdtriage.hang.take_process import StacksElsewhere
from pdtriage.launch.options.secret import SECRET_VARIABLE
from pdtriage.launch.supervise.events import PeerSilent
from pdtriage.launch.supervise.processes import HELPERS
from pdtriage.live.log_follower import ProcessStatus
from pdtriage.model.stacks import ProcessStack, StacksReason, Standstill
from pdtriage.record.schema import named_node
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

LOOK_EVERY = 1.0
SECONDS = 20.0
"""For taking all stacks."""
AHEAD, AHEAD_SHARE = 5.0, 0.25
"""Seconds before the limit, and share of it at most, at which stacks begin to be taken: on a busy
machine that takes seconds, and at the limit somebody is to be named."""
LOOK_AGAIN = (2.0, 10.0, 30.0, 90.0)
"""Seconds after the first look, where that did not reach every process: a busy machine, a process
that is just changing."""
LAST_WORDS = 30.0
"""Seconds; a rank that gives up waiting says so, and then it ends."""
OnHang = Literal["report", "stacks", "stop"]


class HangMonitor:
    """Looks every second; tells once when the job stands still, and when it goes on after that."""

    def __init__(
        self,
        limits: HangLimits,
        on_hang: OnHang,
        look: Callable[[], Mapping[int, RankSample]],
        targets: Callable[[], Sequence[StackTarget]],
        tell: Callable[[Standstill], None],
    ) -> None:
        """`look` says how far the ranks are, `targets` whose stacks to take; `tell` is called in
        the thread of the monitor."""
        self._limits = limits
        self._on_hang = on_hang
        self._look = look
        self._targets = targets
        self._tell = tell
        self._rhythm = JobRhythm(limits, time.monotonic())
        self.standstill: Standstill | None = None
        """The last, while the job has not moved since."""
        self.gone: list[int] = []
        """Ranks that have ended with 0."""
        self._spoke_at: float | None = None
        """When somebody wrote a line, and no more, after the last standstill was seen."""
        self._wanted: StacksReason | None = None
        self._again: list[float] = []
        """When to look again, by the monotonic clock."""
        self._early: _EarlyLook | None = None
        self._wake = threading.Event()
        self._leaving = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the monitor; nothing happens where the machine allows no more threads."""
        thread = threading.Thread(target=self._run, name="hang-monitor", daemon=True)
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def want(self, reason: StacksReason) -> None:
        """Have the stacks taken now, whatever the rhythm; from any thread."""
        self._wanted = reason
        self._wake.set()

    def close(self) -> None:
        """Ends the monitor; nobody waits for stacks that are being taken."""
        self._leaving = True
        self._wake.set()

    def still_now(self) -> Standstill | None:
        """The last standstill with the time that has passed since; None where the job moves."""
        last = self.standstill
        if last is None or last.still is None:
            return None
        return last.still_at(time.time())

    def _run(self) -> None:
        try:
            self._watch()
        finally:
            if self._early is not None:
                self._early.taking.abandon()

    def _watch(self) -> None:
        while not self._leaving:
            self._wake.wait(LOOK_EVERY)
            self._wake.clear()
            if self._leaving:
                return
            state = self._rhythm.look(time.monotonic(), self._look())
            wanted, self._wanted = self._wanted, None
            if wanted is not None:
                self._take(wanted, state)
            elif state.stands and not self._limits.off:
                if self.standstill is None:
                    self._take("hang", state)
                elif self._again and time.monotonic() >= self._again[0]:
                    self._look_again(self.standstill, state)
            elif self.standstill is not None and self._has_moved_on(self.standstill, state):
                self._tell(self.standstill._replace(moved_on=True, stacks=()))
                self.standstill = None
            else:
                self._look_early(state)

    def _look_early(self, state: RhythmState) -> None:
        """Has stacks taken where the limit is near, and forgets them where the job moves."""
        if self._limits.off or self._on_hang == "report":
            return
        since = time.monotonic() - state.still
        if self._early is not None and since > self._early.since + LOOK_EVERY / 2:
            self._early.taking.abandon()
            self._early = None
        ahead = min(AHEAD, AHEAD_SHARE * state.limit)
        if self._early is None and state.still >= state.limit - ahead:
            self._early = _EarlyLook(since, time.time(), self._begin())

    def _has_moved_on(self, last: Standstill, state: RhythmState) -> bool:
        """Whether the job moved: by a step or data at once, by a line when nobody died of what it
        said."""
        limit = last.limit_or(0.0)
        if state.still >= limit:
            self._spoke_at = None
            return False
        if state.stepless < limit:
            return True
        self._spoke_at = self._spoke_at or time.monotonic()
        return time.monotonic() - self._spoke_at >= LAST_WORDS

    def _take(self, reason: StacksReason, state: RhythmState) -> None:
        found = self._standstill(reason, state)
        if state.stands and not self._limits.off:
            self.standstill = found.with_stacks_of(self.standstill)
            self._again = []
            if reason == "hang" and self._on_hang != "report" and not found.is_complete:
                self._again = [time.monotonic() + seconds for seconds in LOOK_AGAIN]
        if not self._leaving:
            self._tell(found)

    def _look_again(self, before: Standstill, state: RhythmState) -> None:
        """Another look at a job that still stands; tells where it saw more than the one before."""
        del self._again[0]
        found = self._standstill("hang", state)
        if found.readable <= before.readable:
            return
        self.standstill = found
        if found.is_complete:
            self._again = []
        if not self._leaving:
            self._tell(found)

    def _standstill(self, reason: StacksReason, state: RhythmState) -> Standstill:
        taken, age = self._stacks_for(reason)
        return Standstill(
            time.time() - age,
            reason,
            state.still - age,
            round(state.limit, 1),
            taken.stacks,
            tuple(self.gone),
            taken.notes,
        ).still_at(time.time())

    def _stacks_for(self, reason: StacksReason) -> tuple[TakenStacks, float]:
        """The stacks, and how many seconds ago they began to be taken before this was asked."""
        early, self._early = self._early, None
        if early is not None and reason == "hang":
            return early.taking.result(), time.time() - early.time
        if early is not None:
            early.taking.abandon()
        if reason == "hang" and self._on_hang == "report":
            return TakenStacks(()), 0.0
        return self._begin().result(), 0.0

    def _begin(self) -> StacksElsewhere:
        return StacksElsewhere(self._targets(), SECONDS, helper_environment(), HELPERS.add)


class _EarlyLook(NamedTuple):
    """Stacks that were asked for before the limit."""

    since: float
    """When the job last moved, by the monotonic clock."""
    time: float
    taking: StacksElsewhere


def alarm_text(
    found: Standstill, furthest_behind: Text | None, silent: Sequence[PeerSilent] = ()
) -> Text:
    """What people are told at once; `silent` are nodes that do not answer."""
    if found.reason != "hang" and found.reason != "timeout":
        head = Text("stacks as asked for", "按要求取得的调用栈")
    else:
        head = Text(
            f"the job has not moved for {found.still:.0f} s",
            f"任务已 {found.still:.0f} 秒没有前进",
        )
        if furthest_behind:
            head = Text(
                f"{head.en}; furthest behind: {furthest_behind.en}",
                f"{head.zh}；进度最慢：{furthest_behind.zh}",
            )
    if found.stacks:
        said = summary_of(found, fold_of(found))
        head = Text(f"{head.en}: {said.en}", f"{head.zh}：{said.zh}")
    for peer in silent:
        name = named_node(peer.node, peer.host)
        seconds = found.time - peer.since
        head = Text(
            f"{head.en}; {name.en} has not answered for {seconds:.0f} s",
            f"{head.zh}；{name.zh}已 {seconds:.0f} 秒没有应答",
        )
    for note in found.notes[:1]:
        head = Text(f"{head.en} ({note.en})", f"{head.zh}（{note.zh}）")
    return head


class StacksOfNodes:
    """Stacks of this node and of the others, whichever come first; any thread may ask."""

    def __init__(self) -> None:
        self._own: Standstill | None = None
        self._theirs: dict[int, tuple[ProcessStack, ...]] = {}
        self._said: object = None
        """Who stood where when that was last said."""
        self._lock = threading.Lock()

    def take_own(self, found: Standstill) -> Text | None:
        """What the stacks of all nodes say now, where it is new and names somebody."""
        with self._lock:
            self._own = None if found.moved_on else found
            return self._compare()

    def take_peer(self, node: int, host: str, stacks: Sequence[ProcessStack]) -> Text | None:
        """Takes in where the ranks of another node stand; no stacks where they move."""
        with self._lock:
            self._theirs[node] = tuple(stack._replace(host=host) for stack in stacks)
            return self._compare()

    def _compare(self) -> Text | None:
        theirs = tuple(stack for stacks in self._theirs.values() for stack in stacks)
        if self._own is None or not self._own.stacks or not theirs:
            return None
        together = self._own._replace(stacks=(*self._own.stacks, *theirs))
        fold = fold_of(together)
        places = {(group.where, group.ranks) for group in fold.groups}
        if not fold.odd or places == self._said:
            return None
        self._said = places
        return alarm_text(together.still_at(time.time()), None)


def furthest_behind(processes: Sequence[ProcessStatus]) -> Text | None:
    """The process with the lowest step, where steps differ: `rank 3, step 12`."""
    stepping = [process for process in processes if process.step is not None]
    if len({_step(process) for process in stepping}) < 2:
        return None
    slowest = min(stepping, key=lambda process: (*_step(process), process.name))
    epoch, step = _step(slowest)
    return Text(
        f"{slowest.name}, step {f'{epoch}/' if epoch else ''}{step}",
        f"{slowest.name}，{f'第 {epoch} 轮' if epoch else ''}第 {step} 步",
    )


def sample_of(status: ProcessStatus | None, path: str, moved_bytes: int) -> RankSample:
    """How far a rank is; the size of its log is asked for here, whoever else reads it."""
    try:
        size = float(os.stat(path).st_size) if path else 0.0
    except OSError:
        size = 0.0
    position = None if status is None or status.step is None else _step(status)
    return RankSample(position, size, moved_bytes)


def _step(process: ProcessStatus) -> tuple[int, int]:
    return process.epoch or 0, process.step or 0


def helper_environment() -> dict[str, str]:
    """The environment of a process that helps us: all but the secret of the job."""
    return {name: value for name, value in os.environ.items() if name != SECRET_VARIABLE}
