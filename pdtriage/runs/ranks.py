"""The processes of a run: those with a log, those that only a console shows, those without any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from pdtriage.model import LOG_OF_ROLE, Event, Exit, Progress, Rank, Role
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.runs.console_ranks import ConsoleFacts, numbers_in
from pdtriage.runs.identity import Identification, Identity
from pdtriage.runs.node_run import Member, NodeRun
from pdtriage.runs.numbering import first_rank_by_console, host_of, node_count_of
from pdtriage.runs.run_boundaries import Segment, Span
from pdtriage.support.fast_namedtuple import maker
from pdtriage.support.lazy_regex import lazy_compile

MOST_MISSING = 200_000
_Files = tuple[str, ...]
_Events = tuple[tuple[str, Event], ...]
_Parts = tuple[tuple[str, int, int | None], ...]
_made = maker(Rank)
_LISTED_VICTIMS = lazy_compile(r"ranks? (\d[\d,-]*(?: [\d,-]+)*)\s*[(（]([^)）]*)")
_STOPPED = ("stopped", "被启动器停止")
_SERVING: tuple[Role, ...] = ("server", "heter", "coordinator")


def logged_ranks(run: NodeRun, nodes: int, ranks_elsewhere: frozenset[int]) -> list[Rank]:
    """Processes that left a log here, in one of `nodes` folders of this run."""
    identify = Identification(run, nodes, ranks_elsewhere).identify
    console = run.console if run.console.spans else None
    return [_rank_of(member, identify(member), console) for member in run.members]


def _rank_of(member: Member, identity: Identity, console: ConsoleFacts | None) -> Rank:
    role, rank, local_rank, host, endpoint, device, node = identity
    segment, process, death = member.segment, member.process, member.death
    files, events, progress, parts = _contents_of(segment)
    last = segment[-1]
    facts = last.facts
    ends_here = last.is_last and last.size > 0  # a run without a word has no last words either
    first_time, last_time = member.times or (None, None)
    pids = last.pids
    ending = _exit(death) if death else None
    if console or process or len(segment) > 1:
        pids = _pids(member, console.pid_of(role, local_rank) if console else None)
    if console and not ending:
        ending = console.end_of(role, local_rank, rank)
    return _made(
        (
            role,
            rank,
            local_rank,
            node,
            host,
            endpoint,
            device,
            pids,
            files,
            events,
            progress,
            facts.lines if last.begin == 0 else int(last.size > 0),
            False,
            facts.tail if ends_here else (),
            facts.last_line if ends_here else 0,
            facts.last_offset if ends_here else 0,
            ending,
            last_time,
            first_time,
            process.started or None if process else None,
            parts,
            facts.file.modified if ends_here else None,
            member.values,
            (),
            (),
            (),
            False,
            (),
        )
    )


def ranks_in_console(run: NodeRun, known: list[Rank], single: bool) -> list[Rank]:
    """Processes whose lines only the console shows: by a prefix, or those of the streamed one."""
    console = run.console
    if not console.spans:
        return []
    by_writer: dict[int | None, list[tuple[str, Event]]] = {}
    is_all = not known or (single and node_count_of(run) == 1)
    in_pod = run.node.pod is not None  # whose place in the job is found later
    begin = 0 if in_pod else _first_rank(run) or 0
    for path, event in console.output:
        # a launcher numbers its own processes: among logs of several nodes that says nothing
        writer = console.writer_of(path, event, begin) if is_all else event.writer
        by_writer.setdefault(writer, []).append((path, event))
    streamed = by_writer.pop(None, [])
    heard = {rank.rank for rank in known if rank.role == "worker"}
    found = [
        _rank_of_writer(rank, events, console, begin)
        for rank, events in sorted(by_writer.items(), key=str)
        if rank is not None and rank not in heard
    ]
    is_news = is_all and not any(rank.role == "worker" and rank.local_rank == 0 for rank in known)
    if (known and not (is_news and console.events)) or not (streamed or not found):
        return found
    # A launcher shows its first process; when it says that another one failed, it shows that too.
    failed = {index for role, index in console.exits if role == "worker"}
    alone = failed <= {0} or bool(found) or bool(known)
    first = bool(console.events) and (
        alone if single else not in_pod and _shows_two(console, begin)
    )
    number = (0 if single else _first_rank(run)) if first else None
    progress = [step for span in console.spans for step in _streamed_steps(span, console, begin)]
    times = [time for span in console.spans for time in span.times]
    tail = _below_the_launcher(console)
    # what is announced of the first process is its own end once more
    again = [rank for rank in found if number is not None and rank.rank == number]
    own = [*streamed, *(event for rank in again for event in rank.events)]
    if own or progress or (tail and not console.events):
        found = [rank for rank in found if rank not in again]
        found.append(
            Rank(
                role="worker",
                rank=number,
                local_rank=0 if first else None,
                node=run.number,
                files=tuple(dict.fromkeys(span.facts.file.path for span in console.spans)),
                events=tuple(sorted(own, key=_by_line)),
                progress=tuple(progress),
                lines=max(1, sum(span.facts.lines for span in console.spans)),
                mixed=True,
                tail=tail,
                last_line=console.spans[-1].facts.last_line if tail else 0,
                last_offset=console.spans[-1].facts.last_offset if tail else 0,
                exit=console.end_of("worker", 0 if first else None, number),
                pids=(console.pids[0],) if first and console.only_speaker() == 0 else (),
                last_time=max(times, default=None),
                first_time=min(times, default=None),
                parts=tuple((span.facts.file.path, span.begin, span.end) for span in console.spans),
            )
        )
    return found


def _by_line(event: tuple[str, Event]) -> tuple[str, int]:
    return event[0], event[1].line


def _shows_two(console: ConsoleFacts, first: int) -> bool:
    """Whether all that the first process wrote stands above the log of the one that failed."""
    return any(
        console.announced_begins(span.facts.file.path, first) is not None for span in console.spans
    )


def _streamed_steps(span: Span, console: ConsoleFacts, first: int) -> Iterable[Progress]:
    """Steps on a console but for those of another process, whose log is shown below."""
    begins = console.announced_begins(span.facts.file.path, first)
    return [step for step in span.progress if begins is None or step.line < begins]


def _below_the_launcher(console: ConsoleFacts) -> tuple[str, ...]:
    """The last lines of a console, as far as the launcher says nothing below them."""
    facts = console.spans[-1].facts
    said = [max(e.line, e.last_line) for path, e in console.events if path == facts.file.path]
    below = facts.last_line - max(said, default=0)
    return facts.tail[-below:] if below > 0 else ()


def ranks_only_named(run: NodeRun, known: list[Rank]) -> list[Rank]:
    """Processes the launcher says failed, of which no log and no line is here."""
    if not run.console.exits:
        return []
    local = {(rank.role, rank.local_rank) for rank in known}
    placed = {(rank.role, rank.rank) for rank in known if rank.rank is not None}
    first = _first_rank(run)
    named = [
        Rank(
            role=role,
            rank=_global_rank(role, index, first),
            local_rank=index,
            node=run.number,
            exit=told,
        )
        for (role, index), told in sorted(run.console.exits.items())
        if (role, index) not in local
    ]
    return [rank for rank in named if (rank.role, rank.rank) not in placed]


def _first_rank(run: NodeRun) -> int | None:
    """The global rank of the node's first worker: 0 on the only node of a job."""
    told = first_rank_by_console(run)
    return 0 if told is None and node_count_of(run) == 1 else told


