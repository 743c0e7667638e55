"""Who writes the logs of a job that something else started."""

from __future__ import annotations

import contextlib
import os

from pdtriage.hang.job_processes import ranks_among
from pdtriage.launch.supervise.processes import process_entry
from pdtriage.support.open_files import writers_of


class Writers:
    """Processes that have one of the logs open for writing, found once and then only counted."""

    def __init__(self) -> None:
        self.seen = False
        """There was one at some time."""
        self._births: dict[int, int] = {}
        self._ranks: dict[int, tuple[str, int | None]] = {}
        """Role and number of those that are ranks: launchers and loader workers have the logs open
        as well."""

    def add(self, pids: list[int]) -> None:
        """Takes in processes of the job whatever they have open, such as its launcher."""
        for pid in pids:
            birth = _birth_of(pid)
            if birth:
                self._births.setdefault(pid, birth)
                self.seen = True

    def alive(self) -> int:
        """How many of those found are still there."""
        self._births = {
            pid: birth for pid, birth in self._births.items() if _birth_of(pid) == birth
        }
        return len(self._births)

    def ranks(self) -> tuple[int, int] | None:
        """How many ranks are alive, of how many; None where nobody knows who is one."""
        if not self._ranks:
            return None
        self.alive()
        return len(self._ranks.keys() & self._births.keys()), len(self._ranks)

    def pids_of_ranks(self) -> dict[tuple[str, int | None], int]:
        """Pids by role and number, those of processes that are gone as well."""
        return {who: pid for pid, who in list(self._ranks.items())}  # asked by other threads, too

    def end_ranks(self, number: int) -> None:
        """Send a signal to the ranks that are alive; whoever started them sees them end."""
        for pid, birth in list(self._births.items()):
            if pid in self._ranks and _birth_of(pid) == birth:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)

    def search(self, paths: set[str]) -> None:
        """Add those that write into `paths`, of all processes that we may look into."""
        pids = writers_of(paths)
        self.add(pids)
        found = {target.pid: (target.role, target.rank) for target in ranks_among(pids)}
        if found and not self._ranks.keys() & self._births.keys():
            self._ranks = {}  # another attempt: all of the one before are gone
        self._ranks |= found


def _birth_of(pid: int) -> int:
    """0 for a process that is gone, or only waits to be collected."""
    entry = process_entry(pid)
    return entry.born if entry is not None and entry.state not in "ZX" else 0
