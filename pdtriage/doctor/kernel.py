"""What the kernel says about limits, memory, clock, network and who holds what, in its files."""

from __future__ import annotations

import os

from pdtriage.doctor.context import Context
from pdtriage.support.cgroup import cgroup_folders, number_in
from pdtriage.support.fast_namedtuple import NamedTuple

MIB = 1 << 20
GIB = 1 << 30
_CLOCK_ERROR = 5
_TIMEX_BYTES = 512
_LISTENING = "0A"


class Space(NamedTuple):
    """Bytes and files of a file system, as far as an ordinary user may use them."""

    total: int
    free: int
    files_left: int | None
    """None where the file system does not count them."""


class DiskRoom(NamedTuple):
    """How many more processes and threads may be created."""

    left: int
    why: str


class Interface(NamedTuple):
    name: str
    virtual: bool
    """One end of a pair whose other end is in another network namespace."""


def size(count: int) -> str:
    """A number of bytes as people read it: '64 MiB', '1.5 GiB'."""
    if count >= GIB:
        return f"{count / GIB:.1f} GiB".replace(".0 ", " ")
    return f"{count / MIB:.0f} MiB" if count >= MIB else f"{count} B"


def space_of(path: str) -> Space | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    files = found.f_favail if found.f_files else None
    return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize, files)


def file_limit(context: Context) -> int | None:
    """The soft limit of open files; None for none."""
    return _limit(context, "Max open files")


def process_room(context: Context) -> DiskRoom | None:
    """The narrower of the user's limit and the cgroup's; None where there is neither."""
    rooms: list[DiskRoom] = []
    limit = _limit(context, "Max processes")
    # The kernel does not hold root to it.
    if limit is not None and os.geteuid() != 0:
        rooms.append(DiskRoom(limit - _threads_of_user(context), f"ulimit -u {limit}"))
    for folder in cgroup_folders("pids", context.read):
        most = number_in(context.read(f"{folder}/pids.max"))
        now = number_in(context.read(f"{folder}/pids.current"))
        if most is not None and now is not None:
            rooms.append(DiskRoom(most - now, f"cgroup pids.max {most}"))
    return min(rooms, default=None)


def total_memory(context: Context) -> int | None:
    for line in (context.read("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return None


def clock_is_synchronised() -> bool | None:
    """What `adjtimex` says; None where there is no such call."""
    import ctypes

    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    if adjtimex is None:
        return None
    # All zero asks and changes nothing; the structure is smaller than this on every platform.
    state = int(adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
    return None if state < 0 else state != _CLOCK_ERROR


def in_container(context: Context) -> bool:
    for mark in ("/.dockerenv", "/run/.containerenv"):
        if os.path.exists(context.path(mark)):
            return True
    if context.environ.get("KUBERNETES_SERVICE_HOST"):
        return True
    told = context.read("/proc/1/cgroup") or ""
    return any(word in told for word in ("docker", "kubepods", "containerd", "libpod", "lxc"))


def interfaces(context: Context) -> list[Interface]:
    """Every interface but the loopback."""
    found = []
    for name in context.names("/sys/class/net"):
        own = number_in(context.read(f"/sys/class/net/{name}/ifindex"))
        if name == "lo" or own is None:
            continue
        peer = number_in(context.read(f"/sys/class/net/{name}/iflink"))
        found.append(Interface(name, virtual=peer is not None and peer != own))
    return found


def holders_of(context: Context, target: str) -> set[int]:
    """Pids with `target` open, ourselves excepted; those of other users stay unseen."""
    found: set[int] = set()
    for name in context.names("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        for descriptor in context.names(f"/proc/{name}/fd"):
            try:
                held = os.readlink(context.path(f"/proc/{name}/fd/{descriptor}"))
            except OSError:
                continue
            if held == target:
                found.add(int(name))
                break
    return found


def listener_on(context: Context, port: int) -> str | None:
    """'pid 4711 (python train.py)' for a port in use; None where that is not to be seen."""
    sockets = _listening_sockets(context, port)
    for number in sockets:
        for pid in sorted(holders_of(context, f"socket:[{number}]")):
            words = (context.read(f"/proc/{pid}/cmdline") or "").replace("\0", " ").strip()
            return f"pid {pid} ({words[:80]})" if words else f"pid {pid}"
    return None


def _listening_sockets(context: Context, port: int) -> list[str]:
    """Inodes of the sockets that listen on `port`."""
    inodes: list[str] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in (context.read(table) or "").splitlines()[1:]:
            columns = line.split()
            if len(columns) < 10 or columns[3] != _LISTENING:
                continue
            if int(columns[1].rpartition(":")[2], 16) == port:
                inodes.append(columns[9])
    return inodes


def _limit(context: Context, name: str) -> int | None:
    for line in (context.read("/proc/self/limits") or "").splitlines():
        if line.startswith(name):
            return number_in(line[len(name) :].split()[0])
    return None


def _threads_of_user(context: Context) -> int:
    own = str(os.getuid())
    total = 0
    for name in context.names("/proc"):
        if not name.isdecimal():
            continue
        fields = dict(
            line.split(":", 1)
            for line in (context.read(f"/proc/{name}/status") or "").splitlines()
            if ":" in line
        )
        if fields.get("Uid", "").split()[:1] == [own]:
            total += int(fields.get("Threads", "1"))
    return total
