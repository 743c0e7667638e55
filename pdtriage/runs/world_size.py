"""How many ranks a run has by its own logs: whether `endpoints.log` is of it, and who is not here.

Only the legacy launcher writes `endpoints.log` anew, so it may be of an older run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Event, FileFacts, Rank, Text
from pdtriage.runs.folders import launch_of_piece
from pdtriage.support.number_spans import first_numbers

if TYPE_CHECKING:
    from pdtriage.runs.node_run import NodeRun

LONG_BEFORE = 26 * 3600.0
"""Seconds: clocks of logs may be local ones, the file's own time never is."""
MOST_HOSTS = 6
MOST_RANKS = 200_000


def is_list_of(run: NodeRun) -> bool:
    """Whether nothing in a run speaks against the endpoints that are listed in its folder."""
    listed = run.node.endpoints[0]
    many = len(listed.endpoints)
    numbers = [m.log.index for m in run.members if m.log.role == "worker"]
    if any(number is not None and number >= many for number in numbers):
        return False
    if any(launch_of_piece(span.facts) for m in run.members for span in m.segment):
        return False  # only a launcher that writes no such list calls logs after its launch
    sizes = _sizes(_own_words(run))
    if has_other_size(listed.endpoints, run.node.consoles) or (sizes and many not in sizes):
        return False
    written, times = listed.file.modified, run.times
    return not times or written is None or written > times[0] - LONG_BEFORE


def has_other_size(listed: Sequence[str], consoles: Iterable[FileFacts]) -> bool:
    """Whether the launcher that listed the dead of the newest run counts other ranks."""
    sizes: set[int] = set()
    for console in consoles:
        sizes = _sizes(e for e in console.events if "lists-failed" in e.says) or sizes
    return bool(sizes) and len(listed) not in sizes


def note_on_stale_list(run: NodeRun) -> Text | None:
    """Tells people that `endpoints.log` is of another run; nothing where it is of this one."""
    if not run.newest or not run.node.endpoints or run.endpoints or is_list_of(run):
        return None
    path, many = run.node.endpoints[0].file.path, len(run.node.endpoints[0].endpoints)
    return Text(
        f"{path} lists {many} endpoints and is not of this run: it was not used",
        f"{path} 列出 {many} 个端点，不属于这次运行，未采用",
    )


def world_sizes_of(run: NodeRun) -> set[int]:
    """How many ranks the job has, by what the logs of a run say themselves."""
    return _sizes(_own_words(run))


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
    zh = "；".join(
        f"{f'{host} 上的 ' * bool(host)}rank {first_numbers(own)}" for host, own in shown
    )
    return Text(
        f"no log of this run is here of {en}{more}",
        f"此处没有以下 rank 在本次运行中的日志：{zh}{more}",
    )


def _own_words(run: NodeRun) -> Iterable[Event]:
    for member in run.members:
        for span in member.segment:
            yield from (event for event in span.events if "own-rank" in event.says)


def _sizes(events: Iterable[Event]) -> set[int]:
    told = {event.fields.get("world_size", "") for event in events}
    return {int(size) for size in told if size.isdecimal()}


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
    return f"rank{'s' * (len(ranks) > 1)} {first_numbers(ranks)}"
