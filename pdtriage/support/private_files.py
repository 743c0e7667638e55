"""Files that only their owner may read: command lines and environments hold secrets."""

from __future__ import annotations

import contextlib
import os
import stat

PRIVATE = 0o600


def private_opener(path: str, flags: int) -> int:
    """For `open(..., opener=private_opener)`; a file of an earlier run becomes private, too."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE)
    # Not ours to change, or a file system without modes: the job goes on.
    with contextlib.suppress(OSError):
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
            os.fchmod(descriptor, PRIVATE)
    return descriptor
