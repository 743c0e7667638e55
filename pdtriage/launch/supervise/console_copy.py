"""What Paddle's launcher says: kept beside the run record, and shown as it comes.

Its errors go into a file, so that a launcher that dies itself is understood afterwards; a thread
shows them on. What it prints of its first log goes to the terminal directly.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence

from pdtriage.support.private_files import private_opener

_LOOK = 0.05
_CHUNK = 1 << 16
STDERR = 2


def console_name(record_file: str) -> str:
    """The name of the console's file, beside that of the record."""
    return os.path.basename(record_file).removesuffix(".jsonl") + ".console"


class ConsoleFile:
    """What Paddle's launcher prints: written to a file where that can be had, and shown."""

    def __init__(self, path: str) -> None:
        self._descriptor: int | None = None
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        with contextlib.suppress(OSError):
            self._descriptor = private_opener(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)

    @property
    def is_open(self) -> bool:
        return self._descriptor is not None

    @property
    def file_actions(self) -> Sequence[tuple[int, int, int]]:
        """Where the launcher's output goes, as `posix_spawn` wants to be told."""
        if self._descriptor is None:
            return ()
        return ((os.POSIX_SPAWN_DUP2, self._descriptor, STDERR),)

    def start(self) -> None:
        """Begins to show what the launcher says; to be called when it runs."""
        if self._descriptor is not None:
            thread = threading.Thread(target=self._show, name="console", daemon=True)
            with contextlib.suppress(RuntimeError):  # no more threads: it is shown at the end
                thread.start()
                self._thread = thread

    def close(self, patience: float = 1.0) -> None:
        """Show the rest; a terminal that takes nothing is not waited for."""
        self._done.set()
        if self._thread is not None:
            self._thread.join(patience)
        elif self._descriptor is not None:
            self._show()
        if self._descriptor is not None and (self._thread is None or not self._thread.is_alive()):
            os.close(self._descriptor)
            self._descriptor = None

    def _show(self) -> None:
        shown = 0
        descriptor = self._descriptor
        assert descriptor is not None
        while True:
            over = self._done.wait(_LOOK)
            while chunk := os.pread(descriptor, _CHUNK, shown):
                shown += len(chunk)
                try:
                    _write(chunk)
                except OSError:
                    return  # nobody reads it any more; it is kept all the same
            if over:
                return


def _write(chunk: bytes) -> None:
    while chunk:
        chunk = chunk[os.write(STDERR, chunk) :]
