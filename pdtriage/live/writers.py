"""Who on this machine writes into a log folder."""

from __future__ import annotations

import os

from pdtriage.launch.supervise.processes import process_entry

WRITE_MODES = os.O_WRONLY | os.O_RDWR


class Writers:
    """Processes that have one of the logs open for writing, found once and then only counted."""

    def __init__(self) -> None:
        self.seen = False
        """There was one at some time."""
        self._births: dict[int, int] = {}

    def know(self, pids: list[int]) -> None:
        """Processes that belong to the job whatever they have open, its launcher for one."""
        self._add(pids)

    def alive(self) -> int:
        """How many of those found are still there."""
        self._births = {
            pid: birth for pid, birth in self._births.items() if _birth_of(pid) == birth
        }
        return len(self._births)

    def look(self, paths: set[str]) -> None:
        """Search all processes that we may look into."""
        self._add([pid for pid in _pids() if pid != os.getpid() and _writes(pid, paths)])

    def _add(self, pids: list[int]) -> None:
        for pid in pids:
            birth = _birth_of(pid)
            if birth:
                self._births.setdefault(pid, birth)
                self.seen = True


def _birth_of(pid: int) -> int:
    """0 for a process that is gone, or only waits to be collected."""
    entry = process_entry(pid)
    return entry.born if entry is not None and entry.state not in "ZX" else 0


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _writes(pid: int, paths: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(_is_one_of(folder, name, paths) and _for_writing(pid, name) for name in names)


def _is_one_of(folder: str, name: str, paths: set[str]) -> bool:
    try:
        return os.readlink(f"{folder}/{name}") in paths
    except OSError:
        return False


def _for_writing(pid: int, name: str) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("flags:"):
                    return bool(int(line.split()[1], 8) & WRITE_MODES)
    except (OSError, ValueError):
        return False
    return False
