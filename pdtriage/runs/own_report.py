"""What the report that `pdtriage run` printed tells: often all that is left of a container."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Exit, Rank
from pdtriage.runs.console_ranks import numbers_in
from pdtriage.runs.node_runs import NodeRun
from pdtriage.support.lazy_regex import lazy_compile

_GROUP = lazy_compile(r"ranks? (\d[\d, -]*?)\s*[(（]([^)）]*)")
_STOPPED = ("stopped", "被启动器停止")


def with_victims(ranks: list[Rank], group: Sequence[NodeRun]) -> list[Rank]:
    """Ranks that nothing else is known of, with what a printed report says became of them."""
    told: dict[int, tuple[str, bool]] = {}
    for run in group:
        for path, event in run.console.events:
            if "own-victims" in event.says and run.console.has("own-verdict"):
                listed = _fallen(event.fields.get("ranks", ""))
                told.update({rank: (path, stopped) for rank, stopped in listed.items()})
    return [_told_of(rank, told) for rank in ranks] if told else ranks


def _fallen(text: str) -> dict[int, bool]:
    """Rank to whether the launcher had stopped it."""
    return {
        rank: reason.startswith(_STOPPED)
        for listed, reason in _GROUP.findall(text)
        for rank in numbers_in(listed)
    }


def _told_of(rank: Rank, told: dict[int, tuple[str, bool]]) -> Rank:
    if rank.role != "worker" or rank.rank not in told or rank.exit is not None:
        return rank
    path, stopped = told[rank.rank]
    return rank._replace(
        files=rank.files or (path,), exit=Exit(stopped=True) if stopped else rank.exit
    )
