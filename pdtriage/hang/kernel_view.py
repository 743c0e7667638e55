"""What the kernel says of processes (/proc): state, time used, memory, what they wait in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from pdtriage.support.fast_namedtuple import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_RUNNING = "running"


class ProcessVitals(NamedTuple):
    """One process at one moment."""

    pid: int
    parent: int
    state: str
    cpu_seconds: float
    memory: int
    """Bytes in memory."""
    born: int
    """In ticks of the kernel: tells a process from a later one of its pid."""


def vitals_of(pid: int) -> ProcessVitals | None:
    """None for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            # The name in parentheses may itself hold spaces and parentheses.
            fields = stream.read().rpartition(b")")[2].split()
        return ProcessVitals(
            pid,
            int(fields[1]),
            fields[0].decode("ascii", "replace"),
            (int(fields[11]) + int(fields[12])) / _TICKS,
            int(fields[21]) * _PAGE,
            int(fields[19]),
        )
    except (OSError, ValueError, IndexError):
        return None


def bytes_moved(pid: int) -> int:
    """Bytes it has read and written so far, files and pipes; 0 where we may not look."""
    try:
        with open(f"/proc/{pid}/io", "rb") as stream:
            lines = stream.read().split()
        return int(lines[1]) + int(lines[3])
    except (OSError, ValueError, IndexError):
        return 0


def children_by_parent() -> dict[int, list[int]]:
    """Pids of all processes of this machine, by the pid of their parent."""
    children: dict[int, list[int]] = {}
    for vitals in all_vitals():
        children.setdefault(vitals.parent, []).append(vitals.pid)
    return children


def all_vitals() -> Iterator[ProcessVitals]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        vitals = vitals_of(int(name)) if name.isdecimal() else None
        if vitals is not None and vitals.state not in "ZX":
            yield vitals


def descendants_of(pid: int, children: dict[int, list[int]]) -> list[int]:
    """Children and their children, the nearest first."""
    below, left = [], list(children.get(pid, ()))
    while left:
        child = left.pop(0)
        if child not in below:
            below.append(child)
            left += children.get(child, ())
    return below


def main_thread_children(pid: int) -> list[int]:
    """Pids the main thread has started; none where the kernel does not list them."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as stream:
            return [int(word) for word in stream.read().split()]
    except (OSError, ValueError):
        return []


def waits_in(pid: int) -> str:
    """The system call its main thread waits in, by name where we know it, else the place in the
    kernel; empty while it runs."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as stream:
            word = stream.read().split(None, 1)[0]
    except (OSError, IndexError, UnicodeDecodeError):
        word = ""
    if word == _RUNNING:
        return ""
    known = _CALLS.get(os.uname().machine, {}).get(int(word)) if word.isdecimal() else None
    return known or _wait_channel(pid)


def environment_value(pid: int, name: str) -> str | None:
    """A variable that a process was started with; None where it has none or we may not look."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            content = stream.read()
    except OSError:
        return None
    begin = f"{name}=".encode()
    for item in content.split(b"\0"):
        if item.startswith(begin):
            return os.fsdecode(item[len(begin) :])
    return None


def _wait_channel(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as stream:
            name = stream.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return "" if name == "0" else name


_CALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        0: "read",
        1: "write",
        2: "open",
        7: "poll",
        8: "lseek",
        16: "ioctl",
        17: "pread64",
        18: "pwrite64",
        19: "readv",
        20: "writev",
        23: "select",
        34: "pause",
        35: "nanosleep",
        42: "connect",
        43: "accept",
        44: "sendto",
        45: "recvfrom",
        46: "sendmsg",
        47: "recvmsg",
        61: "wait4",
        72: "fcntl",
        73: "flock",
        74: "fsync",
        75: "fdatasync",
        82: "rename",
        87: "unlink",
        128: "rt_sigtimedwait",
        202: "futex",
        217: "getdents64",
        230: "clock_nanosleep",
        232: "epoll_wait",
        247: "waitid",
        257: "openat",
        262: "newfstatat",
        270: "pselect6",
        271: "ppoll",
        281: "epoll_pwait",
        288: "accept4",
        4: "stat",
        5: "fstat",
        6: "lstat",
        162: "sync",
        332: "statx",
    },
    "aarch64": {
        22: "epoll_pwait",
        25: "fcntl",
        29: "ioctl",
        32: "flock",
        56: "openat",
        61: "getdents64",
        62: "lseek",
        63: "read",
        64: "write",
        65: "readv",
        66: "writev",
        67: "pread64",
        68: "pwrite64",
        72: "pselect6",
        73: "ppoll",
        79: "newfstatat",
        80: "fstat",
        81: "sync",
        82: "fsync",
        83: "fdatasync",
        95: "waitid",
        98: "futex",
        101: "nanosleep",
        115: "clock_nanosleep",
        202: "accept",
        203: "connect",
        206: "sendto",
        207: "recvfrom",
        211: "sendmsg",
        212: "recvmsg",
        260: "wait4",
        291: "statx",
    },
}
"""Those a process may wait in for long, by machine."""


class RankVitals(NamedTuple):
    """One rank at one look."""

    state: str
    memory: int
    """Bytes, without its loader workers: what these share with it would count twice."""
    cpu: float | None
    """Share of a core since the look before; None at the first."""
    helpers_cpu: float | None
    """Of its loader workers together."""


class VitalsWatch:
    """Reads two small files of the kernel a rank, and one a loader worker."""

    def __init__(self) -> None:
        self._used: dict[int, float] = {}
        self._looked_at: float | None = None

    def look(self, now: float, pids: Iterable[int]) -> dict[int, RankVitals]:
        """What the kernel says of these processes; those that are gone are left out."""
        passed = 0.0 if self._looked_at is None else now - self._looked_at
        before, self._used, self._looked_at = self._used, {}, now
        found = {}
        for pid in pids:
            vitals = vitals_of(pid)
            if vitals is None or vitals.state in "ZX":
                continue
            self._used[pid] = vitals.cpu_seconds
            helpers = [self._share(child, before, passed) for child in main_thread_children(pid)]
            known = [share for share in helpers if share is not None]
            own = _share(vitals.cpu_seconds, before.get(pid), passed)
            found[pid] = RankVitals(vitals.state, vitals.memory, own, sum(known) if known else None)
        return found

    def _share(self, pid: int, before: dict[int, float], passed: float) -> float | None:
        vitals = vitals_of(pid)
        if vitals is None:
            return None
        self._used[pid] = vitals.cpu_seconds
        return _share(vitals.cpu_seconds, before.get(pid), passed)


def _share(used: float, before: float | None, passed: float) -> float | None:
    return None if before is None or passed <= 0 else max(0.0, used - before) / passed
