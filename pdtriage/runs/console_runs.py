"""Which launch on a captured console is which run of the node: by pod, ports and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise

from pdtriage.model import Event, FileFacts
from pdtriage.runs.boundary_signs import is_terminal
from pdtriage.runs.console_launches import split_console
from pdtriage.runs.console_ranks import has_launcher, read_console
from pdtriage.runs.folders import Log, NodeFolder
from pdtriage.runs.matching import PROOF, Trace, affinity, align, strongest
from pdtriage.runs.node_run import NodeRun
from pdtriage.runs.run_boundaries import Segment, split

TOGETHER = 60.0
"""Seconds in which processes that write to one console say that they start."""
MOST_COMPARED = 8
MOST_PROCESSES = 256
"""On one node."""


def with_consoles(node: NodeFolder, runs: list[NodeRun]) -> list[NodeRun]:
    """The runs with what their consoles tell, and those that only a console tells of.

    A launch that failed before it started anything leaves no log.
    """
    told: dict[int, list[Segment]] = {}
    consoles = [c for c in node.consoles if not _tell_recorded(c, runs, told)]
    for console in (console for console in consoles if has_launcher(console)):
        runs = _with_launches(node, runs, _launches_on(console), told)
    for console in (console for console in consoles if not has_launcher(console)):
        segments = _plain_parts(console)
        if node.logs or len(runs) > 1:
            for run in [run for run in runs if run.launch == runs[-1].launch]:
                told.setdefault(id(run), []).append(segments[-1])
        else:
            runs = _with_launches(node, runs, [_Launch([segment]) for segment in segments], told)
    for run in runs:
        run.console = read_console(told.get(id(run), []))
    return runs


def launch_counts(node: NodeFolder) -> dict[tuple[str, int], int]:
    """How many times, by a console, each process of the node was started; by role and number."""
    most: Counter[tuple[str, int]] = Counter()
    for console in node.consoles:
        own: Counter[tuple[str, int]] = Counter()
        for segment in split_console(console) if has_launcher(console) else ():
            own.update(
                (role, number)
                for role, replicas in _processes_in(segment).items()
                for number in range(min(replicas, MOST_PROCESSES))
            )
        most |= own
    return most


def overwrites_logs(node: NodeFolder) -> bool:
    """Whether the newest launch began all logs anew, as Paddle's older launcher does for parameter
    servers: what other files tell of older launches is not in them."""
    newest = [split_console(console)[-1] for console in node.consoles if has_launcher(console)]
    return any(
        "server" in e.fields.get("mode", "")
        for [part] in newest
        for e in part.events
        if "started" in e.says
    )


def _processes_in(segment: Segment) -> dict[str, int]:
    """How many processes of each role a launch started, as far as that is told."""
    events = [event for span in segment for event in span.events]
    started = [e for e in events if "started" in e.says and e.fields["replicas"].isdecimal()]
    if any(e.fields.get("mode") == "ps" for e in events if "describes-job" in e.says):
        # what it started is counted as a whole; its options say how many of each
        values = read_console([segment]).values
        listed = {"server": values.get("--server_num"), "worker": values.get("--trainer_num")}
        return {role: int(told) for role, told in listed.items() if told and told.isdecimal()}
    return {e.fields.get("mode") or "worker": int(e.fields["replicas"]) for e in started}


def _tell_recorded(
    console: FileFacts, runs: Sequence[NodeRun], told: dict[int, list[Segment]]
) -> bool:
    """Whether it lies beside the record of a run, which it then is of."""
    if console.file.index is None:
        return False
    own = [run for run in runs if run.record and run.record.number == console.file.index]
    if own:
        segments = [segment for launch in _launches_on(console) for segment in launch.segments]
        _tell(own, segments, told)
    return bool(own)


def _tell(
    group: Sequence[NodeRun], segments: Sequence[Segment], told: dict[int, list[Segment]]
) -> None:
    """Attempts of a launch are told one by one, the last of them last; or all of them at once."""
    for back, segment in enumerate(reversed(segments), 1):
        for run in group if len(segments) == 1 else group[-back : len(group) - back + 1]:
            told.setdefault(id(run), []).append(segment)


class _Launch:
    """One launch on a console; several segments where its attempts are told one by one."""

    def __init__(self, segments: list[Segment]) -> None:
        self.segments = segments
        events = [event for segment in segments for span in segment for event in span.events]
        facts = read_console(segments)
        self.pods = {pod for event in events if (pod := event.fields.get("pod"))}
        self.trace = Trace(tuple(span for part in segments for span in part), facts.values)
        begun = [e.time for e in events if _is_start(e) and e.time is not None]
        self.trace.begun = min(begun, default=None)
        self.started_nothing = _has_started_nothing(events)


def _has_started_nothing(events: Sequence[Event]) -> bool:
    """Whether the launcher failed, or still waited for other nodes, before it started a process:
    no log is of it. Of a console that was cut short nobody knows."""
    words = {word for event in events for word in event.says}
    if "launcher-failed" in words:
        return True
    return "waiting-for-peers" in words and words.isdisjoint(("started", "legacy-launcher"))


def _is_start(event: Event) -> bool:
    return event.role == "start" and "by-launcher" in event.says


def _launches_on(console: FileFacts) -> list[_Launch]:
    """A segment in which the launcher does not open a launch is a further attempt of the last."""
    launches: list[list[Segment]] = []
    for segment in split_console(console):
        events = [event for span in segment for event in span.events if _is_start(event)]
        again = events and not any(
            "opens-launch" in e.says or "legacy-launcher" in e.says for e in events
        )
        if again and launches:
            launches[-1].append(segment)
        else:
            launches.append([segment])
    return [_Launch(segments) for segments in launches]


def _with_launches(
    node: NodeFolder,
    runs: list[NodeRun],
    launches: Sequence[_Launch],
    told: dict[int, list[Segment]],
) -> list[NodeRun]:
    if not any(run.members or run.record for run in runs):
        known: list[list[NodeRun]] = [runs[-1:]] if runs else []
    else:
        known = [list(own) for _, own in groupby(runs, key=lambda run: run.launch)]
    found: list[NodeRun] = []
    for own, launch in align(known, _like_runs(launches, known), _fit):
        group = own or [NodeRun(node, -1 - len(told) - len(found), at) for at in _attempts(launch)]
        found.extend(group)
        if launch is None:
            continue
        _tell(group, launch.segments, told)
    return found


def _like_runs(launches: Sequence[_Launch], known: Sequence[list[NodeRun]]) -> Sequence[_Launch]:
    """Attempts one by one, where logs do not tell them from launches, either, and hold as many."""
    started = sum(len(launch.segments) for launch in launches if not launch.started_nothing)
    if any(len(own) > 1 for own in known) or len(known) < started:
        return launches
    return [_Launch([segment]) for launch in launches for segment in launch.segments]


def _attempts(launch: _Launch | None) -> range:
    return range(len(launch.segments) if launch else 0)


def _fit(runs: Sequence[NodeRun], launch: _Launch) -> float:
    """How well a launch on a console fits to the runs of a launch."""
    if launch.started_nothing and any(run.members or run.record for run in runs):
        return -PROOF
    pods = {pod for run in runs for values in run.environments if (pod := values.get("POD_NAME"))}
    if pods and launch.pods:
        return PROOF if pods & launch.pods else -PROOF
    members = [member for run in runs for member in run.members][:MOST_COMPARED]
    return strongest(affinity(Trace(m.segment, m.values), launch.trace) for m in members)


def _plain_parts(console: FileFacts) -> list[Segment]:
    """The runs on a console on which no launcher speaks: cut like the log of a process, unless
    several processes write to it at once, and not one after the end of the other."""
    starts = [e for e in console.events if "process-starts" in e.says and e.time is not None]
    between = [e.line for e in console.events if is_terminal(e) or "program-starts" in e.says]
    for earlier, later in pairwise(sorted(starts, key=lambda e: (e.signature, e.line))):
        same = earlier.signature == later.signature and earlier.pid != later.pid
        at_once = abs((later.time or 0.0) - (earlier.time or 0.0)) < TOGETHER
        again = earlier.writer == later.writer and any(
            earlier.line < line < later.line for line in between
        )
        if same and at_once and not again:
            return split_console(console)[-1:]
    return split(Log("launcher", None, [console]))
