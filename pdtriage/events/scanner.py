"""One file to its facts, in one pass over its bytes. Knows nothing of other files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from pdtriage.events.budget import Budget, unread_note
from pdtriage.events.claims import Candidate, Claims, Stamps, build_event, fold
from pdtriage.events.clock import Clock
from pdtriage.events.console_tables import console_blocks
from pdtriage.events.detect import CounterDetector, Detector, Hit, literals_of
from pdtriage.events.engines import EngineName
from pdtriage.events.lines import Lines, Prefix, clean, find_prefix, near_start, shown, visible
from pdtriage.events.opening import Opening
from pdtriage.events.passages import Passage, find_passages
from pdtriage.events.patterns import Patterns
from pdtriage.events.progress import Counters
from pdtriage.events.samples import regions, steps_of
from pdtriage.events.sampling import (
    MOST_EVENTS,
    MOST_PROGRESS,
    MOST_STAMPS,
    added,
    capped,
    dropped_notes,
    sampled,
    turning,
)
from pdtriage.knowledge import Knowledge
from pdtriage.model import Event, FileFacts, LogFile, Progress, Stamp

PIECE = 1 << 20
"""Bytes that are decided at once; a passage may reach `AHEAD` bytes into what follows."""
AHEAD = 1 << 16
HISTORY = 1 << 14
"""Bytes kept of what is already decided, for looking back …"""
LONGEST_HISTORY = 1 << 18
"""… with the beginning of the line there, unless that one is longer than any sensible line."""
TAIL_LINES = 12
CONSOLE_HEAD = 4 << 20
"""Bytes of a console that are searched for the launcher's tables."""

_GLOG = re.compile(rb"(?m)^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +(\d+) ")


class Engine:
    """What is compiled once and serves all files."""

    def __init__(self, knowledge: Knowledge, engine: EngineName | None = None) -> None:
        self.knowledge = knowledge
        self.detector = Detector(literals_of(knowledge), engine)
        self.counters = CounterDetector([form.pattern for form in knowledge.counters], engine)
        self.prefixes = [re.compile(form.pattern) for form in knowledge.prefixes]
        self.clock_patterns = Patterns([form.pattern for form in knowledge.clocks])
        self.counter_patterns = Patterns([form.pattern for form in knowledge.counters])
        self.claims = lru_cache(maxsize=None)(lambda kind: Claims(knowledge, kind))


def scan(file: LogFile, chunks: Iterable[bytes], engine: Engine) -> FileFacts:
    """All facts of one file."""
    scanner = FileScanner(file, engine)
    for chunk in chunks:
        scanner.feed(chunk)
    return scanner.facts()


def events_of(text: bytes, knowledge: Knowledge, kind: str = "worker") -> tuple[Event, ...]:
    """The events of a piece of log by itself."""
    file = LogFile(path="-", kind=kind, folder="")  # type: ignore[arg-type]
    return scan(file, [text], Engine(knowledge)).events


@dataclass
class _Found:
    events: list[Event] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    passages: int = 0


