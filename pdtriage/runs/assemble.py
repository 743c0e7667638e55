"""All files of a job to its runs: the same run of every node together, every rank known by name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast, get_args

from pdtriage.model import (
    BY_RAS,
    CardEvent,
    CardHistory,
    CardSample,
    Event,
    FileFacts,
    Launcher,
    LiveReport,
    Mode,
    Node,
    Rank,
    Restart,
    Role,
    Run,
    RunFacts,
    Says,
    Standstill,
    Text,
)
from pdtriage.record.schema import RunRecord
from pdtriage.runs.alignment import MOST_NAMED, aligned_runs, launches_of, notes_on_separate_jobs
from pdtriage.runs.ends import (
    end_times,
    ended_by_record,
    pids_that_may_stop,
    start_times,
    stops_here,
    vanished_launchers,
)
from pdtriage.runs.folders import JobFolder, sort_files
from pdtriage.runs.machine_log import lines_of_runs
from pdtriage.runs.node_run import NodeRun
from pdtriage.runs.node_runs import node_runs
from pdtriage.runs.numbering import Numbering, numbers_that_are_ranks, self_rank
from pdtriage.runs.pod_runs import (
    missing_notes,
    mode_of_pods,
    outcome_of_pods,
    partial_ones,
    pods_world,
    ranks_of_pod,
    signs_of_run,
)
from pdtriage.runs.ranks import (
    logged_ranks,
    ranks_in_console,
    ranks_only_named,
    unseen_ranks,
    unseen_servers,
    with_recorded_ends,
    with_reported_victims,
)
from pdtriage.runs.time_zone import in_local_time
from pdtriage.runs.world_size import note_on_absent_ranks, note_on_stale_list
from pdtriage.runs.years import with_years
from pdtriage.support.gc_pause import keep_until_exit

if TYPE_CHECKING:
    from pdtriage.knowledge import Knowledge


def assemble(
    facts: Iterable[FileFacts],
    records: Sequence[tuple[str, RunRecord]] = (),
    knowledge: Knowledge | None = None,
) -> list[RunFacts]:
    """The runs found, oldest first; empty when no file says anything of a job.

    `knowledge` is needed to take over what nodes whose logs are not here told of their ranks.
    """
    job = sort_files(with_years([*facts]), records)
    grouped = aligned_runs([runs for runs in map(node_runs, job.nodes) if runs])
    apart = notes_on_separate_jobs(grouped)
    partial = partial_ones(grouped)
    by_kernel = lines_of_runs(grouped, job.kernel)
    found = []
    for index, (launch, group) in enumerate(zip(launches_of(grouped), grouped, strict=True), 1):
        newest = index == len(grouped)
        facts_of_run = _run_facts(index, launch, group, job, newest)
        by_machine = (*by_kernel[index - 1], *(_pasted(group) if newest else ()))
        facts_of_run = facts_of_run._replace(kernel=by_machine)
        facts_of_run = facts_of_run._replace(notes=(*facts_of_run.notes, *apart))
        for record in (run.record for run in group if run.record and run.record.peers):
            if knowledge is not None:
                from pdtriage.runs.peer_ranks import with_peers  # one node has no peers

                facts_of_run = with_peers(facts_of_run, record, knowledge)
        facts_of_run = in_local_time(facts_of_run, group)
        found.append(facts_of_run._replace(partial=partial[index - 1]))
    keep_until_exit(job, grouped)
    return found or _machine_alone(job)


def _machine_alone(job: JobFolder) -> list[RunFacts]:
    """The log of a kernel is worth a report by itself, if it says anything: that of a node whose
    job left no other trace, or which nobody thought of keeping."""
    told = tuple((facts.file.path, event) for facts in job.kernel for event in facts.events)
    if not any(event.role in ("cause", "symptom") for _, event in told):
        return []
    times = [event.time for _, event in told if event.time is not None]
    return [RunFacts(Run(1, 1, 0, ended=max(times, default=None)), ranks=(), kernel=told)]


def _run_facts(
    index: int, launch: int, group: list[NodeRun], job: JobFolder, newest: bool
) -> RunFacts:
    with_logs = [run for run in group if run.members]
    pods = sum(bool(run.node.pod and run.node.pod.role == "worker") for run in group)
    ranks: list[Rank] = []
    nodes: list[Node] = []
    numbered = numbers_that_are_ranks(with_logs)
    for run in group:
        own = logged_ranks(run, max(1, len(with_logs)), numbered)
        own.extend(ranks_in_console(run, own, single=len(group) == 1))
        own.extend(ranks_only_named(run, own))
        own = ranks_of_pod(own, run, pods)
        ranks.extend(own)
        nodes.extend(_nodes(run, own))
    ranks = with_recorded_ends(ranks, group)
    world_size = _world_size(group) or pods_world(group, job.cluster, ranks)
    ranks.extend(unseen_ranks(ranks, group, world_size))
    ranks.extend(unseen_servers(ranks, group))
    ranks = with_reported_victims(ranks, group)
    ranks.sort(key=lambda r: (r.role, r.rank is None, r.rank or 0, r.local_rank or 0, r.files))
    shown = any(run.console.output for run in group)
    told = {event.signature for rank in ranks for _, event in rank.events} if shown else set()
    return RunFacts(
        run=Run(
            index,
            launch,
            group[0].attempt,
            started=min(start_times(group), default=None),
            ended=max(end_times(group), default=None),
        ),
        ranks=tuple(ranks),
        launcher=tuple(event for run in group for event in _launcher_events(run, told)),
        nodes=tuple(nodes),
        world_size=world_size,
        mode=_mode(group),
        started_by=_launcher(group),
        job_id=_name_of_job(group),
        launcher_pids=pids_that_may_stop(group),
        ended_by_record=ended_by_record(group),
        live=_live(group),
        standstill=_standstill(group),
        restart=_restart(group),
        reached=_last_position(group),
        running=any(r.record is not None and r.record.is_live() for r in group),
        vanished=vanished_launchers(group),
        stops=stops_here(group),
        arguments=_arguments(group),
        versions=next((r.record.versions for r in group if r.record), {}),
        notes=(*_notes(group, ranks), *missing_notes(group), *job.cluster.notes),
        cluster=signs_of_run(group, job.cluster, newest),
        cards=tuple(_cards(group, ranks)) if newest else (),
        card_events=tuple(_card_events(group)),
        ended_by_cluster=outcome_of_pods(group, job.cluster, newest),
    )


def _live(group: list[NodeRun]) -> LiveReport | None:
    """What was reported on all nodes; where they disagree, nothing was."""
    reports = [r.record.live for r in group if r.record and r.record.live]
    blamed = {tuple((c.role, c.ranks, c.signature) for c in r.causes[:1]) for r in reports}
    if len(blamed) != 1:
        return None
    return reports[0]._replace(logged=frozenset().union(*(r.logged for r in reports)))


def _standstill(group: list[NodeRun]) -> Standstill | None:
    """The stacks of all nodes; a job stands still where it does so on each of them."""
    taken = [r.record.standstill for r in group if r.record and r.record.standstill]
    if not taken:
        return None
    newest = max(taken, key=lambda one: one.time)
    return newest._replace(
        stacks=tuple(
            stack._replace(host=r.record.address or r.record.host or None)
            for r in group
            if r.record and r.record.standstill
            for stack in r.record.standstill.stacks
        ),
        gone=tuple(sorted({rank for one in taken for rank in one.gone})),
        moved_on=any(one.moved_on for one in taken),
    )


def _restart(group: list[NodeRun]) -> Restart | None:
    """All nodes decide the same; one of those that wrote it down will do."""
    decided = next((r.record.restart for r in group if r.record and r.record.restart), None)
    return None if decided is None else Restart(decided.again, decided.why)


def _last_position(group: list[NodeRun]) -> tuple[int | None, int] | None:
    told = [
        (r.record.last_epoch, r.record.last_step)
        for r in group
        if r.record and r.record.last_step is not None
    ]
    return max(told, key=lambda reached: (reached[0] or 0, reached[1]), default=None)


def _launcher_events(run: NodeRun, told: set[str]) -> list[tuple[str, Event]]:
    """What the launcher said, and causes that stand in its console and in no log."""
    if not run.members:
        return run.console.events
    only_there = [
        (path, event)
        for path, event in run.console.output
        if event.role == "cause"
        and event.writer is None
        and event.signature not in told
        and "by-kernel" not in event.says
    ]
    return [*run.console.events, *only_there]


def _pasted(group: list[NodeRun]) -> Iterator[tuple[str, Event]]:
    """What the kernel and NCCL's RAS say, and pictures of the cards, pasted into a console."""
    for run in group:
        for path, event in run.console.output:
            if not _OF_THE_MACHINE.isdisjoint(event.says):
                yield path, event


