"""What a launcher's console says of its processes, and which process its other lines come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pdtriage.model import EnvBlock, Event, Exit, FileFacts, Role, Says
from pdtriage.runs.run_boundaries import Segment, Span
from pdtriage.support.lazy_regex import lazy_compile

SPAWNED_LINES = 200
MOST_RANKS = 200_000
_PATH = lazy_compile(r"(workerlog|serverlog|heterlog|coordinator)\.(\d+)\s*$")
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

    def first(self, word: Says) -> Event | None:
        """The first line of the launcher that says so."""
        return next((e for _, e in self.events if word in e.says), None)

    def has(self, word: Says) -> bool:
        return self.first(word) is not None

    def writer_of(self, path: str, event: Event, first: int) -> int | None:
        """The rank that wrote a line: by its prefix, or by the launcher's announcement above it.

        `first` is the rank of the first process of this node.
        """
        if event.writer is not None:
            return event.writer
        for where, told in reversed(self.events):
            last = max(event.line, event.last_seen)  # the same words may be streamed before
            above = 0 <= last - told.line <= SPAWNED_LINES
            if where == path and "repeats-output" in told.says and above:
                local = _announced_rank(told)
                return (
                    None
                    if local is None or self._is_of_another(path, event, told, first)
                    else first + local
                )
        return None

    def _is_of_another(self, path: str, event: Event, told: Event, first: int) -> bool:
        """Whether a line is of another process than the announced one, which begins only below it.

        What a launcher streams of its first process is written late where nobody flushes it.
        """
        begins = self._begin_of_announced(path, told, first) if _announced_rank(told) else None
        return begins is not None and event.line < begins

    def announced_begins(self, path: str, first: int) -> int | None:
        """The line below an announcement where the announced log follows what was streamed late."""
        repeats = [e for where, e in self.events if where == path and "repeats-output" in e.says]
        # the first process is streamed: what is announced of it is its own end once more
        told = [e for e in repeats if _announced_rank(e) != 0]
        return self._begin_of_announced(path, told[-1], first) if told else None

    def _begin_of_announced(self, path: str, told: Event, first: int) -> int | None:
        """Where what a process says when it starts is said once more, or, where that was cut off,
        below the last line that is another one's by its own word."""
        seen: set[str] = set()
        announced, others = first + (_announced_rank(told) or 0), None
        for where, event in self.output:
            if where != path or event.line <= told.line:
                continue
            if "process-starts" in event.says:
                if event.signature in seen:
                    return event.line
                seen.add(event.signature)
            if _number(event, "self_rank") not in (None, announced):
                others = event.line + 1
        return others

    def only_speaker(self) -> int | None:
        """The local index of the one process that wrote all stamped lines which are no launcher's.

        Known where the launcher told the pids of its processes.
        """
        stamped = {s.pid for span in self.spans for s in span.facts.stamps if s.pid is not None}
        return next((index for index, pid in self.pids.items() if {pid} == stamped), None)

    def pid_of(self, role: Role, local_rank: int | None) -> int | None:
        return self.pids.get(local_rank) if role == "worker" and local_rank is not None else None

    def end_of(self, role: Role, local_rank: int | None, rank: int | None) -> Exit | None:
        """What it tells of the end of a process."""
        if local_rank is not None and (role, local_rank) in self.exits:
            return self.exits[role, local_rank]
        return Exit(seen_by="console") if rank in self.aborted else None


def _announced_rank(event: Event) -> int | None:
    """The rank that a log's name tells; the one in the announcing line counts servers, too."""
    process = _local_process(event.fields.get("path"), event.fields.get("rank"))
    return process[1] if process and process[0] == "worker" else None


def is_launcher_event(event: Event) -> bool:
    return "by-launcher" in event.says


def has_launcher(console: FileFacts) -> bool:
    return any(is_launcher_event(e) for e in console.events)


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
                if "own-verdict" in event.says:
                    _take_over_report(facts, path)
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


def _take_over_report(facts: ConsoleFacts, path: str) -> None:
    """Believes the headline of a printed report whose last line is here too.

    The lines it quotes are of the rank it names, whoever is shown above it.
    """
    head = facts.headline
    if head:
        facts.aborted |= numbers_in(head.fields.get("ranks", ""))
        facts.world_size = facts.world_size or _number(head, "world_size") or None
        facts.output = [(p, e) for p, e in facts.output if p != path or e.line < head.line]


def _merge(values: dict[str, str], block: EnvBlock) -> None:
    for name, value in block.values.items():
        values.setdefault(name, value)


def _learn(facts: ConsoleFacts, event: Event) -> None:
    """Takes over what one line tells of the processes; most lines tell nothing of them."""
    for word in event.says:
        learn = _LEARNT.get(word)
        if learn is not None:
            learn(facts, event)


def _learn_pid(facts: ConsoleFacts, event: Event) -> None:
    local, pid = _number(event, "local_rank"), _number(event, "pid")
    if local is not None and pid is not None:
        facts.pids[local] = pid


def _learn_rank(facts: ConsoleFacts, event: Event) -> None:
    rank, local = _number(event, "rank"), _number(event, "local_rank")
    if rank is not None and local is not None:
        facts.values.setdefault("PADDLE_TRAINER_ID", str(max(0, rank - local)))
    facts.world_size = facts.world_size or _number(event, "world_size")


def _learn_failed(facts: ConsoleFacts, event: Event) -> None:
    facts.aborted |= {int(n) for n in re.findall(r"\d+", event.fields.get("ranks", ""))}
    size = _number(event, "world_size")
    if size is not None:
        facts.world_size = size


def _learn_headline(facts: ConsoleFacts, event: Event) -> None:
    facts.headline = event


def _learn_exit(facts: ConsoleFacts, event: Event) -> None:
    _learn_rank(facts, event)
    fields = event.fields
    where = _local_process(fields.get("path"), fields.get("local_rank") or fields.get("rank"))
    if where:
        facts.exits.setdefault(where, _exit(fields.get("exit_code"), event.time))


_LEARNT: dict[Says, Callable[[ConsoleFacts, Event], None]] = {
    "process-id": _learn_pid,
    "process-rank": _learn_rank,
    "lists-failed": _learn_failed,
    "own-headline": _learn_headline,
    "exit-status": _learn_exit,
}


def _number(event: Event, field: str) -> int | None:
    told = event.fields.get(field, "")
    return int(told) if told.isdecimal() else None


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
