"""One place to wait: deaths in their true order, signals, and messages from other threads."""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import signal
import threading
import time
from collections.abc import Iterable
from types import FrameType

from pdtriage.launch.elastic.membership_events import MembershipEvent
from pdtriage.launch.supervise.events import (
    PeerBack,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    StacksTaken,
    StopHung,
)
from pdtriage.launch.supervise.processes import children_of, reap, status_of_zombie
from pdtriage.support.fast_namedtuple import NamedTuple

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Death(NamedTuple):
    """A child is dead; the status is the kernel's word."""

    pid: int
    code: int | None
    signal: int | None
    core: bool
    user_seconds: float | None
    system_seconds: float | None
    max_rss_kb: int | None
    time: float
    monotonic: float


class SignalReceived(NamedTuple):
    """A signal came for us."""

    signal: int


class StacksRequested:
    """SIGQUIT: somebody wants to see where the processes stand."""


Message = PeerSpoke | PeerSilent | PeerBack | PeerDiffers
HangMessage = StacksRequested | StacksTaken | StopHung
Occurrence = Death | SignalReceived | Message | MembershipEvent | HangMessage


class EventLoop:
    """Use as a context: signal handlers are ours inside and as before outside."""

    def __init__(self) -> None:
        # On Linux this is epoll, which reports in order of death; poll and select do not.
        self._selector = selectors.DefaultSelector()
        self._descriptors: dict[int, int] = {}
        self._children: dict[int, int | None] = {}
        self._strangers: dict[int, int] = {}
        self.ignored: set[int] = set()
        """Children that somebody else waits for."""
        self._messages: queue.SimpleQueue[Message | MembershipEvent | HangMessage] = (
            queue.SimpleQueue()
        )
        self._wake_out, self._wake_in = os.pipe()
        self._lock = threading.Lock()
        self._closed = False
        self._before: dict[int, signal._HANDLER] = {}
        self._wakeup_before = -1

    def __enter__(self) -> EventLoop:
        for end in (self._wake_out, self._wake_in):
            os.set_blocking(end, False)
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        self._wakeup_before = signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        for number in (*_STOP_SIGNALS, signal.SIGQUIT, signal.SIGCHLD):
            # nohup and background shells ask us to ignore some of these; who sends us SIGQUIT
            # there all the same wants stacks, which end nothing.
            if number == signal.SIGQUIT or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, _wake_only)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._selector.close()
        with self._lock:
            # A thread that still has something to say must not write into what is opened next.
            self._closed = True
            for descriptor in (*self._descriptors, *self._strangers, self._wake_out, self._wake_in):
                os.close(descriptor)

    def add_child(self, pid: int) -> None:
        """Wait for the death of a child of ours."""
        descriptor = _open_pidfd(pid)
        self._children[pid] = descriptor
        if descriptor is not None:
            self._descriptors[descriptor] = pid
            self._selector.register(descriptor, selectors.EVENT_READ)

    def add_stranger(self, pid: int) -> bool:
        """Wait for the death of a process that is not our child; False if it is gone already.

        Its parent collects it, so the status is read from its zombie, if one is quick enough.
        """
        descriptor = _open_pidfd(pid)
        if descriptor is None:
            return False
        self._strangers[descriptor] = pid
        self._selector.register(descriptor, selectors.EVENT_READ)
        return True

    def ignore(self, pids: Iterable[int]) -> None:
        """Children that somebody else waits for."""
        self.ignored.update(pids)

    def send(self, message: Message | MembershipEvent | HangMessage) -> None:
        """Hands a message to the loop; may be called from any thread."""
        self._messages.put(message)
        with self._lock, contextlib.suppress(BlockingIOError):
            if not self._closed:
                os.write(self._wake_in, b"\0")

    def wait(self, timeout: float | None) -> list[Occurrence]:
        """What happened, in order; empty when `timeout` passed without news."""
        occurrences: list[Occurrence] = []
        numbers: bytes = b""
        for key, _ in self._selector.select(timeout):
            if key.fd == self._wake_out:
                with contextlib.suppress(BlockingIOError):
                    numbers += os.read(self._wake_out, 4096)
            elif key.fd in self._strangers:
                occurrences.append(self._dead_stranger(key.fd))
            else:
                self._collect(self._descriptors[key.fd], occurrences)
        if signal.SIGCHLD in numbers:
            self._collect_without_descriptor(occurrences)
            self._reap_adopted()
        occurrences += [SignalReceived(number) for number in numbers if number in _STOP_SIGNALS]
        if signal.SIGQUIT in numbers:
            occurrences.append(StacksRequested())
        while not self._messages.empty():
            occurrences.append(self._messages.get_nowait())
        return occurrences

    def _collect(self, pid: int, occurrences: list[Occurrence]) -> None:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done == 0:
            return
        descriptor = self._children.pop(pid)
        if descriptor is not None:
            self._selector.unregister(descriptor)
            del self._descriptors[descriptor]
            os.close(descriptor)
        signalled = os.WIFSIGNALED(status)
        occurrences.append(
            Death(
                pid=pid,
                code=None if signalled else os.waitstatus_to_exitcode(status),
                signal=os.WTERMSIG(status) if signalled else None,
                core=signalled and os.WCOREDUMP(status),
                user_seconds=round(usage.ru_utime, 6),
                system_seconds=round(usage.ru_stime, 6),
                max_rss_kb=usage.ru_maxrss,
                time=time.time(),
                monotonic=time.monotonic(),
            )
        )

    def _dead_stranger(self, descriptor: int) -> Death:
        pid = self._strangers.pop(descriptor)
        self._selector.unregister(descriptor)
        os.close(descriptor)
        status = status_of_zombie(pid)
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
        core = status is not None and number is not None and os.WCOREDUMP(status)
        return Death(pid, code, number, core, None, None, None, time.time(), time.monotonic())

    def _collect_without_descriptor(self, occurrences: list[Occurrence]) -> None:
        """Kernels before 5.3 have no pidfd: the order among deaths of one moment is lost there."""
        for pid in [pid for pid, descriptor in self._children.items() if descriptor is None]:
            self._collect(pid, occurrences)

    def _reap_adopted(self) -> None:
        """Reaps zombies of orphaned grandchildren, which we inherit as their subreaper."""
        for pid in children_of(os.getpid()):
            if pid not in self._children and pid not in self.ignored:
                reap(pid)


def _wake_only(number: int, frame: FrameType | None) -> None:
    """The wakeup descriptor carries the signal's number; nothing is to be done here."""


def _open_pidfd(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        descriptor: int = opener(pid)
    except OSError:
        return None
    return descriptor
