"""When a run began and ended, and how: by our own record, also where that breaks off."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import LauncherStop, Vanished
from pdtriage.record.schema import DeathRecord, RunRecord
from pdtriage.runs.node_run import NodeRun

CLOCKS_DIFFER = 1.0
"""Seconds between the clocks of two hosts that keep time."""


def start_times(group: Sequence[NodeRun]) -> list[float]:
    """When the nodes of a run began, by our own record, else by all times in their files."""
    recorded = [r.record.started for r in group if r.record and r.record.started is not None]
    return recorded or _times(group)


def end_times(group: Sequence[NodeRun]) -> list[float]:
    """When the nodes of a run had ended, by our own record, else by all times in their files."""
    if any(r.record and r.record.is_live() for r in group):
        return []
    recorded = [r.record.ended for r in group if r.record and r.record.ended is not None]
    return recorded or _times(group)


def _times(group: Sequence[NodeRun]) -> list[float]:
    return [time for run in group for time in run.times]


def ended_by_record(group: Sequence[NodeRun]) -> str | None:
    """How a run ended by the records of its nodes: the worst end, as others may end well before."""
    records = [run.record for run in group if run.record]
    told = [record.reason for record in records]
    told += ["launcher-killed"] * bool(vanished_launchers(group))
    if "interrupted" in told and _was_stopped_before_it_failed(records):
        return "interrupted"
    for reason in ("failed", "launcher-killed", "interrupted"):
        if reason in told:
            return reason
    return next(iter(told), None)


def _was_stopped_before_it_failed(records: Sequence[RunRecord]) -> bool:
    """Whoever failed did so on another node, when the ranks of the stopped one had gone."""
    stops = [signal.time for r in records for signal in r.signals if signal.reason == "interrupt"]
    failures = [
        death.time
        for r in records
        if r.reason == "failed"
        for death in r.deaths
        if death.code != 0 and not death.stopped
    ]
    return bool(stops and failures) and min(failures) > min(stops) - CLOCKS_DIFFER


def stops_here(group: Sequence[NodeRun]) -> tuple[LauncherStop, ...]:
    """Launchers that were told to stop themselves, not because another node was."""
    found = []
    for record in (run.record for run in group if run.record):
        number = record.interrupted_by
        began = [signal.time for signal in record.signals if signal.reason == "interrupt"]
        time = min(began, default=record.ended)
        if record.reason != "interrupted" or number is None or time is None:
            continue
        elsewhere = [peer.time for peer in record.peers if peer.facts.interrupted is not None]
        if not elsewhere or time < min(elsewhere):
            node = record.node_rank if record.nnodes > 1 else None
            found.append(
                LauncherStop(node, record.address or record.host or None, number, time, here=True)
            )
    return tuple(found)


def pids_that_may_stop(group: Sequence[NodeRun]) -> frozenset[int]:
    """Pids that may stop ranks: the launcher, Paddle's below it, the guardian of a killed one."""
    records = [run.record for run in group if run.record]
    pids = [pid for record in records for pid in (record.pid, record.guardian_pid)]
    pids += [process.pid for r in records for process in r.processes if process.role == "launcher"]
    return frozenset(pid for pid in pids if pid)


def vanished_launchers(group: Sequence[NodeRun]) -> tuple[Vanished, ...]:
    """Launchers that were killed: their guardian wrote so, or this host has no such process now;
    and Paddle's, where ours, which had started it, saw a signal end it before anything failed."""
    gone = []
    for run in group:
        record = run.record
        if record is None or not record.pid:
            continue
        below = _killed_below(record)
        if below is not None or _is_gone(run, record):
            node = record.node_rank if record.nnodes > 1 else None
            host = record.address or record.host or None
            ended = (record.pid,) if below is None else (below.pid, below.signal, below.time)
            gone.append(Vanished(node, host, *ended))
    return tuple(gone)


def _killed_below(record: RunRecord) -> DeathRecord | None:
    """The death of Paddle's launcher by a signal, unless a process of it had failed before."""
    failed = (death for death in record.deaths if death.signal is not None or death.code)
    first = next(failed, None)
    if first is None or first.role != "launcher" or first.stopped or first.signal is None:
        return None
    return first


def _is_gone(run: NodeRun, record: RunRecord) -> bool:
    if record.reason is not None:
        return record.reason == "launcher-killed"
    if record.ended is not None or record.is_live() or not record.processes:
        return False
    ended = {death.pid for death in record.deaths if death.code == 0}
    if all(process.pid in ended for process in record.processes):
        return False  # nothing was left to do
    # of another host only a later launch in the same folder tells: a folder has one at a time
    later = any(
        other.number > record.number and other.launch != record.launch for other in run.node.records
    )
    if later:
        return True
    import socket  # few jobs have a record whose launcher is gone

    return record.host == socket.gethostname() and record.is_all_there_is()
