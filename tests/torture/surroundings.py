"""Machines that have too little of something: few descriptors or processes, a disk that is full."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..running import wait_until

if TYPE_CHECKING:
    from .lives import Life

FEW = {"few descriptors": (12, 64), "few processes": (1, 14)}
"""Between how many a limit is drawn that holds from the start."""
DISK = "1m"
_FIRST_USER = 70_000
_SAME_RIGHTS = ("--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override")
"""To read where Python lies, which may be root's own folder; no right to exceed limits."""
_MOUNT = f'mount -t tmpfs -o size={DISK} torture "$1" && shift && exec "$@"'


@lru_cache
def is_possible(fate: str) -> bool:
    """Whether this machine lets us: a user or a disk of one's own are for root to give."""
    if fate.endswith("processes"):
        return os.geteuid() == 0 and shutil.which("setpriv") is not None
    if fate == "full disk":
        return os.geteuid() == 0 and _works(
            "unshare", "-m", "sh", "-c", _MOUNT, "sh", "/mnt", "true"
        )
    return True


def words_before(life: Life, folder: Path) -> tuple[str, ...]:
    """What is written in front of the launcher's command."""
    if life.fate.endswith("processes"):
        user = _FIRST_USER + life.number % 10_000  # the kernel counts all processes of a user
        os.chown(folder, user, user)
        own = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *_SAME_RIGHTS)
        return (*own, *_limited("nproc", life.limit))
    if life.fate == "few descriptors":
        return _limited("nofile", life.limit)
    if life.fate == "full disk":
        (folder / "log").mkdir()
        return ("unshare", "-m", "sh", "-c", _MOUNT, "sh", str(folder / "log"))
    return ()


@contextlib.contextmanager
def logs_of(life: Life, folder: Path, process: subprocess.Popen[bytes]) -> Iterator[Path]:
    """Where the logs can be seen from here, also when the disk they were on is gone."""
    logs = folder / "log"
    if life.fate != "full disk":
        yield logs
        return
    there = Path(f"/proc/{process.pid}/root{logs}")
    here = logs.stat().st_dev
    wait_until(lambda: process.poll() is not None or there.stat().st_dev != here)
    descriptor = os.open(there, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def exhaust(life: Life, logs: Path, pid: int) -> None:
    """From now on there is nothing left of it, for the launcher alone or for everybody."""
    if life.fate == "no more descriptors":
        taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        free = next(number for number in range(len(taken) + 1) if number not in taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, free))
    elif life.fate == "no more processes":
        resource.prlimit(pid, resource.RLIMIT_NPROC, (0, 0))
    elif life.fate == "full disk":
        with contextlib.suppress(OSError), open(logs / "filler", "wb", buffering=0) as stream:
            while stream.write(b"\0" * 4096):
                pass


def _limited(what: str, most: int) -> tuple[str, ...]:
    return ("prlimit", f"--{what}={most}:{most}") if most else ()


def _works(*words: str) -> bool:
    with contextlib.suppress(OSError):
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    return False
