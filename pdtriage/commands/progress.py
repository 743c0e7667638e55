"""A bar on the terminal while logs are read, once that takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from pdtriage.commands.options import LANGUAGE
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
INTERVAL = 0.1

Tick = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes there are."""


@contextmanager
def reading_bar(
    stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Tick | None]:
    """Hands out what is to be called while reading; None where nobody would see it."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield None
        return
    bar = _Bar(stream, clock)
    try:
        yield bar.tick
    finally:
        bar.close()


class _Bar:
    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + PATIENCE
        self._progress: Progress | None = None

    def tick(self, done: int, whole: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + INTERVAL
        if self._progress is None:
            self._progress = self._begun()
            what = Text("reading logs", "读取日志").in_(LANGUAGE)
            self._progress.add_task(what, total=None)
        task = self._progress.task_ids[0]
        # a compressed log is longer than its file: the bar waits at the end, it does not go back
        self._progress.update(task, completed=min(done, whole), total=whole or None)
        self._progress.refresh()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _begun(self) -> Progress:
        """Without a thread of its own: the reader may want to fork."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=False),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            transient=True,
            auto_refresh=False,
        )
        progress.start()
        return progress
