"""What is shown of a running job, in what order: chosen logs, launcher lines, the status line."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from math import inf

from pdtriage.live.file_watch import Pace, Tail
from pdtriage.live.log_follower import ProcessStatus
from pdtriage.live.screen import LineSplitter, PlainScreen, Screen
from pdtriage.record.schema import ProcessRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text

ALL = "all"
CHECK_EVERY = 1.0
STATUS_EVERY = 0.5
MOST_AT_ONCE = 64
"""Pieces of one log that are shown before the next one gets its turn."""
_COLOURS = ("36", "33", "32", "35", "34", "31")

Ranks = frozenset[int] | str | None
"""Whose logs to show: these global ranks, all, or the first process of this node (None)."""


def parse_ranks(text: str | None) -> Ranks:
    """`0,3` or `all`; raises ValueError on anything else."""
    if text is None or text.strip() == ALL:
        return text and ALL
    return frozenset(int(part) for part in text.split(","))


class _ViewedLog(NamedTuple):
    tail: Tail
    prefix: bytes
    lines: LineSplitter


class View:
    """The only one that writes to the terminal, from one thread, whoever has something to say."""

    def __init__(
        self,
        screen: Screen,
        status: Callable[[], str],
        ranks: Ranks = None,
        *,
        quiet: bool = False,
        language: Language = "en",
        above: Callable[[int, int], Sequence[str]] | None = None,
    ) -> None:
        """`quiet`: show no logs; `above`: lines above the status, for a terminal of so many columns
        and rows."""
        self._above = above
        self._language = language
        self._screen = screen
        self._status = status
        self._ranks = ranks
        self._quiet = quiet
        self._texts: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._logs: list[_ViewedLog] = []
        self._leaving = False
        self._show_until = inf
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._checked_at = self._drawn_at = time.monotonic()

    def start(self) -> None:
        """RuntimeError where the machine allows no more threads."""
        thread = threading.Thread(target=self._run, name="view", daemon=True)
        thread.start()
        self._thread = thread

    def print(self, text: str) -> None:
        """Shows a line (or several) to people; may be called from any thread."""
        self._texts.put(text)
        self._wake.set()

    def show(self, process: ProcessRecord, folder: str, *, usual: bool) -> None:
        """Show what this process writes from now on, if its rank was chosen; where nobody chose,
        if it is one that is `usual` to show."""
        ranks = self._ranks
        chosen = usual if ranks is None else ranks == ALL or process.rank in ranks
        if self._quiet or not chosen or process.log is None:
            return
        path = os.path.join(folder, process.log)
        if any(log.tail.path == path for log in self._logs):
            return
        several = ranks is not None and (ranks == ALL or len(ranks) > 1)
        prefix = self._prefix(process) if several else b""
        self._logs.append(_ViewedLog(Tail(path, process.offset), prefix, LineSplitter()))

    def refresh(self) -> bool:
        """Show what is new; True if there was something."""
        news = self._copy_logs()
        moment = time.monotonic()
        if moment - self._checked_at >= CHECK_EVERY:
            self._checked_at = moment
            for log in self._logs:
                log.tail.check_name()
        while not self._texts.empty():
            self._screen.line(self._texts.get_nowait())
            news = True
        if news or moment - self._drawn_at >= STATUS_EVERY:
            self._drawn_at = moment
            self._draw_status()
        return news

    def close(self, timeout: float | None = None) -> None:
        """Show the rest, as far as that takes no longer, and take the status line away."""
        self._show_until = inf if timeout is None else time.monotonic() + 0.8 * timeout
        self._leaving = True
        self._wake.set()
        if self._thread is None:
            self._finish()
        else:
            # Where the terminal does not take anything, what it holds is its own.
            self._thread.join(timeout)

    def _finish(self) -> None:
        while self._copy_logs():
            if time.monotonic() > self._show_until:
                self._tell_hidden()
                break
        for log in self._logs:
            if log.tail.refusal:
                self._tell_refused(log.tail)
            for line in log.lines.flush() if log.prefix else ():
                self._screen.log(log.prefix + line + b"\n")
            log.tail.close()
        while not self._texts.empty():
            self._screen.line(self._texts.get_nowait())
        self._screen.close()

    def _run(self) -> None:
        pace = Pace()
        while not self._leaving:
            rest = pace.pause(self.refresh())
            self._wake.wait(rest)
            self._wake.clear()
        self._finish()

    def _draw_status(self) -> None:
        size = self._screen.size()
        if size is not None:
            above = self._above(*size) if self._above is not None else ()
            self._screen.status(self._status(), above)

    def _copy_logs(self) -> bool:
        news = False
        for log in self._logs:
            for _ in range(MOST_AT_ONCE):
                chunk = log.tail.read()
                if not chunk:
                    break
                news = True
                if log.prefix:
                    lines = log.lines.feed(chunk)
                    chunk = b"".join(log.prefix + line + b"\n" for line in lines)
                if chunk:
                    self._screen.log(chunk)
                if time.monotonic() > self._show_until:
                    break
        return news

    def _tell_hidden(self) -> None:
        for log in self._logs:
            if hidden := log.tail.skip_to_last(0):
                name = os.path.basename(log.tail.path)
                amount = f"{hidden >> 10} kB"
                text = Text(
                    f"{name}: the last {amount} are not shown, for want of time",
                    f"{name}：因时间不够，最后 {amount} 没有显示",
                )
                self._screen.line(f"pdtriage: {text.in_(self._language)}\n")

    def _tell_refused(self, tail: Tail) -> None:
        name, why = os.path.basename(tail.path), tail.refusal
        text = Text(f"{name} is not shown: {why}", f"没有显示 {name}：{why}")
        self._screen.line(f"pdtriage: {text.in_(self._language)}\n")

    def _prefix(self, process: ProcessRecord) -> bytes:
        name = f"{'' if process.role == 'worker' else process.role + ' '}{process.rank}"
        mark = f"[{name}] "
        if isinstance(self._screen, PlainScreen) or os.environ.get("NO_COLOR"):
            return mark.encode()
        colour = _COLOURS[(process.rank or 0) % len(_COLOURS)]
        return f"\x1b[{colour}m{mark}\x1b[0m".encode()


class StatusLine:
    """What the status line says."""

    def __init__(
        self,
        statuses: Callable[[], Sequence[ProcessStatus]],
        counts: Callable[[], tuple[int, int, int]],
        language: Language,
    ) -> None:
        """`counts`: how many processes are alive, of how many, and how many warnings came."""
        self._statuses = statuses
        self._counts = counts
        self._language = language

    def text(self) -> str:
        return status_text(self._statuses(), *self._counts(), self._language)


def status_text(
    processes: Sequence[ProcessStatus], alive: int, started: int, warnings: int, language: Language
) -> str:
    """`4/4 alive · step 120 · last line 2 s ago · 1 warning · slowest rank 3: step 118`.

    What comes last is cut first, and the table shows who is slowest as well."""
    parts = [Text(f"{alive}/{started} alive", f"存活 {alive}/{started}").in_(language)]
    shown, slowest = _steps([p for p in processes if p.step is not None], language)
    parts += [shown] if shown else []
    if processes:
        age = int(time.monotonic() - max(p.wrote for p in processes))
        parts.append(Text(f"last line {_span(age)} ago", f"{_span(age)} 前有输出").in_(language))
    if warnings:
        plural = "s" if warnings > 1 else ""
        parts.append(Text(f"{warnings} warning{plural}", f"{warnings} 条警告").in_(language))
    parts += [slowest] if slowest else []
    return " · ".join(parts)


def _steps(steps: list[ProcessStatus], language: Language) -> tuple[str, str]:
    """How far the furthest is, and the last; empty where nobody told, or where all are as far."""
    if not steps:
        return "", ""

    def reached(process: ProcessStatus) -> tuple[int, int]:
        return (process.epoch or 0, process.step or 0)

    ahead, behind = max(steps, key=reached), min(steps, key=reached)
    epochs = len({process.epoch for process in steps}) > 1
    if reached(ahead) == reached(behind):
        return _step(ahead, epochs).in_(language), ""
    slow = _step(behind, epochs)
    slowest = Text(f"slowest {behind.name}: {slow.en}", f"最慢的 {behind.name}：{slow.zh}")
    return _step(ahead, epochs).in_(language), slowest.in_(language)


def _step(process: ProcessStatus, epochs: bool) -> Text:
    """A step in words, with the epoch only where ranks differ in it."""
    epoch, step = process.epoch, process.step
    if not epochs:
        return Text(f"step {step}", f"第 {step} 步")
    return Text(f"epoch {epoch} step {step}", f"第 {epoch} 轮第 {step} 步")


def _span(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    return (
        f"{minutes} min {seconds:02d} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )
