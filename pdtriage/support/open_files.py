"""Which processes of this machine have a file open for writing, as far as we may look into them."""

from __future__ import annotations

import os
from collections.abc import Collection

_WRITE_MODES = os.O_WRONLY | os.O_RDWR
_OWN_LAYER = frozenset({"overlay", "tmpfs", "ramfs"})
"""File systems that no process outside of this container writes to, as a rule."""
_LOCAL = _OWN_LAYER | {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs"}
_FIRST_PIDS = "pid:[4026531836]"
"""The kernel's own name for the processes of a machine that no container hides."""


def writers_of(paths: Collection[str]) -> list[int]:
    """Pids of all other processes that have one of these files open for writing."""
    return [pid for pid in _pids() if pid != os.getpid() and _writes(pid, paths)]


def may_have_hidden_writers(paths: Collection[str]) -> bool:
    """Whether a process could write them that `writers_of` cannot see: another user's, one of
    another machine, or of another container."""
    mounts = _file_systems()
    if not mounts:
        return True
    everything = _namespace() == _FIRST_PIDS
    seen = _LOCAL if everything else _OWN_LAYER
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            return True
        device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
        if mounts.get(device) not in seen or os.geteuid() not in (0, status.st_uid):
            return True
    return False


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _file_systems() -> dict[str, str]:
    """Type by number of the device."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as stream:
            rows = [line.split() for line in stream]
    except OSError:
        return {}
    return {row[2]: row[row.index("-") + 1] for row in rows if "-" in row[:-1]}


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _writes(pid: int, paths: Collection[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(_is_one_of(folder, name, paths) and _for_writing(pid, name) for name in names)


def _is_one_of(folder: str, name: str, paths: Collection[str]) -> bool:
    try:
        return os.readlink(f"{folder}/{name}") in paths
    except OSError:
        return False


def _for_writing(pid: int, name: str) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("flags:"):
                    return bool(int(line.split()[1], 8) & _WRITE_MODES)
    except (OSError, ValueError):
        return False
    return False
