"""Ranks of the newest run of which no log is here: who would have more to say."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Rank, Text
from pdtriage.runs.endpoints_log import world_sizes_of
from pdtriage.runs.node_run import NodeRun
from pdtriage.runs.numbering import rank_spans

MOST_HOSTS = 6
MOST_RANKS = 200_000


def note_on_absent_ranks(group: Sequence[NodeRun], ranks: Sequence[Rank]) -> Text | None:
    """Names ranks without a log here by host; records and Kubernetes tell of them in other ways."""
    if not any(run.newest and run.members for run in group):
        return None
    if any(run.record or run.node.pod for run in group):
        return None
    absent = _absent_by_host(group, [rank for rank in ranks if rank.role == "worker"])
    if not absent:
        return None
    shown = list(absent.items())[:MOST_HOSTS]
    more = " …" if len(absent) > len(shown) else ""
    en = "; ".join(f"{_names_of(own)}{f' on {host}' * bool(host)}" for host, own in shown)
    zh = "；".join(f"{f'{host} 上的 ' * bool(host)}rank {rank_spans(own)}" for host, own in shown)
    return Text(
        f"no log of this run is here of {en}{more}",
        f"此处没有以下 rank 在本次运行中的日志：{zh}{more}",
    )


def _absent_by_host(group: Sequence[NodeRun], workers: Sequence[Rank]) -> dict[str, list[int]]:
    seen = {rank.rank for rank in workers if rank.files}
    if None in seen or any(rank.mixed for rank in workers):
        return {}  # of some logs it is not known whose they are
    hosts = {rank.rank: rank.host for rank in workers if not rank.files}
    told = {size for run in group for size in world_sizes_of(run)}
    for rank in range(min(told.pop(), MOST_RANKS) if len(told) == 1 else 0):
        hosts.setdefault(rank, None)
    absent: dict[str, list[int]] = {}
    for rank in sorted(rank for rank in hosts if rank is not None and rank not in seen):
        absent.setdefault(hosts[rank] or "", []).append(rank)
    return absent


def _names_of(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {rank_spans(ranks)}"
