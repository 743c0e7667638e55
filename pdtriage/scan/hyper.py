"""Compiled Hyperscan databases: loading one from the cache beats compiling it 1000 : 1."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hyperscan

from pdtriage.support import cache


class Database:
    """A block-mode database of these expressions; ids are their positions in the list."""

    def __init__(self, name: str, expressions: Sequence[bytes]) -> None:
        key = cache.key_of(_version(), _machine(), *expressions)
        database = _loaded(cache.load(name, key))
        if database is None:
            database = _compiled(expressions)
            cache.store(name, key, hyperscan.dumpb(database))
        self._database = database

    def scan(
        self,
        buffer: bytes | memoryview,
        on_match: Callable[[int, int, int, int, object], None],
    ) -> None:
        self._database.scan(buffer, match_event_handler=on_match)


def _compiled(expressions: Sequence[bytes]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    wanted = list(expressions) or [rb"\x00never\x00"]
    flags = hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_MULTILINE
    database.compile(
        expressions=wanted,
        ids=list(range(len(wanted))),
        elements=len(wanted),
        flags=[flags] * len(wanted),
    )
    return database


def _loaded(body: bytes | None) -> Any | None:
    if body is None:
        return None
    try:
        database = hyperscan.loadb(body, mode=hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.HyperscanError:  # of another version or processor
        return None
    return database


def _version() -> bytes:
    """The package's own word: asking importlib.metadata reads every installed package."""
    return str(getattr(hyperscan, "__version__", "")).encode()


def _machine() -> bytes:
    machine = os.uname().machine if hasattr(os, "uname") else ""
    return f"{machine} {_cpu_flags()}".encode()


def _cpu_flags() -> str:
    """Databases are tuned to the CPU; a cache on a shared home must not cross kinds."""
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return hashlib.sha256(line.encode()).hexdigest()
    except OSError:
        pass
    import platform  # takes as long as loading a database

    return platform.processor()
