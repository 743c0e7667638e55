"""Hears of changes in etcd, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError

_WATCH_SILENCE = 20.0
"""Seconds without a word after which the stream of a watch is opened anew: it may be dead."""
_WATCH_PAUSE = 1.0


class KeyWatch:
    """Calls `notify` for every change of a key from `first` on and before `last`, in a thread.

    That is a hint to look: a stream ends when etcd restarts, or falls silent when a cable is cut.
    So whoever is notified also looks by the clock, only less often while the watch works.
    """

    def __init__(self, etcd: Etcd, first: str, last: str, notify: Callable[[], None]) -> None:
        self.works = False
        """Whether the stream is open, as far as can be known."""
        self._etcd = etcd
        self._range = (first, last)
        self._notify = notify
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="etcd-watch", daemon=True)

    def start(self) -> None:
        """Starts the thread; without one it does not work, and who looks by the clock finds out."""
        with contextlib.suppress(RuntimeError):
            self._thread.start()

    def close(self) -> None:
        """The thread ends with its stream, and nobody is notified any more."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._follow_stream()
            except EtcdAwayError:
                # Whoever looks by the clock finds out, and says so.
                self.works = False
                self._closed.wait(_WATCH_PAUSE)
        self._etcd.close()

    def _follow_stream(self) -> None:
        for _ in self._etcd.changes(*self._range, silence=_WATCH_SILENCE):
            if self._closed.is_set():
                return
            self.works = True
            self._notify()
