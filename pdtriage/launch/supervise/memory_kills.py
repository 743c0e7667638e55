"""Whether the kernel killed a process for lack of memory: the cgroup's own count tells, which needs
no kernel log and no rights."""

from __future__ import annotations

from pdtriage.support.cgroup import Read, cgroup_memory, memory_kills, read_text


class MemoryKills:
    """Every kill that the kernel counted explains one process that ended by SIGKILL."""

    def __init__(self, read: Read = read_text) -> None:
        self._read = read
        self._explained = memory_kills(read)

    def explain_kill(self) -> tuple[bool | None, int | None]:
        """Of a process that has just ended by SIGKILL: whether it was for memory (None: nobody
        knows), and then the limit of the cgroup in kB."""
        counted = memory_kills(self._read)
        if counted is None or self._explained is None:
            return None, None
        if counted <= self._explained:
            return False, None
        self._explained += 1
        limited = cgroup_memory(self._read)
        return True, limited[0] >> 10 if limited else None
