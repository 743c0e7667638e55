"""Runs of a job whose nodes are pods: which lives belong together, and who each process is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pdtriage.model import Event, Exit, Life, Mode, Pod, Rank, Role, Text
from pdtriage.runs.node_run import NodeRun
from pdtriage.runs.numbering import host_of
from pdtriage.runs.pod_files import ClusterFacts

SIGNALLED = range(129, 160)
"""Exit codes of a shell and of container runtimes for signals 1 to 31."""
SIGTERM = 15
MOST_PROCESSES = 1_024
FINISHED = frozenset({"Completed", "Succeed", "Succeeded"})


def aligned_pods(nodes: list[list[NodeRun]]) -> list[list[NodeRun]]:
    """Lives of several pods side by side.

    As many lives, as many attempts. A pod with fewer belongs where it started: it cannot have met
    those that were started again. Servers outlive the trainers' attempts.
    """
    longest = max(nodes, key=len)
    groups: list[list[NodeRun]] = [[] for _ in longest]
    for runs in nodes:
        if len(runs) == len(groups):
            for group, run in zip(groups, runs, strict=True):
                group.append(run)
            continue
        for back, run in enumerate(reversed(runs), 1):
            if run.node.pod and run.node.pod.role == "server" and len(runs) == 1:
                for group in groups:
                    group.append(run)
            else:
                groups[_nearest(run, longest, len(longest) - back)].append(run)
    return groups


def ranks_of_pod(own: Sequence[Rank], run: NodeRun, pods: int) -> list[Rank]:
    """The processes of a pod with its role, number, names and end; one at least."""
    pod = run.node.pod
    if pod is None:
        return list(own)
    processes = _process_count(run, own)
    first = _first_rank(run, pod, processes, pods)
    heard = list(own) if run.members else _ranks_behind_console(own, processes, pod.role)
    alone = processes == 1 and len(heard) == 1
    found = []
    for rank in heard:
        number = rank.rank
        if number is None and first is not None and rank.local_rank is not None:
            number = first + rank.local_rank
        found.append(
            rank._replace(
                role="worker" if rank.role == "unknown" else rank.role,
                rank=number,
                local_rank=rank.local_rank if rank.files or processes > 1 else None,
                node=pod.index,
                host=pod.name,
                addresses=_addresses_of(pod, rank.host),
                exit=rank.exit or _end_of(run, pod, number, alone),
                environment=rank.environment or pod.environment,
            )
        )
    return found


def outcome_of_pods(
    group: Sequence[NodeRun], cluster: ClusterFacts, newest: bool
) -> Literal["completed", "failed", "running"] | None:
    """What the exit codes of all pods amount to; the trainers alone decide on success."""
    told = [(run.node.pod, run.life) for run in group if run.node.pod]
    trainers = [(pod, life) for pod, life in told if pod.role in ("worker", "unknown")] or told
    if not told:
        return None
    if newest and cluster.jobs and cluster.jobs[-1].phase in FINISHED:
        return "completed"
    if all(life is not None and life.code == 0 for _, life in trainers):
        return "completed"
    if any((life and life.code) or pod.phase == "Failed" for pod, life in told):
        return "failed"
    return "running" if any(life and life.running for _, life in trainers) else None


def signs_of_run(
    group: Sequence[NodeRun], cluster: ClusterFacts, newest: bool
) -> tuple[tuple[str, Event], ...]:
    """What Kubernetes says of the pods in this very attempt."""
    here = {run.node.pod.name: run for run in group if run.node.pod}
    found = []
    for path, event in cluster.signs:
        run = here.get(event.fields.get("pod", ""))
        if run is None:
            if newest and not here:
                found.append((path, event))
            continue
        told = event.fields.get("attempt")
        if told is None and run.node.pod and len(run.node.pod.lives) > 1:
            told = str(run.node.pod.restarts - _came_before(event, run.node.pod))
        # what is no cause lies in the specification of the pod, which all its lives share
        if told is None or told == str(run.attempt) or event.role != "cause":
            found.append((path, event))
    return tuple(found)


def pods_world(
    group: Sequence[NodeRun], cluster: ClusterFacts, ranks: Sequence[Rank]
) -> int | None:
    """The world size by pods: processes of a worker pod times worker pods, where all are alike."""
    workers = [run for run in group if run.node.pod and run.node.pod.role == "worker"]
    if not workers:
        return None
    expected = [job.replicas["worker"] for job in cluster.jobs if "worker" in job.replicas]
    by_pod: dict[str | None, list[Rank]] = {}
    for rank in ranks:
        by_pod.setdefault(rank.host, []).append(rank)
    counts = {
        _process_count(run, by_pod.get(run.node.pod.name if run.node.pod else None, []))
        for run in workers
        if run.life or run.console.spans
    }
    if len(counts) > 1:
        return None
    return max([len(workers), *expected]) * next(iter(counts), 1)


def mode_of_pods(group: Sequence[NodeRun]) -> Mode | None:
    roles = {run.node.pod.role for run in group if run.node.pod}
    if "heter" in roles:
        return "ps-heter"
    if "server" in roles:
        return "ps"
    return "collective" if "worker" in roles and len(group) > 1 else None


def partial_ones(groups: Sequence[Sequence[NodeRun]]) -> list[bool]:
    """Attempts with fewer trainers than another one: the missing were never started again."""
    counts = [_trainers(group) for group in groups]
    most = max(counts, default=0)
    return [count < most for count in counts]


def missing_notes(group: Sequence[NodeRun]) -> list[Text]:
    gone = [run.node.pod.name for run in group if run.node.pod and run.node.pod.phase == "Deleted"]
    if not gone:
        return []
    shown = ", ".join(gone[:5]) + (" …" if len(gone) > 5 else "")
    return [
        Text(
            f"these pods of the job are gone, and their logs with them: {shown}",
            f"任务的以下 Pod 已不存在，其日志也随之丢失：{shown}",
        )
    ]


def _ranks_behind_console(own: Sequence[Rank], processes: int, role: Role) -> list[Rank]:
    """The processes behind a console, by their place in the pod: a launcher counts its own only."""
    found: dict[int, Rank] = {}
    others: list[Rank] = []
    for rank in own:
        local = rank.rank if rank.local_rank is None else rank.local_rank
        if any(event.writer is not None for _, event in rank.events):
            others.append(rank)  # a prefix of the line gives the global rank
        elif local is None and not rank.mixed and processes > 1:
            others.append(rank)
        else:
            local = local or 0
            rank = rank._replace(rank=None, local_rank=local)
            found[local] = _merge(found[local], rank) if local in found else rank
    missing = [n for n in range(min(processes, MOST_PROCESSES)) if n not in found]
    silent = [Rank(role, None, local_rank=n) for n in missing] if not others else []
    placed = [
        rank._replace(role=role) if rank.role == "worker" else rank for rank in found.values()
    ]
    return [*placed, *others, *silent]


def _merge(one: Rank, other: Rank) -> Rank:
    """What the launcher streamed of a process, and what it repeated when that one had failed."""
    told = sorted((*one.events, *other.events), key=lambda event: (event[0], event[1].line))
    return (one if one.lines else other)._replace(
        files=tuple(dict.fromkeys((*one.files, *other.files))),
        events=tuple(told),
        progress=one.progress or other.progress,
        mixed=one.mixed or other.mixed,
        exit=one.exit or other.exit,
    )


def _trainers(group: Sequence[NodeRun]) -> int:
    return sum(bool(run.node.pod and run.node.pod.role != "server") for run in group)


def _nearest(run: NodeRun, longest: list[NodeRun], otherwise: int) -> int:
    """The attempt that began when this life did; one that still runs is of the newest."""
    started = run.life.started if run.life else None
    if run.life and run.life.running:
        return len(longest) - 1
    times = [(other.life.started if other.life else None) for other in longest]
    if started is None or any(time is None for time in times):
        return otherwise
    return min(range(len(times)), key=lambda at: abs((times[at] or 0.0) - started))


def _came_before(event: Event, pod: Pod) -> bool:
    """Whether an event is of the life before the newest."""
    started = pod.lives[-1].started
    return event.time is not None and started is not None and event.time < started


def _process_count(run: NodeRun, own: Sequence[Rank]) -> int:
    """How many the launcher in the pod started; without a launcher the container is the process."""
    started = run.console.first("started")
    told = started.fields.get("replicas", "") if started else ""
    if told.isdecimal() and int(told):
        return int(told)
    return max(1, len(run.members), len({r.local_rank for r in own if r.local_rank is not None}))


def _first_rank(run: NodeRun, pod: Pod, processes: int, pods: int) -> int | None:
    """Global rank of the pod's first process.

    paddle-operator gives every pod its number. The training operator leaves that to the
    rendezvous, which makes pod 0 the first and all others what they happen to become.
    """
    hosts = [host_of(endpoint) for endpoint in run.endpoints] if pod.role == "worker" else []
    for name in (pod.address, pod.name):
        if name and name in hosts:
            return hosts.index(name)
    itself = {
        event.fields["self_rank"]
        for _, event in run.console.output
        if event.fields.get("self_rank", "").isdecimal()
    }
    if len(itself) == 1 and processes == 1:
        return int(itself.pop())
    if pod.index is None:
        return None
    sure = pod.role != "worker" or pod.numbered or pod.index == 0 or pods <= 2
    return pod.index * processes if sure else None


def _end_of(run: NodeRun, pod: Pod, number: int | None, alone: bool) -> Exit | None:
    """How a process ended: by the launcher's `ABORT!!!`, or by the kubelet."""
    if number is not None and number in run.console.aborted:
        return Exit(seen_by="console")
    return _exit_of(run.life, pod) if alone else None


def _addresses_of(pod: Pod, host: str | None) -> tuple[str, ...]:
    told = (pod.address, pod.machine, host)
    return tuple(dict.fromkeys(name for name in told if name and name != pod.name))


def _exit_of(life: Life | None, pod: Pod) -> Exit | None:
    if life is None or life.running or life.code is None:
        return None
    signal = life.code - 128 if life.code in SIGNALLED else None
    return Exit(
        code=None if signal else life.code,
        signal=signal,
        time=life.finished,
        stopped=signal == SIGTERM or (signal is not None and pod.phase == "Deleted"),
        seen_by="kubelet",
    )
