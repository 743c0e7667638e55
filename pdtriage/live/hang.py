"""A hint that a job may hang. Only a hint: nothing is ever stopped for being silent."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pdtriage.bilingual import Text
from pdtriage.live.ears import Standing


class Silence:
    """Speaks once when no process has written for `seconds`, and again after the next silence."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._told_at = 0.0

    def hint(self, standings: Sequence[Standing]) -> Text | None:
        if self._seconds <= 0 or not standings:
            return None
        last = max(standing.heard for standing in standings)
        quiet = time.monotonic() - last
        if quiet < self._seconds or self._told_at == last:
            return None
        self._told_at = last
        behind = _furthest_behind(standings)
        where = f"; furthest behind: {behind}" if behind else ""
        where_zh = f"；进度最慢：{behind}" if behind else ""
        return Text(
            f"no process has written a line for {quiet:.0f} s{where}. It may hang: "
            "`py-spy dump --pid` shows where a process is",
            f"所有进程已 {quiet:.0f} 秒没有输出{where_zh}。可能卡住了："
            "可用 `py-spy dump --pid` 查看进程停在哪里",
        )


def _furthest_behind(standings: Sequence[Standing]) -> str:
    """The process with the lowest step, where they differ."""
    steps = [(s.epoch or 0, s.step, s.name) for s in standings if s.step is not None]
    if not steps or min(steps)[:2] == max(steps)[:2]:
        return ""
    epoch, step, name = min(steps)
    return f"{name}, step {f'{epoch}/' if epoch else ''}{step}"