class FileScanner:
    """Takes bytes as they come; `facts()` may be asked at any time and costs one piece at most.

    However much it is fed, what it keeps is bounded. `begin` and `first_line` say where in the
    file the first byte stands, `piece` how much is decided at once. A `sparse` one looks for steps
    in few places from the beginning on.
    """

    def __init__(
        self,
        file: LogFile,
        engine: Engine,
        *,
        begin: int = 0,
        first_line: int = 1,
        piece: int | None = None,
        sparse: bool = False,
    ) -> None:
        self.file = file
        self._engine = engine
        self._claims = engine.claims(file.kind)
        self._clock = Clock(engine.clock_patterns, file.modified)
        self._counters = Counters(engine.counter_patterns)
        self._opening = Opening(self._is_progress, begin)
        self._budget = Budget()
        self._prefix: Prefix | None = None
        self._buffer = b""
        self._decided = 0  # position in the buffer: everything before it is final
        self._decided_line = first_line  # number of the line there
        self._begin = begin
        self._piece = PIECE if piece is None else piece
        self._sparse = sparse
        self._base = begin  # where the buffer begins in the file
        self._bytes = begin
        self._found = _Found()
        self._dropped: dict[str, int] = {}
        self._most_events = 4 * MOST_EVENTS
        self._head = bytearray()  # of a console only, for the launcher's tables

    def feed(self, chunk: bytes) -> None:
        if self._bytes == self._begin and chunk:
            self._prefix = find_prefix(chunk[: 1 << 16], self._engine.prefixes)
        self._bytes += len(chunk)
        if self.file.kind == "console" and len(self._head) < CONSOLE_HEAD:
            self._head += chunk
        self._buffer += chunk
        while len(self._buffer) - self._decided >= self._piece + AHEAD:
            self._commit(self._buffer.rfind(b"\n", 0, self._decided + self._piece) + 1)
            self._compact()

    def facts(self) -> FileFacts:
        """What is known now; the undecided rest is read as if the file ended here."""
        rest = _Found(passages=self._found.passages)
        budget = self._budget.copy()
        _, line = self._read(rest, len(self._buffer), budget, is_end=True)
        echoes = self._opening.echoes_with(
            self._buffer, self._decided, self._base, self._decided_line
        )
        progress = [*self._found.progress, *rest.progress]
        breaks = sorted([*(p.line for p in progress), *(echo.line for echo in echoes)])
        events, dropped = capped(fold([*self._found.events, *rest.events], breaks))
        last_line, last_offset = self._last_line()
        return FileFacts(
            file=self.file,
            events=tuple(events),
            progress=tuple(sampled(progress, events)),
            stamps=(*self._found.stamps, *rest.stamps),
            echoes=tuple(echoes),
            environments=tuple(console_blocks(bytes(self._head))),
            lines=line - self._ends_with_newline(),
            bytes=self._bytes,
            tail=self._tail(),
            last_line=last_line,
            last_offset=last_offset,
            notes=(
                *dropped_notes(added(self._dropped, dropped), self.file),
                *unread_note(budget, self._engine.detector.literals, self.file),
            ),
        )

    def _ends_with_newline(self) -> bool:
        return not self._buffer or self._buffer.endswith(b"\n")

    def _commit(self, upto: int) -> None:
        """Decides everything before `upto`; a single line longer than a piece is cut there."""
        if upto <= self._decided:
            upto = self._decided + self._piece
        end, line = self._read(self._found, upto, self._budget)
        self._opening.look(self._buffer, self._decided, end, self._base, self._decided_line)
        self._decided_line = line
        oldest = max(0, end - LONGEST_HISTORY)
        keep = max(oldest, self._buffer.rfind(b"\n", oldest, max(0, end - HISTORY)) + 1)
        self._base += keep
        self._buffer = self._buffer[keep:]
        self._decided = end - keep

    def _compact(self) -> None:
        """A log without end must not fill the memory."""
        found = self._found
        if len(found.progress) > 8 * MOST_PROGRESS:
            found.progress = sampled(found.progress, found.events)
        if len(found.events) > self._most_events:
            breaks = [step.line for step in found.progress]
            found.events, dropped = capped(fold(found.events, breaks))
            self._dropped = added(self._dropped, dropped)
            self._most_events = max(4 * MOST_EVENTS, 2 * len(found.events))
        if len(found.stamps) > 4 * MOST_STAMPS:
            found.stamps = turning(found.stamps)

    def _read(
        self, found: _Found, upto: int, budget: Budget, is_end: bool = False
    ) -> tuple[int, int]:
        """Adds what stands between the decided part and `upto`; where it stopped, and the line."""
        begin = self._decided
        lines = Lines(self._buffer, self._decided_line, self._prefix, numbered_at=begin)
        worth = budget.spend(self._hits(begin, upto), lines, upto - AHEAD if is_end else upto)
        literals = self._engine.detector.literals
        openings = [(at, literals[index]) for at, index in worth.openings]
        passages = find_passages(lines, openings, found.passages + 1)
        found.passages += len(passages)
        before = len(found.events)
        end = max([upto, *(min(passage.end, len(self._buffer)) for passage in passages)])
        if end > upto:  # what a passage holds behind the border is decided together with it
            worth.lines += budget.spend(self._hits(upto, end), lines, end).lines
        candidates = [
            Candidate(lines.start_of(group[0][0]), group[0][0], {literals[i] for _, i in group})
            for group in worth.lines
        ]
        stamps = Stamps(lines, self._clock)
        self._claim_lines(found, lines, candidates, passages, stamps)
        self._claim_exceptions(found, lines, passages, stamps, before)
        found.events[before:] = sorted(found.events[before:], key=lambda e: (e.line, e.signature))
        self._sample(found, lines, begin, upto, found.events[before:], is_end)
        return end, lines.number_at(end)

    def _hits(self, begin: int, upto: int) -> list[Hit]:
        hits = self._engine.detector.find(memoryview(self._buffer)[begin:upto])
        return [(begin + at, literal) for at, literal in hits]

    def _claim_lines(
        self,
        found: _Found,
        lines: Lines,
        candidates: Iterable[Candidate],
        passages: list[Passage],
        stamps: Stamps,
    ) -> None:
        at = 0
        for candidate in candidates:
            while at < len(passages) and passages[at].end <= candidate.start:
                at += 1
            inside = at < len(passages) and passages[at].begin <= candidate.start
            passage = passages[at] if inside else None
            for signature, line, fields in self._claims.on_line(lines, candidate, passage):
                stamp = stamps.of(line, passage)
                found.events.append(
                    build_event(lines, signature, line, fields, self._base, passage, stamp)
                )

    def _claim_exceptions(
        self,
        found: _Found,
        lines: Lines,
        passages: list[Passage],
        stamps: Stamps,
        before: int,
    ) -> None:
        """An exception that no signature claimed is still an exception."""
        claimed = {e.line for e in found.events[before:] if e.role not in ("context", "progress")}
        for passage in passages:
            for traceback in passage.tracebacks:
                raised = traceback.raised
                if raised is None:
                    continue
                last = traceback.last.number if traceback.last else raised.number
                if any(number in claimed for number in range(raised.number, last + 1)):
                    continue
                claim = self._claims.on_exception(traceback)
                if claim:
                    stamp = stamps.of(raised, passage)
                    found.events.append(
                        build_event(lines, claim[0], raised, claim[1], self._base, passage, stamp)
                    )

    def _sample(
        self,
        found: _Found,
        lines: Lines,
        begin: int,
        upto: int,
        events: list[Event],
        is_end: bool,
    ) -> None:
        def read(position: int, likely: list[int]) -> Progress | None:
            return self._counters.read(lines, position, self._base, self._clock, likely)

        wanted = regions(self._base, begin, upto, events, is_end, self._sparse)
        near = [event.offset - self._base for event in events]
        counters = self._engine.counters
        found.progress.extend(steps_of(counters, self._buffer, wanted, near, read))
        for start, end, _ in wanted:
            start = near_start(self._buffer, start)
            found.stamps.extend(self._glog_stamps(lines, self._buffer[start:end], start))

    def _is_progress(self, line: bytes) -> bool:
        """Whether a line of the file's beginning tells a step."""
        places = self._engine.counters.find(line)
        lines = Lines(line, 1)
        return any(self._counters.read(lines, at, 0, self._clock, fits) for at, fits in places)

    def _glog_stamps(self, lines: Lines, region: bytes, start: int) -> list[Stamp]:
        """The first and last glog line of every process that wrote here."""
        kept: list[int] = []
        pid = b""
        last = -1
        for found in _GLOG.finditer(region):
            if found[1] != pid:
                kept.extend([last, found.start()] if last >= 0 else [found.start()])
                pid = found[1]
            last = found.start()
        kept.append(last)
        stamps = []
        for position in sorted({p for p in kept if p >= 0}):
            line = lines.at(start + position)
            stamp = self._clock.read(line.text)
            if stamp:
                stamps.append(Stamp(line.number, self._base + line.start, *stamp))
        return stamps

    def _last_line(self) -> tuple[int, int]:
        """Number and offset of the last line that is not empty."""
        start = self._buffer.rfind(b"\n", 0, len(self._buffer.rstrip())) + 1
        lines = Lines(self._buffer, self._decided_line, numbered_at=self._decided)
        return lines.number_at(start), self._base + start

    def _tail(self) -> tuple[str, ...]:
        texts: list[str] = []
        for raw in reversed(self._buffer[-HISTORY:].split(b"\n")[-4 * TAIL_LINES :]):
            text = shown(clean(visible(raw)).rstrip())
            texts += [text] if text else []
            if len(texts) == TAIL_LINES:
                break
        return tuple(reversed(texts))
