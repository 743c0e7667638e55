"""All files of a job to its runs: the same run of every node together, every rank known by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast, get_args

from pdtriage.jobs.folders import JobFolder, sort_files
from pdtriage.jobs.identity import self_rank
from pdtriage.jobs.launches import NodeRun, node_runs
from pdtriage.jobs.ranks import (
    console_ranks,
    node_rank,
    only_named,
    rank_of,
    unseen_ranks,
    unseen_servers,
)
from pdtriage.launch.record import RunRecord
from pdtriage.model import (
    Event,
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
        own = [rank_of(member, run, max(1, len(with_logs))) for member in run.members]
        own.extend(console_ranks(run, own, single=len(group) == 1))
        own.extend(only_named(run, own))
        ranks.extend(own)
        nodes.append(_node(run, own))
    world_size = _world_size(group)
    ranks.extend(unseen_ranks(ranks, group, world_size))
    ranks.extend(unseen_servers(ranks, group))
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
        launcher=tuple(event for run in group for event in _spoken(run, ranks)),
        kernel=_kernel(group, job) if newest else (),
        nodes=tuple(nodes),
        world_size=world_size,
        mode=_mode(group),
        started_by=_launcher(group),
        job_id=_job_id(group),
        launcher_pids=frozenset(r.record.pid for r in group if r.record and r.record.pid),
        ended_by_record=next((r.record.reason for r in group if r.record), None),
        running=any(r.record is not None and r.record.is_live() for r in group),
        arguments=_arguments(group),
        versions=next((r.record.versions for r in group if r.record), {}),
        notes=_notes(group, ranks),
    )


def _spoken(run: NodeRun, ranks: list[Rank]) -> list[tuple[str, Event]]:
    """What the launcher said, and causes that stand in its console and in no log."""
    if not run.members:
        return run.console.events
    told = {event.signature for rank in ranks for _, event in rank.events}
    only_there = [
        (path, event)
        for path, event in run.console.output
        if event.role == "cause"
        and event.writer is None
        and event.signature not in told
        and not event.signature.startswith("kernel.")
    ]
    return [*run.console.events, *only_there]


def _kernel(group: list[NodeRun], job: JobFolder) -> tuple[tuple[str, Event], ...]:
    """What the machine says: kernel logs and pictures of the cards, also pasted into a console."""
    pasted = [
        (path, event)
        for run in group
        for path, event in run.console.output
        if event.signature.startswith(("kernel.", "device.smi"))
    ]
    return (*((f.file.path, e) for f in job.kernel for e in f.events), *pasted)


def _node(run: NodeRun, ranks: list[Rank]) -> Node:
    hosts = [rank.host for rank in ranks if rank.host]
    record = run.record
    host = record.address or record.host if record else hosts[0] if hosts else None
    return Node(node_rank(run), host, run.node.folder, record.pid if record else None)


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


def _arguments(group: list[NodeRun]) -> tuple[str, ...]:
    recorded = next((run.record.argv for run in group if run.record and run.record.argv), ())
    if recorded:
        return recorded
    shown = group[0].console.values.items()
    return tuple(f"{name}={value}" for name, value in shown if name.startswith("--"))


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
    notes.extend(_conflicts(group))
    for run in group:
        notes.extend(
            note for member in run.members for s in member.segment for note in s.facts.notes
        )
        for text in run.record.notes if run.record else ():
            notes.append(Text(en=text, zh=text))
    return tuple(dict.fromkeys(notes))


def _conflicts(group: list[NodeRun]) -> list[Text]:
    """Where a log and its environment disagree about who wrote it."""
    notes = []
    for member in (member for run in group for member in run.members):
        told = member.values.get("PADDLE_GLOBAL_RANK") or member.values.get("PADDLE_TRAINER_ID")
        itself = self_rank(member)
        if told and itself is not None and told != str(itself):
            path = member.segment[-1].facts.file.path
            notes.append(
                Text(
                    en=f"{path}: its environment says rank {told}, its messages say {itself}; "
                    "the environment was believed",
                    zh=f"{path}：环境变量为 rank {told}，日志为 rank {itself}；以前者为准",
                )
            )
    return notes
