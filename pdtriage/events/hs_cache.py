"""Compiled Hyperscan databases, kept in the user's cache folder: loading beats compiling 1000:1."""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import hyperscan

MAGIC = b"pdtriage-hs-1\n"


def cached_database(name: str, expressions: Sequence[bytes]) -> Any:
    """A block-mode database of these expressions; ids are their positions in the list."""
    key = hashlib.sha256(
        b"\0".join([version("hyperscan").encode(), _machine(), *expressions])
    ).hexdigest()
    path = _cache_folder() / f"{name}-{key[:24]}.hs"
    database = _load(path, key)
    if database is None:
        database = _compile(expressions)
        _store(path, key, hyperscan.dumpb(database))
    return database


def _compile(expressions: Sequence[bytes]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_MULTILINE
    database.compile(
        expressions=list(expressions or [b"\\x00never\\x00"]),
        ids=list(range(max(1, len(expressions)))),
        elements=max(1, len(expressions)),
        flags=[flags] * max(1, len(expressions)),
    )
    return database


def _load(path: Path, key: str) -> Any | None:
    """The stored database, or None if there is none that can be trusted."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    head = MAGIC + key.encode() + b"\n"
    body = stored[len(head) + 64 + 1 :]
    checksum = hashlib.sha256(body).hexdigest().encode()
    if not stored.startswith(head) or stored[len(head) : len(head) + 64] != checksum:
        return None
    try:
        database = hyperscan.loadb(body, mode=hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.HyperscanError:
        return None
    return database


def _store(path: Path, key: str, body: bytes) -> None:
    checksum = hashlib.sha256(body).hexdigest().encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(MAGIC + key.encode() + b"\n" + checksum + b"\n" + body)
        os.replace(file.name, path)
    except OSError:
        return  # a folder that cannot be written costs time, not results


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or Path.home() / ".cache") / "pdtriage"


def _machine() -> bytes:
    return f"{platform.machine()} {_cpu_flags()}".encode()


def _cpu_flags() -> str:
    """Databases are tuned to the CPU; a cache on a shared home must not cross kinds."""
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return hashlib.sha256(line.encode()).hexdigest()
    except OSError:
        pass
    return platform.processor()
