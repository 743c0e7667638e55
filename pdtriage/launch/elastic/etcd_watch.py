"""A bell that rings when keys in etcd change: a watch, held open by a thread of its own.

It is a hint to look, never news by itself: a stream ends when etcd restarts, or falls silent when
a cable is cut. So whoever listens also looks by the clock, only less often while the bell works.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError

_SILENCE = 20.0
"""Seconds without a word after which the stream is opened anew: it may be dead."""
_PAUSE = 1.0


class Bell:
    """Rings for every change of a key from `first` on and before `last`."""

    def __init__(self, etcd: Etcd, first: str, last: str, ring: Callable[[], None]) -> None:
        self.works = False
        """Whether the stream is open, as far as can be known."""
        self._etcd = etcd
        self._range = (first, last)
        self._ring = ring
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="bell", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """The thread ends with its stream, and no bell is heard any more."""
        self._closed.set()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                self._hear()
            except EtcdAwayError:
                # Whoever looks by the clock finds out, and says so.
                self.works = False
                self._closed.wait(_PAUSE)
        self._etcd.close()

    def _hear(self) -> None:
        for _ in self._etcd.changes(*self._range, silence=_SILENCE):
            if self._closed.is_set():
                return
            self.works = True
            self._ring()
