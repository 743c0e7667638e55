"""Small compiled things kept in the user's cache folder. A cache is never trusted blindly."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

MAGIC = b"pdtriage-cache-1\n"
FOLDER_VARIABLE = "PDTRIAGE_CACHE"
MOST_BYTES = 256 << 20
_WRITABLE_BY_OTHERS = 0o022
_READ = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _READ |= getattr(os, _name, 0)
MOST_ENTRIES = 64
"""Entries kept; those not used for longest go first."""


def key_of(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]


def load(name: str, key: str) -> bytes | None:
    """What was stored under this key; None if there is nothing, or it is damaged or not ours."""
    stored = own_content(_path(name, key))
    return None if stored is None else unseal(stored, key)


def own_content(path: Path, most: int = MOST_BYTES) -> bytes | None:
    """What is in a file of ours, or root's, that nobody else may write; None for any other.

    A checksum proves that it is whole, not whose it is, and databases of patterns are taken as they
    are. Owner and content are those of one open file: a name may mean another one a moment later.
    """
    try:
        file = os.open(path, _READ)
    except OSError:
        return None
    try:
        found = os.fstat(file)
        if not is_trusted(found) or found.st_size > most:
            return None
        with suppress(OSError):  # a folder that cannot be written can be read
            os.utime(file if os.utime in os.supports_fd else path)  # what is used stays
        with open(file, "rb", closefd=False) as stream:
            return stream.read(most)
    except OSError:
        return None
    finally:
        os.close(file)


def store_atomically(name: str, key: str, body: bytes) -> None:
    """Written atomically; a folder that cannot be written costs time, not results."""
    path = _path(name, key)
    try:
        write_in_own_folder(path, seal(body, key))
        _prune(path.parent)
    except OSError:
        return


def is_trusted(found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid in (os.getuid(), 0) and not found.st_mode & _WRITABLE_BY_OTHERS


def seal(body: bytes, key: str) -> bytes:
    """The body with what it takes to see later that it is whole, and meant."""
    return MAGIC + key.encode() + b"\n" + _checksum(body) + body


def unseal(stored: bytes, key: str) -> bytes | None:
    head = MAGIC + key.encode() + b"\n"
    body = stored[len(head) + 32 :]
    if not stored.startswith(head) or stored[len(head) : len(head) + 32] != _checksum(body):
        return None
    return body


def write_in_own_folder(path: Path, content: bytes) -> None:
    """Writes a file in a folder of the user's own, all or nothing."""
    from pdtriage.support.whole_files import whole_file  # what is cached is seldom written

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with whole_file(path, 0o600) as file:
        file.write(content)


def folder() -> Path:
    if own := os.environ.get(FOLDER_VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if base:
        return Path(base) / "pdtriage"
    try:
        return Path.home() / ".cache" / "pdtriage"
    except RuntimeError:  # a user without a home, as in many containers
        return Path(os.devnull) / "pdtriage"  # nothing can be kept there


def _path(name: str, key: str) -> Path:
    return folder() / f"{name}-{key}.bin"


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def _prune(where: Path) -> None:
    entries = sorted(where.glob("*.bin"), key=lambda entry: entry.stat().st_mtime)
    for entry in entries[:-MOST_ENTRIES]:
        entry.unlink(missing_ok=True)