def _cards(group: list[NodeRun], ranks: list[Rank]) -> Iterator[CardHistory]:
    """What the cards of each node did; the newest launch wrote their log."""
    for run in group:
        samples: dict[int, list[CardSample]] = {}
        for log in run.node.cards:
            for sample in log.cards:
                samples.setdefault(sample.card, []).append(sample)
        if samples:
            files = {s.facts.file.path for member in run.members for s in member.segment}
            hosts = {rank.host for rank in ranks if files.intersection(rank.files)}
            host = hosts.pop() if len(hosts) == 1 else None
            for card, own in sorted(samples.items()):
                told = tuple((s.time, s.busy, s.used_mb) for s in own)
                yield CardHistory(host, f"gpu:{card}", own[-1].total_mb, told)


def _card_events(group: list[NodeRun]) -> Iterator[CardEvent]:
    """What the driver of each node told of its cards, by the node's own record."""
    for record in (run.record for run in group if run.record):
        host = record.address or record.host or None
        yield from (event._replace(host=host) for event in record.cards)


def _nodes(run: NodeRun, ranks: list[Rank]) -> list[Node]:
    """The node whose folder it is; several where people have collected their logs in one."""
    hosts = {rank.host: rank.node for rank in ranks if rank.host}
    record, folder, pod = run.record, run.node.folder, run.node.pod
    if pod is not None:
        return [Node(pod.index, pod.name, folder)]
    if record is not None:
        return [Node(run.number, record.address or record.host, folder)]
    known = [Node(node, host, folder) for host, node in hosts.items() if node is not None]
    if len(known) > 1:
        return known
    number = known[0].rank if known and run.number is None else run.number
    return [Node(number, next(iter(hosts), None), folder)]


