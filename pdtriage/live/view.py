"""What is shown of a running job, in what order: chosen logs, launcher lines, the status line."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pdtriage.live.folder_watch import Pace
from pdtriage.live.status_line import Plain, Screen
from pdtriage.live.tail import Tail
from pdtriage.live.terminal import Lines
from pdtriage.record.schema import ProcessRecord

ALL = "all"
LOOK_EVERY = 1.0
STATUS_EVERY = 0.5
MOST_AT_ONCE = 64
"""Pieces of one log that are shown before the next one gets its turn."""
_COLOURS = ("36", "33", "32", "35", "34", "31")

Ranks = frozenset[int] | str | None
"""Whose logs to show: these global ranks, all, or the first process of this node (None)."""


def ranks_asked(text: str | None) -> Ranks:
    """`0,3` or `all`; raises ValueError on anything else."""
    if text is None or text.strip() == ALL:
        return text and ALL
    return frozenset(int(part) for part in text.split(","))


@dataclass
class _Shown:
    tail: Tail
    prefix: str
    lines: Lines = field(default_factory=Lines)


class Stage:
    """The only one that writes to the terminal, from one thread, whoever has something to say."""

    def __init__(self, screen: Screen, status: Callable[[], str]) -> None:
        self._screen = screen
        self._status = status
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._shown: list[_Shown] = []
        self._leaving = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._looked = self._drawn = time.monotonic()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._live, name="stage", daemon=True)
        self._thread.start()

    def say(self, text: str) -> None:
        """A line (or several) for people; from any thread."""
        self._said.put(text)
        self._wake.set()

    def show(self, process: ProcessRecord, folder: str, *, prefixed: bool) -> None:
        """Show what this process writes from now on."""
        if process.log is None:
            return
        path = os.path.join(folder, process.log)
        if any(shown.tail.path == path for shown in self._shown):
            return
        prefix = self._prefix(process) if prefixed else ""
        self._shown.append(_Shown(Tail(path, process.offset), prefix))

    def beat(self) -> bool:
        """Show what is new; True if there was something."""
        news = self._pass_on()
        moment = time.monotonic()
        if moment - self._looked >= LOOK_EVERY:
            self._looked = moment
            for shown in self._shown:
                shown.tail.look()
        while not self._said.empty():
            self._screen.line(self._said.get_nowait())
            news = True
        if news or moment - self._drawn >= STATUS_EVERY:
            self._drawn = moment
            self._screen.status(self._status())
        return news

    def close(self, timeout: float | None = None) -> None:
        """Show the rest and take the status line away."""
        self._leaving = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return  # the terminal does not take anything; what it holds is its own
        while self._pass_on():
            pass
        for shown in self._shown:
            for line in shown.lines.flush() if shown.prefix else ():
                self._screen.log(shown.prefix.encode() + line + b"\n")
            shown.tail.close()
        while not self._said.empty():
            self._screen.line(self._said.get_nowait())
        self._screen.close()

    def _live(self) -> None:
        pace = Pace()
        while not self._leaving:
            rest = pace.rest(self.beat())
            self._wake.wait(rest)
            self._wake.clear()

    def _pass_on(self) -> bool:
        news = False
        for shown in self._shown:
            for _ in range(MOST_AT_ONCE):
                chunk = shown.tail.read()
                if not chunk:
                    break
                news = True
                if shown.prefix:
                    lines = shown.lines.feed(chunk)
                    mark = shown.prefix.encode()
                    chunk = b"".join(mark + line + b"\n" for line in lines)
                if chunk:
                    self._screen.log(chunk)
        return news

    def _prefix(self, process: ProcessRecord) -> str:
        name = f"{'' if process.role == 'worker' else process.role + ' '}{process.rank}"
        mark = f"[{name}] "
        if isinstance(self._screen, Plain) or os.environ.get("NO_COLOR"):
            return mark
        colour = _COLOURS[(process.rank or 0) % len(_COLOURS)]
        return f"\x1b[{colour}m{mark}\x1b[0m"
