"""Runs of several folders side by side, and folders kept apart that are of different jobs."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Text
from pdtriage.runs.ends import end_times, start_times
from pdtriage.runs.node_run import NodeRun
from pdtriage.runs.pod_runs import aligned_pods

MOST_NAMED = 6
SLACK = 60.0
"""Seconds a launcher's console may begin before its run, and end after it."""

Group = list[NodeRun]


def aligned_runs(nodes: list[list[NodeRun]]) -> list[Group]:
    """The same run of every node together, oldest first."""
    if not nodes:
        return []
    if any(runs[0].node.pod for runs in nodes):
        return aligned_pods(nodes)
    jobs, loose = _jobs(nodes)
    if len(jobs) < 2:
        return _side_by_side(nodes)
    apart = [_side_by_side(job) for job in jobs]
    groups = _in_time(apart)
    for runs in loose:
        for back, run in enumerate(reversed(runs), 1):
            _home_of(run, groups, back).append(run)
    return _in_time(apart)  # a record may have come in that knows better when its run began


def launches_of(groups: Sequence[Group]) -> list[int]:
    """The number of the launch every group is an attempt of, counted from 1.

    A folder counts its own launches only; nodes that met in one attempt share their launch.
    """
    numbers: dict[tuple[str, int], int] = {}
    same: dict[int, int] = {}
    for at, group in enumerate(groups):
        keys = [(run.node.folder, run.launch) for run in group]
        _join(same, {at, *(numbers.setdefault(key, at) for key in keys)})
    order: dict[int, int] = {}
    return [order.setdefault(_root(same, at), len(order) + 1) for at in range(len(groups))]


def notes_on_separate_jobs(groups: Sequence[Group]) -> list[Text]:
    """Says which folders were not put together, where some were not."""
    folders: dict[tuple[str, ...], None] = {}
    for group in groups:
        own = tuple(dict.fromkeys(run.node.folder for run in group if run.members))
        folders[own] = None
    singles = [own for own in folders if own and not any(set(own) < set(o) for o in folders)]
    named = list(dict.fromkeys(folder for own in singles for folder in own))
    pods = any(run.node.pod for group in groups for run in group)
    if len(singles) < 2 or pods or len(set(launches_of(groups))) < 2:
        return []
    shown = ", ".join(named[:MOST_NAMED]) + (" …" if len(named) > MOST_NAMED else "")
    return [
        Text(
            f"these folders are of different jobs and are listed as separate runs: {shown}",
            f"以下目录属于不同的任务，按各自独立的运行列出：{shown}",
        )
    ]


def _jobs(nodes: list[list[NodeRun]]) -> tuple[list[list[list[NodeRun]]], list[list[NodeRun]]]:
    """Folders by job, and consoles and records that lie in no folder of a job.

    A run that has all ranks of its job in one folder has nothing to do with the other folders.
    """
    jobs: list[list[list[NodeRun]]] = []
    rest: list[list[NodeRun]] = []
    loose: list[list[NodeRun]] = []
    for runs in nodes:
        if not any(run.members for run in runs) and not _is_job_without_logs(runs, nodes):
            loose.append(runs)
            continue
        whole = [run for run in runs if _is_whole(run)]
        shared = [run for run in runs if not _is_whole(run)]
        if whole and shared and not _met_elsewhere(shared):
            whole, shared = runs, []  # what an earlier launch left in the same folder
        jobs.extend([[whole]] if whole else [])
        rest.extend([shared] if shared else [])
    return [*jobs, *_by_endpoints(rest)], loose


def _by_endpoints(nodes: list[list[NodeRun]]) -> list[list[list[NodeRun]]]:
    """Nodes whose records never list the same endpoint never met; all others may be one job."""
    same: dict[int, int] = {}
    first_with: dict[str, int] = {}
    known: dict[tuple[int, str, str], int] = {}
    untold: list[int] = []
    for number, runs in enumerate(nodes):
        lists = [run.record.endpoints if run.record else () for run in runs]
        if not all(lists):
            untold.append(number)
            continue
        met = {number}
        for listed in lists:
            mark = (len(listed), listed[0], listed[-1])  # long lists, many nodes
            if mark not in known:
                met.update([first_with.setdefault(endpoint, number) for endpoint in listed])
            met.add(known.setdefault(mark, number))
        _join(same, met)
    jobs: dict[int, list[int]] = {}
    for number in sorted({*range(len(nodes))}.difference(untold)):
        jobs.setdefault(_root(same, number), []).append(number)
    found = list(jobs.values())
    if untold:
        found[-1:] = [sorted([*(found[-1] if found else ()), *untold])]
    return [[nodes[number] for number in members] for members in found]


