"""All files of a job to its runs: the same run of every node together, every rank known by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast, get_args

from pdtriage.jobs.console import ConsoleFacts
from pdtriage.jobs.folders import JobFolder, sort_files
from pdtriage.jobs.identity import host_of, identify
from pdtriage.jobs.launches import Member, NodeRun, node_runs
from pdtriage.jobs.split import Segment
from pdtriage.launch.record import DeathRecord, RunRecord
from pdtriage.model import (
    Event,
    Exit,
    FileFacts,
    Launcher,
    Mode,
    Node,
    Rank,
    Role,
    Run,
    RunFacts,
    Text,
)

MOST_MISSING = 200_000


def assemble(
    facts: Iterable[FileFacts], records: Sequence[tuple[str, RunRecord]] = ()
) -> list[RunFacts]:
    """The runs found, oldest first; empty when no file says anything of a job."""
    job = sort_files(facts, records)
    grouped = _aligned([runs for runs in map(node_runs, job.nodes) if runs])
    launches: dict[int, int] = {}
    found = []
    for index, group in enumerate(grouped, 1):
        launch = launches.setdefault(group[0].launch, len(launches) + 1)
        newest = index == len(grouped)
        found.append(_run_facts(index, launch, group, job, newest))
    return found


def _aligned(nodes: list[list[NodeRun]]) -> list[list[NodeRun]]:
    """Runs of several nodes side by side: by their endpoints, else counted from the newest."""
    if not nodes:
        return []
    longest = max(nodes, key=len)
    groups: list[list[NodeRun]] = [[run] for run in longest]
    for runs in nodes:
        if runs is longest:
            continue
        for back, run in enumerate(reversed(runs), 1):
            same = [g for g in groups if run.endpoints and g[0].endpoints == run.endpoints]
            (same[-1] if same else groups[-back]).append(run)
    order = {id(runs[0].node): number for number, runs in enumerate(nodes)}
    for group in groups:
        group.sort(key=lambda run: order[id(run.node)])
    return groups


def _run_facts(
    index: int, launch: int, group: list[NodeRun], job: JobFolder, newest: bool
) -> RunFacts:
    with_logs = [run for run in group if run.members]
    ranks: list[Rank] = []
    nodes: list[Node] = []
    for run in group:
        own = [_rank(member, run, max(1, len(with_logs))) for member in run.members]
        own.extend(_console_ranks(run, own, single=len(group) == 1))
        own.extend(_only_named(run, own))
        ranks.extend(own)
        nodes.append(_node(run, own))
    world_size = _world_size(group)
    ranks.extend(_unseen(ranks, group, world_size))
    ranks.sort(key=lambda r: (r.role, r.rank is None, r.rank or 0, r.local_rank or 0, r.files))
    times = [r.last_time for r in ranks if r.last_time is not None]
    return RunFacts(
        run=Run(
            index,
            launch,
            group[0].attempt,
            started=min(_started(group), default=None),
            ended=max(times, default=None),
        ),
        ranks=tuple(ranks),
        launcher=tuple(event for run in group for event in run.console.events),
        kernel=tuple((f.file.path, e) for f in job.kernel for e in f.events) if newest else (),
        nodes=tuple(nodes),
        world_size=world_size,
        mode=_mode(group),
        started_by=_launcher(group),
        job_id=_job_id(group),
        launcher_pids=frozenset(r.record.pid for r in group if r.record and r.record.pid),
        ended_by_record=next((r.record.reason for r in group if r.record), None),
        running=any(r.record is not None and r.record.is_live() for r in group),
        notes=_notes(group, ranks),
    )


def _rank(member: Member, run: NodeRun, nodes: int) -> Rank:
    who = identify(member, run, nodes)
    events = _events(member.segment)
    told = run.console.exits.get((who.role, -1 if who.local_rank is None else who.local_rank))
    pids = {pid for span in member.segment for pid in span.pids}
    if member.process:
        pids.add(member.process.pid)
    if who.local_rank in run.console.pids and who.role == "worker":
        pids.add(run.console.pids[who.local_rank])
    times = [time for span in member.segment for time in span.times]
    last = member.segment[-1]
    return Rank(
        role=who.role,
        rank=who.rank,
        local_rank=who.local_rank,
        node=_node_rank(run),
        host=who.host,
        endpoint=who.endpoint,
        device=who.device,
        pids=tuple(sorted(pids)),
        files=tuple(dict.fromkeys(span.facts.file.path for span in member.segment)),
        events=events,
        progress=tuple(step for span in member.segment for step in span.progress),
        lines=last.facts.lines if last.begin == 0 else int(last.size > 0),
        tail=last.facts.tail if last.is_last else (),
        exit=_exit(member.death) or told or _aborted(run.console, who.rank),
        last_time=max(times, default=None),
        modified=member.log.modified if last.is_last else None,
    )


def _events(segment: Segment) -> tuple[tuple[str, Event], ...]:
    return tuple((span.facts.file.path, event) for span in segment for event in span.events)


def _exit(death: DeathRecord | None) -> Exit | None:
    if death is None:
        return None
    return Exit(death.order, death.code, death.signal, death.time, death.stopped)


def _aborted(console: ConsoleFacts, rank: int | None) -> Exit | None:
    return Exit(seen_by="console") if rank is not None and rank in console.aborted else None


def _console_ranks(run: NodeRun, known: list[Rank], single: bool) -> list[Rank]:
    """Processes that are heard only through the console: by a line prefix, or the streamed one."""
    console = run.console
    by_writer: dict[int | None, list[tuple[str, Event]]] = {}
    for path, event in console.output:
        by_writer.setdefault(event.writer, []).append((path, event))
    streamed = by_writer.pop(None, [])
    found = [_writer(rank, events, console) for rank, events in sorted(by_writer.items(), key=str)]
    if known or found or not (streamed or console.spans):
        return found
    # A launcher shows its first process; when it says that another one failed, it shows that too.
    failed = {index for role, index in console.exits if role == "worker"}
    first = bool(console.events) and single and failed <= {0}
    progress = [step for span in console.spans for step in span.progress]
    times = [time for span in console.spans for time in span.times]
    tail = console.spans[-1].facts.tail if console.spans and not console.events else ()
    if streamed or progress or tail:
        found.append(
            Rank(
                role="worker",
                rank=0 if first else None,
                local_rank=0 if first else None,
                node=_node_rank(run),
                files=tuple(dict.fromkeys(span.facts.file.path for span in console.spans)),
                events=tuple(streamed),
                progress=tuple(progress),
                lines=max(1, sum(span.facts.lines for span in console.spans)),
                tail=tail,
                exit=console.exits.get(("worker", 0)) or _aborted(console, 0 if first else None),
                last_time=max(times, default=None),
            )
        )
    return found


def _only_named(run: NodeRun, known: list[Rank]) -> list[Rank]:
    """Processes the launcher says failed, of which no log and no line is here."""
    local = {(rank.role, rank.local_rank) for rank in known}
    single = run.console.values.get("--nnodes", "1") == "1"
    return [
        Rank(
            role=role,
            rank=index if single else None,
            local_rank=index,
            node=_node_rank(run),
            exit=told,
        )
        for (role, index), told in sorted(run.console.exits.items())
        if (role, index) not in local
    ]


def _writer(rank: int | None, events: list[tuple[str, Event]], console: ConsoleFacts) -> Rank:
    times = [event.time for _, event in events if event.time is not None]
    return Rank(
        role="worker",
        rank=rank,
        files=tuple(dict.fromkeys(path for path, _ in events)),
        events=tuple(events),
        lines=1,
        exit=_aborted(console, rank),
        last_time=max(times, default=None),
    )


def _unseen(ranks: list[Rank], group: list[NodeRun], world_size: int | None) -> list[Rank]:
    """Ranks that belong to the job and left no log here; others may accuse them."""
    seen = {r.rank for r in ranks if r.role == "worker" and r.rank is not None}
    endpoints = max((run.endpoints for run in group), key=len, default=())
    aborted = {rank for run in group for rank in run.console.aborted}
    wanted = set(range(min(world_size or 0, MOST_MISSING))) | aborted
    if any(r.rank is None and r.role == "worker" for r in ranks):
        wanted = aborted  # an unplaced log may be any of the others
    return [
        Rank(
            role="worker",
            rank=rank,
            endpoint=endpoints[rank] if rank < len(endpoints) else None,
            host=host_of(endpoints[rank]) if rank < len(endpoints) else None,
            exit=next((e for run in group if (e := _aborted(run.console, rank))), None),
        )
        for rank in sorted(wanted - seen)
    ]


def _node(run: NodeRun, ranks: list[Rank]) -> Node:
    hosts = [rank.host for rank in ranks if rank.host]
    record = run.record
    host = record.address or record.host if record else hosts[0] if hosts else None
    return Node(_node_rank(run), host, run.node.folder, record.pid if record else None)


def _node_rank(run: NodeRun) -> int | None:
    if run.record:
        return run.record.node_rank
    for member in run.members:
        rank, size = member.values.get("PADDLE_GLOBAL_RANK"), member.values.get("PADDLE_LOCAL_SIZE")
        if rank and size and rank.isdecimal() and size.isdecimal() and int(size):
            return int(rank) // int(size)
    return None


def _world_size(group: list[NodeRun]) -> int | None:
    for run in group:
        if run.record and run.record.world_size:
            return run.record.world_size
        for member in run.members:
            told = member.values.get("PADDLE_TRAINERS_NUM") or member.values.get(
                "PADDLE_GLOBAL_SIZE"
            )
            if told and told.isdecimal():
                return int(told)
    for run in group:
        told = run.console.values.get("PADDLE_TRAINERS_NUM", "")
        if run.console.world_size:
            return run.console.world_size
        if told.isdecimal():
            return int(told)
        if run.endpoints:
            return len(run.endpoints)
    return None


def _started(group: list[NodeRun]) -> list[float]:
    recorded = [r.record.started for r in group if r.record and r.record.started is not None]
    if recorded:
        return recorded
    spans = [span for run in group for member in run.members for span in member.segment]
    spans.extend(span for run in group for span in run.console.spans)
    return [time for span in spans for time in span.times]


def _mode(group: list[NodeRun]) -> Mode:
    for run in group:
        told = run.record.mode if run.record else None
        job = run.console.first("launch.job")
        told = told or (job.fields.get("mode") if job else None)
        if told in get_args(Mode):
            return cast(Mode, told)
    roles: set[Role] = {member.log.role for run in group for member in run.members}
    if "heter" in roles:
        return "ps-heter"
    if "server" in roles:
        return "ps"
    sure = any(run.endpoints or run.console.aborted for run in group)
    return "collective" if sure else "unknown"


def _launcher(group: list[NodeRun]) -> Launcher:
    for run in group:
        if run.record:
            return "pdtriage" if run.record.launcher == "pdtriage" else "paddle"
        if run.node.environments or run.node.pods or run.console.has("launch.config", "launch.job"):
            return "paddle"
        legacy = ("launch.legacy-config", "launch.local-start", "launch.abort", "launch.proc")
        if run.node.endpoints or run.console.has(*legacy):
            return "paddle-legacy"
    return "unknown"


def _job_id(group: list[NodeRun]) -> str | None:
    for run in group:
        if run.record and run.record.job:
            return run.record.job
        job = run.console.first("launch.job")
        if job:
            return job.fields.get("job_id")
        told = run.console.values.get("--job_id")
        if told:
            return told
    return None


def _notes(group: list[NodeRun], ranks: list[Rank]) -> tuple[Text, ...]:
    notes: list[Text] = []
    unplaced = [r for r in ranks if r.rank is None and r.role == "worker" and r.files]
    if unplaced:
        notes.append(
            Text(
                en="the global rank of some logs is not known here: the file name holds the local "
                "rank only; add envlog.*, endpoints.log or the console output",
                zh="部分日志的全局 rank 无法确定：文件名中只有节点内序号；"
                "请一并提供 envlog.*、endpoints.log 或控制台输出",
            )
        )
    for run in group:
        notes.extend(
            note for member in run.members for s in member.segment for note in s.facts.notes
        )
        for text in run.record.notes if run.record else ():
            notes.append(Text(en=text, zh=text))
    return tuple(dict.fromkeys(notes))
