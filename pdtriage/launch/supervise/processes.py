"""Finding and ending processes by what the kernel says about them (/proc)."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator, Mapping

from pdtriage.launch.plan.environment import LAUNCH_VARIABLE
from pdtriage.support.fast_namedtuple import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36


class ProcessEntry(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    state: str
    born: int
    """When it was started, in the kernel's ticks: tells a process from a later one of its pid."""


def become_subreaper() -> None:
    """Orphaned grandchildren come to us instead of to init, so that none escapes unseen."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    prctl = getattr(libc, "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def running_processes() -> Iterator[ProcessEntry]:
    """Every process that is not a zombie; nothing where there is no /proc."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit():
            entry = process_entry(int(name))
            if entry is not None and entry.state != "Z":
                yield entry


def process_entry(pid: int) -> ProcessEntry | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            text = stream.read()
    except OSError:
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    parent, group, session = (int(word) for word in fields[1:4])
    return ProcessEntry(
        pid, parent, group, session, fields[0].decode("ascii", "replace"), int(fields[19])
    )


def birth_of(pid: int) -> int:
    entry = process_entry(pid)
    return entry.born if entry is not None else 0


def status_of_zombie(pid: int) -> int | None:
    """The wait status of a dead process that its parent has not collected yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 50 or fields[0] not in (b"Z", b"X"):
        return None
    return int(fields[49])


def environment_of(pid: int) -> dict[str, str]:
    """The variables a process was started with; empty when we may not look."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            content = stream.read()
    except OSError:
        return {}
    variables = {}
    for item in content.split(b"\0"):
        name, equals, value = item.partition(b"=")
        if equals:
            variables[os.fsdecode(name)] = os.fsdecode(value)
    return variables


def members_of_launch(
    launch: str, sessions: Mapping[int, int], *, besides: Collection[int] = ()
) -> list[int]:
    """Living processes of a launch: of its sessions, or carrying its mark after leaving them.

    `sessions` maps a session to the birth of its leader, so that a stranger who got the same
    number later is left alone.
    """
    mark = f"{LAUNCH_VARIABLE}={launch}".encode()
    ours = {
        session
        for session, born in sessions.items()
        if (leader := process_entry(session)) is None or leader.born == born
    }
    return [
        entry.pid
        for entry in running_processes()
        if entry.pid not in besides and (entry.session in ours or _carries(entry.pid, mark))
    ]


def children_of(pid: int) -> list[int]:
    """Direct children, zombies included."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as stream:
            return [int(word) for word in stream.read().split()]
    except OSError:
        pass
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    entries = (process_entry(int(name)) for name in names if name.isdigit())
    return [entry.pid for entry in entries if entry is not None and entry.parent == pid]


def send(pid: int, number: int) -> bool:
    """Send a signal; False when the process is gone already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False
    return True


def send_to_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def reap(pid: int) -> None:
    """Collect an adopted zombie, if it is one."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def reset_signals() -> list[int]:
    """Signals Python ignores and a child must find as usual."""
    names = ("SIGPIPE", "SIGXFZ", "SIGXFSZ")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _carries(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            content = stream.read()
    except OSError:
        return False
    return content.startswith(mark + b"\0") or (b"\0" + mark + b"\0") in content
