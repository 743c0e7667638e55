"""Notices that something in a log folder came, went or changed its name.

Only that: what is appended to open files is read on a beat, because modify events cost a whole core
and network file systems send none. For the same reason the folder is looked at now and then even
when no event came.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

BUSY = 0.1
"""Seconds between two looks at the open files while they grow."""
IDLE = 0.15
LOOK_WITHOUT_EVENTS = 1.0
LOOK_WITH_EVENTS = 5.0


class FolderWatch:
    """`due()` says when to look at the folder again."""

    def __init__(self, folder: str, *, events: bool = True, recursive: bool = False) -> None:
        self._changed = threading.Event()
        self._looked = 0.0
        self._observer = _observe(folder, self._changed, recursive) if events else None

    @property
    def has_events(self) -> bool:
        return self._observer is not None

    def due(self) -> bool:
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

    def rest(self, news: bool) -> float:
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

    class Flag(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:  # noqa: ARG002 (given to all)
            changed.set()

    wanted: list[type[FileSystemEvent]] = [
        *(FileCreatedEvent, FileMovedEvent, FileDeletedEvent),
        *(DirCreatedEvent, DirMovedEvent, DirDeletedEvent),
    ]
    observer = Observer()
    try:
        observer.schedule(Flag(), os.fspath(folder), recursive=recursive, event_filter=wanted)
        observer.start()
    except OSError:
        return None  # no more inotify watches to be had, or no such folder yet
    return observer