def _world_size(group: list[NodeRun]) -> int | None:
    for run in group:
        if run.record and run.record.world_size:
            return run.record.world_size
        for values in run.environments:
            told = values.get("PADDLE_TRAINERS_NUM") or values.get("PADDLE_GLOBAL_SIZE")
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


def _mode(group: list[NodeRun]) -> Mode:
    for run in group:
        told = run.record.mode if run.record else None
        job = run.console.first("describes-job")
        told = told or (job.fields.get("mode") if job else None)
        if told in get_args(Mode):
            return cast(Mode, told)
    by_pods = mode_of_pods(group)
    if by_pods:
        return by_pods
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
        if run.node.environments or run.node.pods or run.console.has("paddle-launcher"):
            return "paddle"
        if run.node.endpoints or run.console.has("legacy-launcher"):
            return "paddle-legacy"
    return "unknown"


def _job_id(group: list[NodeRun]) -> str | None:
    for run in group:
        if run.record and run.record.job:
            return run.record.job
        job = run.console.first("describes-job")
        if job:
            return job.fields.get("job_id")
        told = run.console.values.get("--job_id")
        if told:
            return told
    return None


def _name_of_job(group: list[NodeRun]) -> str | None:
    """The name of a job; of a PaddleJob its own, which the launchers in its pods do not know."""
    named = (run.node.pod.job for run in group if run.node.pod and run.node.pod.job)
    return next(named, None) or _job_id(group)


