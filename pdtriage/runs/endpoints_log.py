"""Whether `endpoints.log` speaks of the newest run: only the legacy launcher writes it anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Event, FileFacts, Text

if TYPE_CHECKING:
    from pdtriage.runs.node_run import NodeRun

LONG_BEFORE = 26 * 3600.0
"""Seconds: clocks of logs may be local ones, the file's own time never is."""


def is_list_of(run: NodeRun) -> bool:
    """Nothing in the run says that it had other endpoints than those listed in its folder."""
    listed = run.node.endpoints[0]
    many = len(listed.endpoints)
    numbers = [m.log.index for m in run.members if m.log.role == "worker"]
    if any(number is not None and number >= many for number in numbers):
        return False
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


def _own_words(run: NodeRun) -> Iterable[Event]:
    for member in run.members:
        for span in member.segment:
            yield from (event for event in span.events if "own-rank" in event.says)


def _sizes(events: Iterable[Event]) -> set[int]:
    told = {event.fields.get("world_size", "") for event in events}
    return {int(size) for size in told if size.isdecimal()}
