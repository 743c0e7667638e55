"""Who holds a file or a port, by what the kernel shows of every process."""

from __future__ import annotations

import os

from pdtriage.doctor.context import Situation

_LISTENING = "0A"


def holders_of(situation: Situation, target: str) -> set[int]:
    """Pids with `target` open, ourselves excepted; those of other users stay unseen."""
    found: set[int] = set()
    for name in situation.names("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        for descriptor in situation.names(f"/proc/{name}/fd"):
            try:
                held = os.readlink(situation.path(f"/proc/{name}/fd/{descriptor}"))
            except OSError:
                continue
            if held == target:
                found.add(int(name))
                break
    return found


def listener_on(situation: Situation, port: int) -> str | None:
    """'pid 4711 (python train.py)' for a port in use; None where that is not to be seen."""
    sockets = _sockets(situation, port)
    for number in sockets:
        for pid in sorted(holders_of(situation, f"socket:[{number}]")):
            words = (situation.read(f"/proc/{pid}/cmdline") or "").replace("\0", " ").strip()
            return f"pid {pid} ({words[:80]})" if words else f"pid {pid}"
    return None


def _sockets(situation: Situation, port: int) -> list[str]:
    """Inodes of the sockets that listen on `port`."""
    inodes: list[str] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in (situation.read(table) or "").splitlines()[1:]:
            columns = line.split()
            if len(columns) < 10 or columns[3] != _LISTENING:
                continue
            if int(columns[1].rpartition(":")[2], 16) == port:
                inodes.append(columns[9])
    return inodes
