"""The runs of one node, oldest first: part of file, environment and console of each."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from pdtriage.model import EnvBlock, Role
from pdtriage.record.attempts import attempts_in
from pdtriage.record.schema import ProcessRecord, RunRecord
from pdtriage.runs.console_launches import split_console
from pdtriage.runs.console_ranks import read_console
from pdtriage.runs.console_runs import launch_counts, overwrites_logs, with_consoles
from pdtriage.runs.folders import Log, NodeFolder
from pdtriage.runs.log_parts import (
    Part,
    ProcessStart,
    launches_in,
    parts_of_logs,
    side_by_side,
)
from pdtriage.runs.node_run import Member, NodeRun
from pdtriage.runs.recorded_parts import process_key, recorded_parts
from pdtriage.runs.run_boundaries import Segment, split, times_of
from pdtriage.runs.world_size import has_other_size
from pdtriage.scan.clock import Times

_ROLES_TOLD: dict[str, Role] = {"PSERVER": "server", "HETER_TRAINER": "heter"}
SAME_END = 600.0
"""Seconds between the last lines of ranks that were in one run."""


def node_runs(node: NodeFolder) -> list[NodeRun]:
    """The runs of one node: by our own record, by the launcher's side files, else by the logs."""
    if node.records:
        runs = _recorded_runs(node)
    elif node.environments and not overwrites_logs(node):
        runs = _from_environments(node)
    else:
        runs = _from_logs(node, node.logs)
    if not runs and (node.consoles or node.pods or node.endpoints):
        runs = [NodeRun(node)]
    if not runs and node.pod:
        runs = [NodeRun(node)]
    runs = with_consoles(node, runs)
    if node.pod:
        _with_lives(node, runs)
    if runs:
        runs[-1].newest = True
    return runs


def _recorded_runs(node: NodeFolder) -> list[NodeRun]:
    """Every attempt that is recorded, and what the logs hold of runs before the first."""
    attempts = [
        (record, attempt)
        for record in node.records
        if not _never_started(record, node.records)
        for attempt in attempts_in(record)
    ]
    writers: dict[tuple[str, int] | None, list[ProcessRecord]] = {}
    for _, attempt in attempts:
        for process in attempt.processes:
            writers.setdefault(process_key(process), []).append(process)
    parts = [(log, recorded_parts(log, writers.get(log.key, ()))) for log in node.logs]
    runs = _from_logs(node, [part.before for _, part in parts if part.before is not None])
    launches: dict[str, int] = {}
    start = max((run.launch for run in runs), default=-1) + 1
    written: dict[tuple[str, int] | None, tuple[Log, Iterator[Segment]]] = {
        log.key: (log, iter(part.segments)) for log, part in parts
    }
    for record, attempt in attempts:
        launch = launches.setdefault(record.launch or record.file, start + len(launches))
        runs.append(_recorded_run(node, written, attempt, launch))
    return runs


def _never_started(record: RunRecord, records: Sequence[RunRecord]) -> bool:
    """Whether an attempt could not be started: the one before was the last."""
    if record.processes or record.attempt == 0:
        return False
    return any(other.launch == record.launch and other.processes for other in records)


def _recorded_run(
    node: NodeFolder,
    written: Mapping[tuple[str, int] | None, tuple[Log, Iterator[Segment]]],
    record: RunRecord,
    launch: int,
) -> NodeRun:
    """`written` are the logs of the node and what each of their writers wrote, in turn."""
    run = NodeRun(node, launch, record.attempt, record=record)
    deaths = {death.pid: death for death in record.deaths}
    for process in record.processes:
        log, segments = written.get(process_key(process), (None, None))
        segment = next(segments, ()) if segments else ()
        if log is not None and segment:
            death = deaths.get(process.pid)
            run.members.append(Member(log, segment, process=process, death=death))
    return run


def _from_environments(node: NodeFolder) -> list[NodeRun]:
    """Every launch appends a block to envlog.N; its pod name tells the launches apart."""
    pods, starts_of = _starts_by_process(node)
    names = {number: name for name, number in pods.items()}
    rows = side_by_side(parts_of_logs(node.logs, starts_of, launch_counts(node)))
    runs = _runs_of(node, rows)
    for row, run in zip(rows, runs, strict=True):
        told = next((part.launch[0] for part in row if part.launch), -1)
        run.peers = _peers_of(node, names.get(told, ""))
    return runs


def _runs_of(node: NodeFolder, rows: Sequence[list[Part]]) -> list[NodeRun]:
    runs: list[NodeRun] = []
    for row, (launch, attempt) in zip(rows, launches_in(rows), strict=True):
        run = NodeRun(node, launch, attempt)
        run.members = [Member(part.log, part.segment, part.values) for part in row]
        runs.append(run)
    return runs


