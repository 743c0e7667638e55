"""Notices words that may tell of a cause in the news of all logs, with one scan for all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from pdtriage.scan.detect import Detector
from pdtriage.support.fast_namedtuple import NamedTuple

MOST_UNSEEN = 1 << 18
"""Bytes that are collected before they are looked at unasked."""


class _News(NamedTuple):
    begin: int
    seen: int
    """Where what was not looked at before begins."""
    sound: Callable[[], None]


class Alarm:
    """Collects what logs wrote and looks at it when somebody asks.

    Five hundred logs that write a hundred lines a second each are five thousand small pieces a
    second: the price is not their bytes but the calls.
    """

    def __init__(self, detector: Detector, alarming: frozenset[int]) -> None:
        self._detector = detector
        self._alarming = alarming
        self.reach = max(1, detector.longest - 1)
        """Bytes a word may reach back over the border of two pieces."""
        self._texts: list[bytes] = []
        self._news: list[_News] = []
        self._size = 0

    def hear(self, before: bytes, text: bytes, sound: Callable[[], None]) -> None:
        """News of one log, and the end of what stands before them; `sound` is called if due."""
        self._news.append(_News(self._size, self._size + len(before), sound))
        self._texts += (before, text, b"\n")  # no word may begin in one log and end in another
        self._size += len(before) + len(text) + 1
        if self._size >= MOST_UNSEEN:
            self.look()

    def look(self) -> None:
        """Sound the alarms that are due."""
        if not self._news:
            return
        news, begins = self._news, [one.begin for one in self._news]
        hits = self._detector.find(b"".join(self._texts))
        self._texts, self._news, self._size = [], [], 0
        for at, literal in hits:
            if literal in self._alarming:
                own = news[bisect_right(begins, at) - 1]
                if at + self._detector.lengths[literal] > own.seen:
                    own.sound()