def _global_rank(role: Role, index: int, first: int | None) -> int | None:
    """The global rank of a process by its number on a node whose first worker is `first`."""
    if first is None or (first and role != "worker"):
        return None
    return first + index


def _rank_of_writer(
    rank: int, events: list[tuple[str, Event]], console: ConsoleFacts, first: int
) -> Rank:
    times = [event.time for _, event in events if event.time is not None]
    return Rank(
        role="worker",
        rank=rank,
        files=tuple(dict.fromkeys(path for path, _ in events)),
        events=tuple(events),
        lines=1,
        exit=console.end_of("worker", rank - first, rank),
        last_time=max(times, default=None),
    )


def unseen_ranks(ranks: list[Rank], group: list[NodeRun], world_size: int | None) -> list[Rank]:
    """Ranks that belong to the job and left no log here; others may accuse them."""
    aborted = {rank for run in group for rank in run.console.aborted}
    wanted = set(range(min(world_size or 0, MOST_MISSING))) | aborted
    if not wanted:
        return []
    seen = {rank.rank for rank in ranks if rank.role == "worker"}
    if None in seen:
        wanted = aborted  # an unplaced log may be any of the others
    endpoints = max((run.endpoints for run in group), key=len, default=())
    return [
        Rank(
            role="worker",
            rank=rank,
            endpoint=endpoints[rank] if rank < len(endpoints) else None,
            host=host_of(endpoints[rank]) if rank < len(endpoints) else None,
            exit=Exit(seen_by="console") if rank in aborted else None,
        )
        for rank in sorted(wanted.difference(seen))
    ]