def _starts_by_process(
    node: NodeFolder,
) -> tuple[dict[str, int], dict[tuple[str, int], list[ProcessStart]]]:
    """Launches by pod name, and the starts of every process in the order of launches.

    N of envlog.N counts all processes of the node, servers before trainers, while N of a log
    counts those of its own role.
    """
    pods: dict[str, int] = {}
    starts: dict[tuple[str, int], list[ProcessStart]] = {}
    placed: Counter[tuple[str, str]] = Counter()
    for found in sorted(node.environments, key=lambda f: f.file.index or 0):
        for pod, listed in groupby(found.environments, key=_pod):
            launch = pods.setdefault(pod, len(pods))
            blocks = list(listed)
            newest = blocks[-1] is found.environments[-1]
            attempts = [
                ProcessStart(launch, attempt, block.values, found.file.modified if newest else None)
                for attempt, block in enumerate(blocks)
            ]
            role = role_of(attempts[0].values)
            starts.setdefault((role, placed[pod, role]), []).extend(attempts)
            placed[pod, role] += 1
    for own in starts.values():
        own.sort(key=attrgetter("launch"))
    return pods, starts


def role_of(values: Mapping[str, str]) -> Role:
    told = values.get("TRAINING_ROLE") or values.get("PADDLE_ROLE") or ""
    return _ROLES_TOLD.get(told, "worker")


def _peers_of(node: NodeFolder, pod: str) -> tuple[EnvBlock, ...]:
    for found in node.pods:
        if pod and posixpath.basename(found.file.path).endswith(f".{pod}.log"):
            return found.environments
    return ()


def _pod(block: EnvBlock) -> str:
    return block.values.get("POD_NAME", "")


def _from_logs(node: NodeFolder, logs: list[Log]) -> list[NodeRun]:
    """The runs of a node by what the logs themselves tell."""
    told = {} if node.records else launch_counts(node)
    return _runs_of(node, side_by_side(parts_of_logs(logs, launches=told), _stale_indexes(node)))


def _stale_indexes(node: NodeFolder) -> set[tuple[str, int]]:
    """Worker logs beyond the number of processes the newest launch of this node started."""
    workers = [log for log in node.logs if log.role == "worker" and log.index is not None]
    started = _processes_started(node)
    if started is None or started >= len(workers):
        return set()
    beyond = [log for log in workers if log.index is not None and log.index >= started]
    newest = [times for log in workers if log not in beyond and (times := _newest_times(log))]
    return {log.key for log in beyond if not _ends_with(_newest_times(log), newest)}


def _newest_times(log: Log) -> Times:
    return times_of(split(log)[-1])


def _ends_with(times: Times, newest: Sequence[tuple[float, float]]) -> bool:
    """Whether a log ends when those of the newest run do, which began before that."""
    if not times or not newest:
        return False
    begun, ended = min(first for first, _ in newest), max(last for _, last in newest)
    return times[1] > max(begun, ended - SAME_END)


def _processes_started(node: NodeFolder) -> int | None:
    for console in reversed(node.consoles):
        for event in reversed(console.events):
            told = event.fields.get("replicas", "") if "started" in event.says else ""
            if told.isdecimal() and event.fields.get("mode") in (None, "worker"):
                return int(told)
    listed = node.endpoints[0].endpoints if node.endpoints else ()
    if not listed or has_other_size(listed, node.consoles):
        return None
    return len(listed) if _is_one_host(listed) else None


def _is_one_host(endpoints: Sequence[str]) -> bool:
    """Ends at the first other host: a list of all ranks is long, and every node has one."""
    first = re.sub(r":\d+$", "", endpoints[0])
    return all(re.sub(r":\d+$", "", endpoint) == first for endpoint in endpoints)


def _with_lives(node: NodeFolder, runs: list[NodeRun]) -> None:
    """The newest run is the newest life of the container; what it printed before is one more."""
    pod = node.pod
    assert pod is not None
    runs[-1].attempt = max(runs[-1].attempt, pod.restarts)
    runs[-1].life = pod.lives[-1] if pod.lives else None
    before = pod.lives[-2] if len(pod.lives) > 1 else None
    if (before or node.previous) and len(runs) == 1:
        older = NodeRun(node, runs[0].launch, max(0, runs[0].attempt - 1), life=before)
        older.console = read_console([split_console(console)[-1] for console in node.previous])
        runs[0].attempt = older.attempt + 1
        runs.insert(0, older)
