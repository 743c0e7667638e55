"""Files opened as what they were found to be: looked at when they are open, not before.

Between the listing of a folder and the opening of a file, whoever may write there can put a link,
a pipe or a device in its place: the link would show a file of whoever opens it, the pipe would keep
them waiting for ever.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

_OPEN = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _name, 0)
_TRIES = 3
SPARSE = 32 << 20
GROWING = 64 << 20
"""Bytes read of a file that calls itself empty: some file systems do not know a size."""


class LinkedError(OSError):
    """A link stands where a file was expected, or a folder on the way to it."""


class NoFileError(OSError):
    """A pipe, a socket, a device or a folder stands where there was a file."""


def open_file(path: str) -> int:
    """A descriptor of the regular file at `path`, in which no link is left to be followed."""
    for _ in range(_TRIES):
        descriptor = _open(path)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise NoFileError(errno.EINVAL, "not a regular file", path)
            if _is_at(descriptor, path, found):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # rotated just then, as a rule
    raise LinkedError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def open_binary(path: str, buffering: int = -1) -> BinaryIO:
    """Opens a regular file as a file object of Python."""
    return os.fdopen(open_file(path), "rb", buffering=buffering)


def stretches_with_data(descriptor: int) -> Iterator[tuple[int, int]]:
    """Offset and length of what to read of it, as long as it is now.

    What is written from now on would be chased without end. Of a file that is mostly holes, as
    emptying a log leaves one whose writer goes on where it was, the holes are left out.
    """
    size = os.fstat(descriptor).st_size
    if not has_holes(descriptor):
        yield 0, size or GROWING
        return
    end = 0
    while end < size:
        try:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, begin, os.SEEK_HOLE)
        except OSError:  # nothing but a hole up to the end
            return
        yield begin, min(end, size) - begin


def has_holes(descriptor: int) -> bool:
    """Whether so much of it is holes that reading them as zeros would take long."""
    found = os.fstat(descriptor)
    blocks = getattr(found, "st_blocks", None)
    if blocks is None or found.st_size - blocks * 512 < SPARSE or not hasattr(os, "SEEK_HOLE"):
        return False
    try:
        return os.lseek(descriptor, 0, os.SEEK_HOLE) < found.st_size
    except OSError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


def _open(path: str) -> int:
    try:
        return os.open(path, _OPEN)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LinkedError(error.errno, error.strerror, path) from None
        if error.errno == errno.ENXIO:  # a socket
            raise NoFileError(error.errno, error.strerror, path) from None
        raise


def _is_at(descriptor: int, path: str, found: os.stat_result) -> bool:
    """Whether the open file lies at `path` itself: the kernel tells where it found it."""
    try:
        if os.readlink(f"/proc/self/fd/{descriptor}") == path:
            return True
    except OSError:
        pass  # not on this system
    # Else a second, slower look: a file system may take several spellings of a name for one.
    return os.path.realpath(path) == path and os.path.samestat(os.stat(path), found)
