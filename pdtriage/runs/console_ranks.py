"""What a launcher's console says of its processes, and which process its other lines come from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pdtriage.model import EnvBlock, Event, Exit, FileFacts, Role
from pdtriage.runs.run_boundaries import Segment, Span
from pdtriage.support.lazy_regex import late

TELLS_EXIT = frozenset(
    {
        "launch.container-failed",
        "launch.subprocess-code",
        "launch.spawn-exit",
        "launch.spawn-killed",
    }
)
SHOWS_A_RANK = frozenset({"launch.spawn-error", "launch.container-failed"})
"""After these the launcher repeats the last lines of the process it names."""
SPAWNED_LINES = 200
MOST_RANKS = 200_000
SAME_START = 2.0
"""Seconds: the double loggers of the legacy launcher print a start twice."""
_PATH = late(r"(workerlog|serverlog|heterlog|coordinator)\.(\d+)\s*$")
_ROLE_OF: dict[str, Role] = {"workerlog": "worker", "serverlog": "server", "heterlog": "heter"}


class ConsoleFacts:
    """One run as the console of one node tells it."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []
        """Of the launcher itself."""
        self.output: list[tuple[str, Event]] = []
        """Of the processes whose lines are shown among the launcher's."""
        self.exits: dict[tuple[Role, int], Exit] = {}
        """By role and local index, from the log path: the rank number counts servers first."""
        self.aborted: frozenset[int] = frozenset()
        """Global ranks of `ABORT!!!`."""
        self.world_size: int | None = None
        self.pids: dict[int, int] = {}
        """Local index to pid."""
        self.values: dict[str, str] = {}
        self.spans: list[Span] = []
        self.headline: Event | None = None
        """Of a report that `pdtriage run` printed; believed when its last line is here."""

    def first(self, signature: str) -> Event | None:
        return next((e for _, e in self.events if e.signature == signature), None)

    def writer_of(self, path: str, event: Event) -> int | None:
        """The rank that wrote a line: by its prefix, or by the launcher's announcement above it."""
        if event.writer is not None:
            return event.writer
        for where, told in reversed(self.events):
            last = max(event.line, event.last_seen)  # the same words may be streamed before
            above = 0 <= last - told.line <= SPAWNED_LINES
            if where == path and told.signature in SHOWS_A_RANK and above:
                rank = told.fields.get("rank", "")
                return int(rank) if rank.isdecimal() else None
        return None

    def pid_of(self, role: Role, local_rank: int | None) -> int | None:
        return self.pids.get(local_rank) if role == "worker" and local_rank is not None else None

    def end_of(self, role: Role, local_rank: int | None, rank: int | None) -> Exit | None:
        """What it tells of the end of a process."""
        if local_rank is not None and (role, local_rank) in self.exits:
            return self.exits[role, local_rank]
        return Exit(seen_by="console") if rank in self.aborted else None

    def has(self, *signatures: str) -> bool:
        return any(e.signature in signatures for _, e in self.events)


def is_launcher_event(event: Event) -> bool:
    return event.signature.startswith("launch.")


def has_launcher(console: FileFacts) -> bool:
    return any(is_launcher_event(e) for e in console.events)


def split_console(console: FileFacts) -> list[Segment]:
    """One segment per launch: a start that was already seen in this one opens the next."""
    seen: dict[str, Event] = {}
    cuts: list[int] = []
    for event in console.events:
        if event.role != "start" or not is_launcher_event(event):
            continue
        name = f"{event.signature} {event.fields.get('mode', '')}"
        earlier = seen.get(name)
        again = earlier is not None and not _same_start(earlier, event)
        if again or (event.signature == "launch.config" and seen and not earlier):
            cuts.append(event.offset)
            seen = {}
        seen[name] = event
    begins = [0, *cuts]
    return [(Span(console, b, e),) for b, e in zip(begins, [*cuts, None], strict=True)]


def read_console(segments: Iterable[Segment]) -> ConsoleFacts:
    facts = ConsoleFacts()
    for segment in segments:
        for part in segment:
            facts.spans.append(part)
            path = part.facts.file.path
            for event in part.events:
                target = facts.events if is_launcher_event(event) else facts.output
                target.append((path, event))
                _learn(facts, event)
                if event.signature == "launch.own-verdict":
                    _without_quotes(facts, path)
            for block in part.facts.environments:
                if part.holds(block.offset):
                    _merge(facts.values, block)
    return facts


def numbers_in(listed: str) -> set[int]:
    """`0-3, 5` as numbers."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d{1,7})(?:-(\d{1,7}))?", listed):
        end = min(int(last or first), int(first) + MOST_RANKS)
        found.update(range(int(first), end + 1))
    return found


def _without_quotes(facts: ConsoleFacts, path: str) -> None:
    """Lines that a printed report quotes are of the rank it names, whoever is shown above it."""
    if facts.headline:
        begin = facts.headline.line
        facts.output = [(p, e) for p, e in facts.output if p != path or e.line < begin]


def _merge(values: dict[str, str], block: EnvBlock) -> None:
    for name, value in block.values.items():
        values.setdefault(name, value)


def _same_start(earlier: Event, later: Event) -> bool:
    if earlier.time is not None and later.time is not None:
        return abs(later.time - earlier.time) < SAME_START
    return later.line - earlier.line < 30


def _learn(facts: ConsoleFacts, event: Event) -> None:
    fields = event.fields
    if event.signature == "launch.proc":
        facts.pids[int(fields["local_rank"])] = int(fields["pid"])
    elif event.signature == "launch.container-env":
        first = int(fields["rank"]) - int(fields["local_rank"])
        facts.values.setdefault("PADDLE_TRAINER_ID", str(max(0, first)))
        facts.world_size = facts.world_size or int(fields["world_size"])
    elif event.signature == "launch.abort":
        facts.aborted |= {int(n) for n in re.findall(r"\d+", fields.get("ranks", ""))}
        if fields.get("world_size", "").isdecimal():
            facts.world_size = int(fields["world_size"])
    elif event.signature == "launch.own-headline":
        facts.headline = event
    elif event.signature == "launch.own-verdict" and facts.headline:
        told = facts.headline.fields
        facts.aborted |= numbers_in(told.get("ranks", ""))
        facts.world_size = facts.world_size or int(told.get("world_size") or 0) or None
    elif event.signature in TELLS_EXIT:
        where = _local_process(fields.get("path"), fields.get("local_rank") or fields.get("rank"))
        if where and where not in facts.exits:
            facts.exits[where] = _exit(fields.get("exit_code"), event.time)


def _local_process(path: str | None, number: str | None) -> tuple[Role, int] | None:
    found = _PATH.search(path or "")
    if found:
        return _ROLE_OF.get(found[1], "coordinator"), int(found[2])
    return ("worker", int(number)) if number and number.isdecimal() else None


def _exit(code: str | None, time: float | None) -> Exit:
    """Paddle writes a signal as a negative code."""
    try:
        value = int(code or "")
    except ValueError:
        return Exit(time=time, seen_by="console")
    if value < 0:
        return Exit(signal=-value, time=time, seen_by="console")
    return Exit(code=value, time=time, seen_by="console")
