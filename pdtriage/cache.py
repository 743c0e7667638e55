"""Small compiled things kept in the user's cache folder. A cache is never trusted blindly."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

MAGIC = b"pdtriage-cache-1\n"
MOST_ENTRIES = 64
"""Entries kept; those not written for longest go first."""


def key_of(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]


def load(name: str, key: str) -> bytes | None:
    """What was stored under this key; None if there is nothing, or it is damaged."""
    try:
        stored = _path(name, key).read_bytes()
    except OSError:
        return None
    head = MAGIC + key.encode() + b"\n"
    body = stored[len(head) + 32 :]
    if not stored.startswith(head) or stored[len(head) : len(head) + 32] != _checksum(body):
        return None
    return body


def store(name: str, key: str, body: bytes) -> None:
    """Written atomically; a folder that cannot be written costs time, not results."""
    path = _path(name, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
            file.write(MAGIC + key.encode() + b"\n" + _checksum(body) + body)
        os.replace(file.name, path)
        _prune(path.parent)
    except OSError:
        return


def folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or Path.home() / ".cache") / "pdtriage"


def _path(name: str, key: str) -> Path:
    return folder() / f"{name}-{key}.bin"


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def _prune(where: Path) -> None:
    entries = sorted(where.glob("*.bin"), key=lambda entry: entry.stat().st_mtime)
    for entry in entries[:-MOST_ENTRIES]:
        entry.unlink(missing_ok=True)
