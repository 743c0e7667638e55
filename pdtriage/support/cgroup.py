"""The memory of the cgroup that this process and its children live in, both versions of cgroups."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from pdtriage.support.fast_namedtuple import NamedTuple

Read = Callable[[str], str | None]
"""The text of a file of the kernel; None where there is none."""
_NO_LIMIT = 1 << 60
"""Version 1 writes a huge number where there is no limit."""
_FILES = (
    ("memory.max", "memory.current", "memory.peak", "inactive_file"),
    (
        *("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes"),
        "total_inactive_file",
    ),
)
"""Where limit, use and peak stand, and what of the use is cached files, by version."""


class CgroupMemory(NamedTuple):
    """Bytes of one cgroup."""

    limit: int
    used: int
    """Without cached files, which go away by themselves when the memory is needed."""
    peak: int | None = None
    """The most it ever held, cached files included; None where the kernel does not say."""


def read_text(path: str) -> str | None:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()
    return None


def cgroup_folders(controller: str, read: Read = read_text) -> list[str]:
    """Folders of the groups we are in, innermost first; in a container often only the root."""
    folders: list[str] = []
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        base = f"/sys/fs/cgroup/{controller}" if names else "/sys/fs/cgroup"
        parts = [part for part in path.split("/") if part and part != ".."]
        folders += ["/".join([base, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return folders


def cgroup_memory(read: Read = read_text) -> CgroupMemory | None:
    """The tightest cgroup we are in; None where there is no limit."""
    found: list[CgroupMemory] = []
    for folder in cgroup_folders("memory", read):
        for most, now, peak, statistics in _FILES:
            limit = number_in(read(f"{folder}/{most}"))
            used = number_in(read(f"{folder}/{now}"))
            if limit is None or used is None or limit > _NO_LIMIT:
                continue
            cached = _field(read(f"{folder}/memory.stat"), statistics) or 0
            highest = number_in(read(f"{folder}/{peak}"))
            found.append(CgroupMemory(limit, max(0, used - cached), highest))
    return min(found, key=lambda memory: memory.limit - memory.used, default=None)


def memory_kills(read: Read = read_text) -> int | None:
    """How many processes of our cgroup the kernel has killed for lack of memory; None where it does
    not say. It counts before it kills."""
    for folder in cgroup_folders("memory", read):
        for name in ("memory.events", "memory.oom_control"):
            counted = _field(read(f"{folder}/{name}"), "oom_kill")
            if counted is not None:
                return counted
    return None


def number_in(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isdecimal() else None


def _field(text: str | None, name: str) -> int | None:
    for line in (text or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return number_in(value)
    return None