def _met_elsewhere(runs: Sequence[NodeRun]) -> bool:
    return any(run.record is not None and run.record.nnodes > 1 for run in runs)


def _is_job_without_logs(runs: Sequence[NodeRun], nodes: Sequence[Sequence[NodeRun]]) -> bool:
    """A record whose logs are not here; in a bundle they only lie in another folder than it."""
    listed = [run.endpoints for run in runs if run.record]
    others = [run.endpoints for own in nodes for run in own if run.members] if listed else []
    return bool(listed) and all(others) and not any(_meet(a, b) for a in listed for b in others)


def _is_whole(run: NodeRun) -> bool:
    """All processes of its job are of this folder, by our own record or Paddle's side files."""
    record = run.record
    if record is not None:
        if record.nnodes != 1 or not record.launch:
            return False
        workers = {p.rank for p in record.processes if p.role == "worker"}
        # what is known of Paddle's launcher was seen from outside, bit by bit
        return record.launcher == "pdtriage" or 0 < (record.world_size or 0) <= len(workers)
    size = str(len(run.members))
    return bool(run.members) and all(
        member.log.role == "worker"
        and member.values.get("PADDLE_GLOBAL_SIZE") == size
        and not member.values.get("PADDLE_PSERVERS_IP_PORT_LIST")
        for member in run.members
    )


def _side_by_side(nodes: list[list[NodeRun]]) -> list[Group]:
    """Runs of nodes side by side: by their endpoints, else counted from the newest."""
    longest = max(nodes, key=len)
    groups: list[Group] = [[run] for run in longest]
    for runs in nodes:
        if runs is longest:
            continue
        for back, run in enumerate(reversed(runs), 1):
            same = [g for g in groups if run.endpoints and _meet(g[0].endpoints, run.endpoints)]
            (same[-1] if same else groups[-back]).append(run)
    order = {id(runs[0].node): number for number, runs in enumerate(nodes)}
    for group in groups:
        group.sort(key=lambda run: order[id(run.node)])
    return groups


def _meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return some is others or some == others  # all nodes of a big job may share one long list


def _home_of(run: NodeRun, groups: Sequence[Group], back: int) -> Group:
    """The run with its endpoints or of its time, else counted from the newest as in one job."""
    for group in reversed(groups) if run.endpoints else ():
        if any(_meet(other.endpoints, run.endpoints) for other in group):
            return group
    times = [time for span in run.console.spans for time in span.times]
    for group in reversed(groups) if times else ():
        known = [*start_times(group), *end_times(group)]
        if known and min(known) - SLACK <= min(times) and max(times) <= max(known) + SLACK:
            return group
    return groups[-min(back, len(groups))]


def _in_time(jobs: Sequence[list[Group]]) -> list[Group]:
    timed = [pair for groups in jobs for pair in _groups_with_times(groups)]
    return [group for _, group in sorted(timed, key=lambda pair: pair[0])]


def _groups_with_times(groups: Sequence[Group]) -> list[tuple[float, Group]]:
    """For the order of runs that share no folder; those of one job stay in their own order."""
    found: list[tuple[float, Group]] = []
    latest = float("inf")
    for group in reversed(groups):
        written = [m.log.modified for r in group for m in r.members if m.log.modified is not None]
        latest = min([latest, min(start_times(group), default=max(written, default=0.0))])
        found.append((latest, group))
    return found[::-1]


def _join(same: dict[int, int], numbers: set[int]) -> None:
    """From now on these numbers, and all that were joined with them, are one: the least of them."""
    roots = {_root(same, number) for number in numbers}
    same.update(dict.fromkeys(roots, min(roots)))


def _root(same: dict[int, int], number: int) -> int:
    while same.get(number, number) != number:
        number = same[number]
    return number
