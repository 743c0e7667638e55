"""Of which run the lines of a kernel's log are: one log tells of all that ran on the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pdtriage.model import Event, FileFacts
from pdtriage.runs.node_run import NodeRun
from pdtriage.scan.clock import Times, span_of

LONG_AGO = 86_400.0
"""Seconds between a run and what cannot have to do with it: the clocks of a host and of its
containers differ by hours, where they are set to different time zones, but not by a day."""
NEAR_LINES = 128
"""Of one report: whom the kernel kills is told below a table of all processes."""

KernelLine = tuple[str, Event]


def lines_of_runs(
    runs: Sequence[Sequence[NodeRun]], kernel: Sequence[FileFacts]
) -> list[tuple[KernelLine, ...]]:
    """For every run what the kernel says of its processes; for the last one also what it says of
    nobody's, but for what happened long before it began or after it ended."""
    found: list[list[KernelLine]] = [[] for _ in runs]
    if runs and kernel:
        pids = [{pid for run in group for pid in _pids_of(run)} for group in runs]
        newest = span_of([time for run in runs[-1] for time in run.times])
        for facts in kernel:
            for event, named in _with_whom_they_name(facts.events):
                owner = _owner(event, named, pids, newest)
                if owner is not None:
                    found[owner].append((facts.file.path, event))
    return [tuple(told) for told in found]


def _pids_of(run: NodeRun) -> Iterator[int]:
    for member in run.members:
        for span in member.segment:
            yield from span.pids
    if run.record:
        yield from (process.pid for process in run.record.processes)


def _with_whom_they_name(events: Sequence[Event]) -> list[tuple[Event, int | None]]:
    """Every event with the process that it, or the rest of the same report below it, names."""
    found: list[tuple[Event, int | None]] = []
    below: tuple[int, int] | None = None
    for event in reversed(events):
        pid = event.fields.get("pid", "")
        if pid.isdecimal():
            below = event.line, int(pid)
        is_near = below is not None and below[0] - event.line <= NEAR_LINES
        found.append((event, below[1] if below and is_near else None))
    return found[::-1]


def _owner(event: Event, named: int | None, pids: Sequence[set[int]], newest: Times) -> int | None:
    """The place of the run, None for none of them."""
    last = len(pids) - 1
    if named is not None and named not in pids[last]:
        earlier = [at for at, known in enumerate(pids) if named in known]
        if earlier:
            return earlier[-1]
    if event.time is None or not newest:  # `dmesg` without -T tells no time
        return last
    began, ended = newest[0] - LONG_AGO, newest[-1] + LONG_AGO
    return last if began <= event.time <= ended else None