def _arguments(group: list[NodeRun]) -> tuple[str, ...]:
    recorded = next((run.record.argv for run in group if run.record and run.record.argv), ())
    if recorded:
        return recorded
    shown = group[0].console.values.items()
    return tuple(f"{name}={value}" for name, value in shown if name.startswith("--"))


def _notes(group: list[NodeRun], ranks: list[Rank]) -> tuple[Text, ...]:
    notes: list[Text] = []
    unplaced = [r for r in ranks if r.rank is None and r.role == "worker" and r.files]
    if unplaced and all(rank.local_rank is None for rank in unplaced):
        notes.append(
            Text(
                en="nothing here says which rank wrote this; give the log folder of the job "
                "(workerlog.*) to learn it",
                zh="这里看不出由哪个 rank 写出；请提供任务的日志目录（workerlog.*）",
            )
        )
    elif unplaced and (doubts := _doubts(group)):
        notes.extend(doubts)
    elif unplaced:
        notes.append(
            Text(
                en="the global rank of some logs is not known here: the file name holds the local "
                "rank only; add envlog.*, endpoints.log or the console output",
                zh="部分日志的全局 rank 无法确定：文件名中只有节点内序号；"
                "请一并提供 envlog.*、endpoints.log 或控制台输出",
            )
        )
    notes.extend(_conflicts(group))
    notes.extend(note for run in group if (note := _note_on_older_logs(run)))
    notes.extend(note for run in group if (note := note_on_stale_list(run)))
    notes.extend(note for note in [note_on_absent_ranks(group, ranks)] if note)
    for run in group:
        notes.extend(
            note for member in run.members for s in member.segment for note in s.facts.notes
        )
        notes.extend(run.record.notes if run.record else ())
    return tuple(dict.fromkeys(notes))


def _doubts(group: list[NodeRun]) -> list[Text]:
    """Where a log folder may be of one node or another."""
    with_logs = [run for run in group if run.members]
    return [doubt for run in with_logs if (doubt := Numbering(run, len(with_logs)).doubt())]


def _note_on_older_logs(run: NodeRun) -> Text | None:
    """Says which logs of its folder the newest run did not write to."""
    written = {member.log.key for member in run.members}
    older = [log for log in run.node.logs if log.key not in written]
    if not run.newest or run.record or not written or not older:
        return None
    names = [posixpath.basename(log.pieces[-1].file.path) for log in older]
    shown = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    return Text(
        f"of older runs only, there is nothing of this one in them: {shown}",
        f"以下日志只属于更早的运行，其中没有本次运行的内容：{shown}",
    )


def _conflicts(group: list[NodeRun]) -> list[Text]:
    """Where a log and its environment disagree about who wrote it."""
    notes = []
    for member in (member for run in group for member in run.members if member.values):
        told = member.values.get("PADDLE_GLOBAL_RANK") or member.values.get("PADDLE_TRAINER_ID")
        itself = self_rank(member) if told else None
        if itself is not None and told != str(itself):
            path = member.segment[-1].facts.file.path
            notes.append(
                Text(
                    en=f"{path}: its environment says rank {told}, its messages say {itself}; "
                    "the environment was believed",
                    zh=f"{path}：环境变量为 rank {told}，日志为 rank {itself}；以前者为准",
                )
            )
    return notes


_OF_THE_MACHINE: frozenset[Says] = BY_RAS | {"by-kernel", "card-picture"}
"""Words of lines that a console shows, and no process of the job wrote."""
