"""Log files while they grow: what was appended, what came or went.

What is appended to open files is read on a beat, because modify events cost a whole core and
network file systems send none. For the same reason a folder is looked at now and then even when no
event came.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from typing import TYPE_CHECKING

from pdtriage.support.regular_files import open_file

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

MOST = 1 << 18
"""Bytes read at once."""
BUSY = 0.1
"""Seconds between two looks at the open files while they grow."""
IDLE = 0.15
LOOK_WITHOUT_EVENTS = 1.0
LOOK_WITH_EVENTS = 5.0


class Tail:
    """Reads what was appended since the last time, whatever becomes of the file.

    A file that shrinks or is replaced by another of the same name begins anew: `generation` counts
    these beginnings, and `position` is the place in the present one.
    """

    def __init__(self, path: str, position: int = 0) -> None:
        self.path = os.path.realpath(path)
        """A link that was there at the beginning is followed, and none that comes later."""
        self.position = position
        self.generation = 0
        self.refusal = ""
        """Why it could not be opened, where that is not because there is no such file."""
        self._descriptor: int | None = None
        self._replaced = False

    def read(self, most: int = MOST) -> bytes:
        """The next bytes; empty when there are none now, or no file yet."""
        if self._descriptor is None and not self._open():
            return b""
        assert self._descriptor is not None
        chunk = os.pread(self._descriptor, most, self.position)
        if not chunk:
            chunk = self._start_over(most)
        self.position += len(chunk)
        return chunk

    def skip_to_last(self, most: int) -> int:
        """Go on at the first whole line of the last `most` bytes; how many are left out."""
        if self._descriptor is None and not self._open():
            return 0
        assert self._descriptor is not None
        begin = os.fstat(self._descriptor).st_size - most
        if begin <= self.position:
            return 0
        begin += os.pread(self._descriptor, most, begin).find(b"\n") + 1
        skipped, self.position = begin - self.position, begin
        return skipped

    def check_name(self) -> None:
        """See whether the name still means this file; an old one is read to its end first."""
        if self._descriptor is None:
            return
        try:
            now = os.stat(self.path)
        except OSError:
            return  # moved away; perhaps a new one comes
        old = os.fstat(self._descriptor)
        self._replaced = (now.st_dev, now.st_ino) != (old.st_dev, old.st_ino)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> bool:
        try:
            self._descriptor = open_file(self.path)
        except OSError as error:
            self.refusal = "" if error.errno == errno.ENOENT else error.strerror or ""
            return False
        self.refusal = ""
        return True

    def _start_over(self, most: int) -> bytes:
        assert self._descriptor is not None
        if self._replaced:
            if not self._has_successor():
                return b""
            self.close()
            self._replaced = False
            if not self._open():
                return b""
        elif os.fstat(self._descriptor).st_size >= self.position:
            return b""
        self.generation += 1
        self.position = 0
        return os.pread(self._descriptor, most, 0)

    def _has_successor(self) -> bool:
        """Something was written to the new file of this name; until then whoever has the old one
        open may write on to it, as processes do whose log was renamed."""
        try:
            return os.stat(self.path).st_size > 0
        except OSError:
            return False


class FolderWatch:
    """Says when to look at a folder again: something in it came, went or changed its name."""

    def __init__(self, folder: str, *, events: bool = True, recursive: bool = False) -> None:
        self._changed = threading.Event()
        self._looked = 0.0
        self._observer = _observe(folder, self._changed, recursive) if events else None

    @property
    def has_events(self) -> bool:
        return self._observer is not None

    def is_due(self) -> bool:
        """True when something changed since the last True, or simply long ago."""
        moment = time.monotonic()
        every = LOOK_WITH_EVENTS if self.has_events else LOOK_WITHOUT_EVENTS
        if not self._changed.is_set() and moment - self._looked < every:
            return False
        self._changed.clear()
        self._looked = moment
        return True

    def close(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(timeout=2)
            self._observer = None


class Pace:
    """How long to rest between two beats: short while there is something to read."""

    def __init__(self) -> None:
        self._quiet = 0

    def pause(self, news: bool) -> float:
        self._quiet = 0 if news else self._quiet + 1
        return BUSY if self._quiet < 10 else IDLE


def _observe(folder: str, changed: threading.Event, recursive: bool) -> BaseObserver | None:
    from watchdog.events import (
        DirCreatedEvent,
        DirDeletedEvent,
        DirMovedEvent,
        FileCreatedEvent,
        FileDeletedEvent,
        FileMovedEvent,
        FileSystemEvent,
        FileSystemEventHandler,
    )
    from watchdog.observers import Observer

    class EventFlag(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:  # noqa: ARG002 (given to all)
            changed.set()

    wanted: list[type[FileSystemEvent]] = [
        *(FileCreatedEvent, FileMovedEvent, FileDeletedEvent),
        *(DirCreatedEvent, DirMovedEvent, DirDeletedEvent),
    ]
    observer = Observer()
    try:
        observer.schedule(EventFlag(), os.fspath(folder), recursive=recursive, event_filter=wanted)
        observer.start()
    except (OSError, RuntimeError):
        return None  # no more inotify watches or threads to be had, or no such folder yet
    return observer
