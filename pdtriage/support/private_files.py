"""Files that only their owner may read: command lines and environments hold secrets.

Others may be able to write into a log folder, too: no link that they put there is followed, else we
would empty a file of ours elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

PRIVATE = 0o600
_LINKS = getattr(os, "O_NOFOLLOW", 0)
_SAFELY = _LINKS
for _name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"):
    _SAFELY |= getattr(os, _name, 0)


def private_opener(path: str, flags: int) -> int:
    """For `open(..., opener=private_opener)`: the file is private, also one of an earlier run.

    A link of that name makes way for a file.
    """
    descriptor = _open(path, flags | _SAFELY)
    # Not ours to change, or a file system without modes: the job goes on.
    with contextlib.suppress(OSError, AttributeError):
        found = os.fstat(descriptor)
        if found.st_mode & 0o077:
            os.fchmod(descriptor, PRIVATE)
    return descriptor


def unlinked_opener(path: str, flags: int) -> int:
    """An opener that follows no link, for a file whose readers the user's umask decides."""
    return _open(path, flags | _SAFELY, 0o666)


def make_own_folder(path: str) -> None:
    """Makes the folder if it is not there; OSError where a link of another user stands for it."""
    os.makedirs(path, exist_ok=True)
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode) and not _is_ours(found):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def open_through_own_links(path: str, flags: int, mode: int) -> int:
    """Opens as `os.open`; a link is followed where the user, or root, has put it there."""
    try:
        return os.open(path, flags | _LINKS, mode)
    except OSError as error:
        if error.errno != errno.ELOOP or not _is_ours(os.lstat(path)):
            raise
    return os.open(path, flags, mode)


def _is_ours(found: os.stat_result) -> bool:
    """The user's own, or root's; all of them where files have no such owner."""
    return not hasattr(os, "geteuid") or found.st_uid in (os.geteuid(), 0)


def _open(path: str, flags: int, mode: int = PRIVATE) -> int:
    empties = flags & os.O_TRUNC
    try:
        descriptor = os.open(path, flags & ~os.O_TRUNC, mode)
    except OSError as error:
        if error.errno != errno.ELOOP or not flags & os.O_CREAT:
            raise
        return _anew(path, flags, mode)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        if empties and found.st_nlink > 1:  # it has another name, too, where it is to stay
            os.close(descriptor)
            return _anew(path, flags, mode)
        if empties:
            os.ftruncate(descriptor, 0)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise
    return descriptor


def _anew(path: str, flags: int, mode: int) -> int:
    os.unlink(path)
    return os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
