"""A tiny process that outlives us just long enough to leave no orphan.

It holds the read end of a pipe whose only writer is pdtriage. When pdtriage dies, whatever kills
it, the pipe closes and the guardian ends every process of the launch. A normal end says so first,
and then the guardian goes without a trace.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator

from pdtriage.launch.plan.start_refusals import not_started
from pdtriage.launch.supervise.processes import members_of_launch, send_signal
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.private_files import private_opener

_FAREWELL = b"end\n"
_BEAT = 0.05
_STUCK = 30.0


class Guardian(NamedTuple):
    """Our side of the pipe."""

    pid: int
    pipe: int

    def watch(self, session: int, born: int) -> None:
        """Tell of a child that was started, and when, by the kernel's count."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.pipe, f"{session} {born}\n".encode())

    def write_to(self, record: str) -> None:
        """Tell where to note down what had to be ended."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.pipe, b"record " + os.fsencode(record) + b"\n")

    def dismiss(self) -> None:
        """Everything has ended properly."""
        # Where somebody killed the guardian there is nothing left to guard anyway.
        with contextlib.suppress(BrokenPipeError):
            os.write(self.pipe, _FAREWELL)
        self.unleash()

    def unleash(self) -> None:
        """Let it end whatever is left, as if we had died, and wait for that."""
        os.close(self.pipe)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def guard(launch: str, grace: float, keep: tuple[int, ...] = ()) -> Iterator[Guardian]:
    """A guardian for the time of a launch; an exception leaves the rest to it."""
    guardian = start_guardian(launch, grace, keep)
    try:
        yield guardian
    except BaseException:
        guardian.unleash()
        raise
    else:
        guardian.dismiss()


def start_guardian(launch: str, grace: float, keep: tuple[int, ...] = ()) -> Guardian:
    """Fork the guardian; `keep` are descriptors it holds open. Call it before any thread runs."""
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise not_started("pdtriage", error) from None
    if pid:
        os.close(reading)
        return Guardian(pid, writing)
    status = 1
    try:
        os.close(writing)
        _detach(reading, keep)
        _guard(launch, grace, reading)
        status = 0
    finally:
        os._exit(status)


def end_members(
    find: Callable[[], list[int]],
    grace: float,
    *,
    sent: Callable[[int, int], None] | None = None,
    wait: Callable[[float], None] = time.sleep,
    hurry: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> list[int]:
    """SIGTERM to whatever `find` finds, SIGKILL to what is left after `grace` seconds."""
    ended: list[int] = []
    deadline = clock() + grace
    while members := find():
        now = clock()
        number = signal.SIGKILL if now >= deadline or hurry() else signal.SIGTERM
        for pid in members:
            if number == signal.SIGTERM and pid in ended:
                continue
            if send_signal(pid, number) and sent is not None:
                sent(pid, number)
            if pid not in ended:
                ended.append(pid)
        wait(_BEAT)
        if now > deadline + _STUCK:
            break  # Not even SIGKILL ends what hangs inside the kernel.
    return ended


def _detach(reading: int, keep: tuple[int, ...]) -> None:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    wanted = sorted({0, 1, 2, reading, *keep})
    for low, high in zip(wanted, [*wanted[1:], 4096], strict=True):
        os.closerange(low + 1, high)
    # A name for `ps`; whoever ends all processes named pdtriage shall not meet the guardian.
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as stream:
        stream.write("triage-guard")


def _guard(launch: str, grace: float, reading: int) -> None:
    told = b""
    while chunk := os.read(reading, 4096):
        told += chunk
    if told.endswith(_FAREWELL):
        return
    sessions: dict[int, int] = {}
    record = b""
    for line in told.splitlines():
        if line.startswith(b"record "):
            record = line[7:]
        else:
            session, _, born = line.partition(b" ")
            sessions[int(session)] = int(born)
    own = {os.getpid()}
    ended = end_members(lambda: members_of_launch(launch, sessions, besides=own), grace)
    if record:
        entry = {"kind": "guardian", "time": time.time(), "ended": ended}
        with open(record, "ab", opener=private_opener) as stream:
            stream.write(json.dumps(entry).encode() + b"\n")
