"""What a process that a signal ended has left behind: a core file, a full /dev/shm, a count of
kills for memory."""

from __future__ import annotations

import glob
import os
import signal

from pdtriage.model.kinds import process_name
from pdtriage.record.schema import DeathRecord
from pdtriage.support.cgroup import Read, cgroup_memory, memory_kills, read_text
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

SHARED_MEMORY = "/dev/shm"
NEARLY_FULL = 0.9
_CORE_PATTERN = "/proc/sys/kernel/core_pattern"
_USES_PID = "/proc/sys/kernel/core_uses_pid"
_RECENT = 120.0
"""Seconds: a large core takes its time to be written."""


def traces_of(death: DeathRecord, folder: str) -> list[Text]:
    """Sentences for the report; `folder` is where the process was started."""
    if death.stopped or death.signal is None:
        return []
    who = process_name(death.role, death.rank)
    found = []
    if death.core and (core := _core_text(death, who, folder)) is not None:
        found.append(core)
    if death.signal in (signal.SIGBUS, signal.SIGKILL) and (full := _shm_text(who)) is not None:
        found.append(full)
    return found


class KillTrace(NamedTuple):
    """What the cgroup tells of a process that was ended by SIGKILL, in kB."""

    for_memory: bool | None = None
    """None: nobody knows."""
    limit: int | None = None
    peak: int | None = None
    """The most its cgroup ever held, all processes together."""
    peak_before: int | None = None
    """The same when the processes were started."""


class MemoryKills:
    """Whether the kernel killed a process for lack of memory: the cgroup's own count tells, which
    needs no kernel log and no rights.

    Every kill that it counted explains one process that ended by SIGKILL.
    """

    def __init__(self, read: Read = read_text) -> None:
        self._read = read
        self._explained = memory_kills(read)
        limited = cgroup_memory(read)
        self._peak_before = limited.peak if limited else None

    def explain_kill(self) -> KillTrace:
        """Whether a process that has just ended by SIGKILL was killed for memory."""
        counted = memory_kills(self._read)
        if counted is None or self._explained is None:
            return KillTrace()
        for_memory = counted > self._explained
        self._explained += for_memory
        limited = cgroup_memory(self._read)
        if limited is None:
            return KillTrace(for_memory)
        peaks = (_kb(limited.peak), _kb(self._peak_before))
        return KillTrace(for_memory, _kb(limited.limit), *peaks)

    def other_kills(self) -> Text | None:
        """How many processes that are no ranks were killed for memory since the last call: loader
        workers, as a rule."""
        counted = memory_kills(self._read)
        if counted is None or self._explained is None or counted <= self._explained:
            return None
        number, self._explained = counted - self._explained, counted
        limited = cgroup_memory(self._read)
        limit = f" ({limited.limit >> 20} MB)" if limited else ""
        return Text(
            f"the kernel killed {number} other process(es) of this cgroup for lack of memory"
            f"{limit} while the job ran, such as a loader worker",
            f"任务运行期间，内核因内存不足杀死了该 cgroup{limit} 中的另外 {number} 个进程，"
            "例如某个 DataLoader worker",
        )


def _kb(size: int | None) -> int | None:
    return None if size is None else size >> 10


def core_files(pattern: str, uses_pid: bool, pid: int, folder: str) -> str:
    """Where the kernel puts the core of a process, as a pattern for `glob`."""
    name, words = "", iter(pattern.strip())
    has_pid = False
    for letter in words:
        if letter != "%":
            name += glob.escape(letter)
            continue
        kind = next(words, "")
        has_pid |= kind in "pP" and bool(kind)
        name += {"p": str(pid), "%": "%", "": ""}.get(kind, "*")
    if uses_pid and not has_pid:
        name += f".{pid}"
    return os.path.join(glob.escape(folder), name)


def _core_text(death: DeathRecord, who: str, folder: str) -> Text | None:
    pattern = (read_text(_CORE_PATTERN) or "core").strip()
    if pattern.startswith("|"):
        program = os.path.basename(pattern[1:].split()[0]) if pattern[1:].split() else "?"
        how = f"coredumpctl info {death.pid}" if "systemd" in program else program
        return Text(
            f"the core dump of {who} (pid {death.pid}) went to {program}: {how}",
            f"{who}（pid {death.pid}）的 core dump 交给了 {program}：{how}",
        )
    uses_pid = (read_text(_USES_PID) or "0").strip() == "1"
    recent = [
        path
        for path in glob.glob(core_files(pattern, uses_pid, death.pid, folder))
        if _modified(path) >= death.time - _RECENT
    ]
    if not recent:
        return None
    path = max(recent, key=_modified)
    return Text(
        f"{who} left a core file: {path} (gdb python {path})",
        f"{who} 留下了 core 文件：{path}（gdb python {path}）",
    )


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _shm_text(who: str) -> Text | None:
    try:
        room = os.statvfs(SHARED_MEMORY)
    except OSError:
        return None
    size, left = room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize
    if not size or left > (1 - NEARLY_FULL) * size:
        return None
    used = (size - left) >> 20
    return Text(
        f"{SHARED_MEMORY} was full when {who} ended: {used} of {size >> 20} MB",
        f"{who} 结束时 {SHARED_MEMORY} 已满：{used} / {size >> 20} MB",
    )
