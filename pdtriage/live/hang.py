"""A hint that a job may hang. Only a hint: nothing is ever stopped for being silent."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pdtriage.live.log_follower import ProcessStatus
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text


class Hint(NamedTuple):
    """The same silence for who looks on, and for who reads the report afterwards."""

    now: Text
    later: Text


class HangWatch:
    """Hints once when no process has written for `seconds`, and again after the next silence."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._hinted_at = 0.0

    def hint(self, processes: Sequence[ProcessStatus]) -> Hint | None:
        if self._seconds <= 0 or not processes:
            return None
        last = max(process.wrote for process in processes)
        quiet = time.monotonic() - last
        if quiet < self._seconds or self._hinted_at == last:
            return None
        self._hinted_at = last
        slowest = _furthest_behind(processes)
        behind = _with_step(slowest) if slowest else ""
        where = f"; furthest behind: {behind}" if behind else ""
        where_zh = f"；进度最慢：{behind}" if behind else ""
        look = _look_at(slowest or processes[0])
        moment = time.strftime("%H:%M:%S")
        return Hint(
            Text(
                f"no process has written a line for {quiet:.0f} s{where}. It may hang: "
                f"{look} shows where a process is",
                f"所有进程已 {quiet:.0f} 秒没有输出{where_zh}。可能卡住了："
                f"可用 {look} 查看进程停在哪里",
            ),
            Text(
                f"at {moment} no process had written a line for {quiet:.0f} s{where}: "
                "the job may have hung",
                f"{moment} 时所有进程已 {quiet:.0f} 秒没有输出{where_zh}：作业可能已卡住",
            ),
        )


def _furthest_behind(processes: Sequence[ProcessStatus]) -> ProcessStatus | None:
    """The process with the lowest step, where they differ."""
    stepping = [process for process in processes if process.step is not None]
    if len({_step(process) for process in stepping}) < 2:
        return None
    return min(stepping, key=lambda process: (*_step(process), process.name))


def _step(process: ProcessStatus) -> tuple[int, int]:
    return process.epoch or 0, process.step or 0


def _with_step(process: ProcessStatus) -> str:
    epoch, step = _step(process)
    return f"{process.name}, step {f'{epoch}/' if epoch else ''}{step}"


def _look_at(process: ProcessStatus) -> str:
    """The command, with the pid where one is known."""
    if not process.pid:
        return "`py-spy dump --pid`"
    return f"`py-spy dump --pid {process.pid}` ({process.name})"
