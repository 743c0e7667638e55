"""Free ports for tests, below those that the kernel gives to whoever asks for any."""

from __future__ import annotations

import os
from pathlib import Path

from pdtriage.launch.plan.addresses import is_taken

_FIRST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_END = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32768
_drawn = {"next": _FIRST + os.getpid() * 64 % (_END - _FIRST)}
"""Where to look next: another place for each process of the tests, never the same port twice."""


def free_port() -> int:
    return free_run(1)


def free_run(length: int) -> int:
    """The first of so many free ports in a row."""
    start = _drawn["next"]
    while True:
        if start + length > _END:
            start = _FIRST
        taken = [port for port in range(start, start + length) if is_taken(port)]
        if not taken:
            _drawn["next"] = start + length
            return start
        start = taken[-1] + 1
