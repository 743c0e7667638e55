"""Files that are there whole or not at all: a kill or a full disk leaves the old one, or none."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO, TextIO

PUBLIC = 0o666
"""Less what the user's umask takes away."""
_OPEN_FILES = "/proc/self/fd"
_MOUNTED = (errno.EBUSY, errno.EXDEV)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to be written to that takes its name when everything is in it.

    A link stays one, and what is no regular file, /dev/stdout for one, is written as it is. `mode`
    is that of the old file if None.
    """
    target = os.path.realpath(path)
    try:
        old = os.stat(path)
    except OSError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(path, "wb") as stream:
            yield stream
        return
    try:
        draft = _Draft(target)
    except OSError as error:
        # A folder that takes no new file, with a file in it that may be written.
        if old is None or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        with open(path, "wb") as stream:
            yield stream
        return
    try:
        with open(draft.descriptor, "wb", closefd=False) as stream:
            yield stream
        draft.resemble(old, mode)
        draft.take_name()
    finally:
        draft.close()


@contextlib.contextmanager
def whole_text(path: str | os.PathLike[str], mode: int | None = None) -> Iterator[TextIO]:
    """A whole file for text in UTF-8; what cannot be written in it becomes a question mark."""
    with whole_file(path, mode) as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="")
        try:
            yield stream
            stream.flush()
        finally:
            stream.detach()


class _Draft:
    """A file without any name where the system can do that: a kill leaves nothing behind."""

    def __init__(self, target: str) -> None:
        self._target = target
        folder, name = os.path.split(target)
        self._named = os.path.join(folder, f".{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}")
        self._has_name = False
        try:
            os.stat(_OPEN_FILES)
            self.descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, PUBLIC)
        except (OSError, AttributeError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
            self.descriptor = os.open(self._named, flags | getattr(os, "O_BINARY", 0), PUBLIC)
            self._has_name = True

    def resemble(self, old: os.stat_result | None, mode: int | None) -> None:
        """Owner and mode as before, as far as we may give them."""
        with contextlib.suppress(OSError, AttributeError):
            if old is not None and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(self.descriptor, old.st_uid, old.st_gid)
        with contextlib.suppress(OSError, AttributeError):
            if mode is not None:
                os.fchmod(self.descriptor, mode)
            elif old is not None:
                os.fchmod(self.descriptor, stat.S_IMODE(old.st_mode))

    def take_name(self) -> None:
        if not self._has_name:
            # Python follows a link only where it is given a folder, which counts for nothing here.
            place, folder = f"{_OPEN_FILES}/{self.descriptor}", self.descriptor
            os.link(place, self._named, src_dir_fd=folder, follow_symlinks=True)
            self._has_name = True
        if sys.platform == "win32":  # which renames no file that is open
            self._close_descriptor()
        try:
            os.replace(self._named, self._target)
        except OSError as error:
            if error.errno not in _MOUNTED:
                raise
            self._copy()  # one file of another system, as containers have them mounted
        else:
            self._has_name = False

    def close(self) -> None:
        self._close_descriptor()
        if self._has_name:
            with contextlib.suppress(OSError):
                os.unlink(self._named)

    def _close_descriptor(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _copy(self) -> None:
        import shutil

        with open(self._named, "rb") as made, open(self._target, "wb") as old:
            shutil.copyfileobj(made, old)