def with_recorded_ends(ranks: list[Rank], group: Sequence[NodeRun]) -> list[Rank]:
    """Ranks whose log is lost, or lies elsewhere, with the end that their launcher recorded."""
    lost = [pair for run in group if run.record for pair in _without_log(run.record, run)]
    if not lost:
        return ranks
    places = {(rank.role, rank.rank): place for place, rank in enumerate(ranks)}
    found = list(ranks)
    for run, process in lost:
        rank = _rank_of_record(run, process)
        place = places.get((rank.role, rank.rank))
        if place is None:
            found.append(rank)
        elif found[place].exit is None:
            known = found[place]
            pids = tuple(sorted({*known.pids, *rank.pids}))
            found[place] = known._replace(exit=rank.exit, pids=pids, started=rank.started)
    return found


def _without_log(record: RunRecord, run: NodeRun) -> Iterator[tuple[NodeRun, ProcessRecord]]:
    seen = {member.process.pid for member in run.members if member.process}
    for process in record.processes:
        if process.role in LOG_OF_ROLE and process.pid not in seen:
            yield run, process


def _rank_of_record(run: NodeRun, process: ProcessRecord) -> Rank:
    record = run.record
    deaths = record.deaths if record else ()
    death = next((death for death in deaths if death.pid == process.pid), None)
    return Rank(
        role=cast(Role, process.role),
        rank=process.rank,
        local_rank=process.local_rank,
        node=run.number,
        host=host_of(process.endpoint) or (record.address if record else None),
        endpoint=process.endpoint,
        device=process.device,
        pids=(process.pid,),
        exit=_exit(death) if death else None,
        started=process.started or None,
    )


def unseen_servers(ranks: list[Rank], group: list[NodeRun]) -> list[Rank]:
    """Servers and heter trainers of the job that left no log here."""
    record = next((run.record for run in group if run.record), None)
    if record is None or not record.roles:
        return []
    seen = {(rank.role, rank.rank) for rank in ranks}
    return [
        Rank(role=role, rank=index, endpoint=endpoint, host=host_of(endpoint))
        for role in _SERVING
        for index, endpoint in enumerate(record.roles.get(role, ()))
        if (role, index) not in seen
    ]


def with_reported_victims(ranks: list[Rank], group: Sequence[NodeRun]) -> list[Rank]:
    """Ranks that nothing else is known of, with what became of them by the report that
    `pdtriage run` printed: often all that is left of a container."""
    fates: dict[int, tuple[str, bool]] = {}
    for run in group:
        for path, event in run.console.events:
            if "own-victims" in event.says and run.console.has("own-verdict"):
                listed = _victims_in(event.fields.get("ranks", ""))
                fates.update({rank: (path, stopped) for rank, stopped in listed.items()})
    return [_with_fate(rank, fates) for rank in ranks] if fates else ranks


def _victims_in(text: str) -> dict[int, bool]:
    """Rank to whether the launcher had stopped it."""
    return {
        rank: reason.startswith(_STOPPED)
        for listed, reason in _LISTED_VICTIMS.findall(text)
        for rank in numbers_in(listed)
    }


def _with_fate(rank: Rank, fates: dict[int, tuple[str, bool]]) -> Rank:
    if rank.role != "worker" or rank.rank not in fates or rank.exit is not None:
        return rank
    path, stopped = fates[rank.rank]
    return rank._replace(files=rank.files or (path,), exit=Exit(stopped=True) if stopped else None)


def _contents_of(segment: Segment) -> tuple[_Files, _Events, tuple[Progress, ...], _Parts]:
    """The files of a segment, their events and steps, and which bytes of them it is."""
    if len(segment) == 1:  # as for most ranks
        only = segment[0]
        path = only.facts.file.path
        events = tuple([(path, event) for event in only.events]) if only.events else ()
        return (path,), events, tuple(only.progress), ((path, only.begin, only.end),)
    parts = [(span.facts.file.path, span.begin, span.end) for span in segment]
    return (
        tuple(dict.fromkeys(path for path, _, _ in parts)),
        tuple([(span.facts.file.path, event) for span in segment for event in span.events]),
        tuple([step for span in segment for step in span.progress]),
        tuple(parts),
    )


def _pids(member: Member, shown: int | None) -> tuple[int, ...]:
    """The pids of a rank: of its stamps and its record, and the one that a console shows."""
    pids = {pid for span in member.segment for pid in span.pids}
    if shown is not None:
        pids.add(shown)
    if member.process:
        pids.add(member.process.pid)
    return tuple(sorted(pids))


def _exit(death: DeathRecord) -> Exit:
    return Exit(
        death.order,
        death.code,
        death.signal,
        death.time,
        death.stopped,
        for_memory=death.for_memory,
        max_rss_kb=death.max_rss_kb,
        memory_limit_kb=death.memory_limit_kb,
        memory_peak_kb=death.memory_peak_kb,
        memory_peak_before_kb=death.memory_peak_before_kb,
    )
