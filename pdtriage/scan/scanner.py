"""A file that comes piece by piece to its facts, in one pass over its bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache, partial

from pdtriage.knowledge import Knowledge
from pdtriage.model import Echo, Event, FileFacts, LogFile, Progress, Stamp
from pdtriage.scan.blocks import find_blocks
from pdtriage.scan.budget import Budget, Selection, unread_note
from pdtriage.scan.clock import HEAD, STAMP_GROUPS, Clock
from pdtriage.scan.detect import (
    Detector,
    Hit,
    HitStream,
    hit_at,
    literal_in,
    literals_in,
    literals_of,
    position_of,
)
from pdtriage.scan.launcher_output import console_blocks
from pdtriage.scan.lines import Lines, Prefix, Prefixes, last_start, tail_of
from pdtriage.scan.patterns import Patterns
from pdtriage.scan.restart_detection import Openings
from pdtriage.scan.sampling import (
    DENSE,
    FAILING,
    FIRST_PROBE,
    LAST_PROBE,
    MOST_EVENTS,
    MOST_PROGRESS,
    MOST_STAMPS,
    READ_OF_END,
    add_counts,
    cap_events,
    dropped_notes,
    glog_stamps,
    regions,
    sample,
    thin_progress,
    turning_stamps,
)
from pdtriage.scan.signature_match import CandidateLine, SignatureMatcher, fold_repeats
from pdtriage.scan.step_lines import STEP_GROUPS, Counters, StepLine, StepLineDetector
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.multi_pattern import EngineName

PIECE = 1 << 20
"""Bytes that are decided at once; a block may reach `AHEAD` bytes into what follows."""
AHEAD = 1 << 16
HISTORY = 1 << 14
"""Bytes kept of what is already decided, for looking back …"""
LONGEST_HISTORY = 1 << 18
"""… with the beginning of the line there, unless that one is longer than any sensible line."""
CONSOLE_HEAD = 4 << 20
"""Bytes of a console that are searched for the launcher's tables."""


class _Collected:
    """What was read so far."""

    __slots__ = ("blocks", "events", "progress", "stamps")

    def __init__(self, blocks: int = 0) -> None:
        self.events: list[Event] = []
        self.progress: list[Progress] = []
        self.stamps: list[Stamp] = []
        self.blocks = blocks


class _PartWithSteps(NamedTuple):
    """A decided part of the file, the last one in which a step was seen."""

    lines: Lines
    begin: int
    end: int
    base: int


class Engine:
    """What is compiled of the knowledge once and serves all files: it finds, matches and reads
    lines of any of them."""

    def __init__(self, knowledge: Knowledge, engine: EngineName | None = None) -> None:
        self.knowledge = knowledge
        self.detector = Detector(literals_of(knowledge), engine)
        counters, clocks = knowledge.counters, knowledge.clocks
        self.step_lines = StepLineDetector(
            [form.pattern for form in counters], [form.pattern for form in clocks], engine
        )
        self.prefixes = Prefixes(knowledge.prefixes)
        self.clocks = Patterns(clocks, STAMP_GROUPS)
        self.counters = Patterns(counters, STEP_GROUPS)
        self.matcher_of = lru_cache(maxsize=None)(lambda kind: SignatureMatcher(knowledge, kind))


class FileScanner:
    """Takes bytes as they come; `facts()` may be asked at any time and costs one piece at most.

    However much it is fed, what it keeps is bounded. `begin` and `first_line` say where in the
    file the first byte stands, `piece` how much is decided at once.
    """

    def __init__(
        self,
        file: LogFile,
        engine: Engine,
        *,
        begin: int = 0,
        first_line: int = 1,
        piece: int | None = None,
    ) -> None:
        self.file = file
        self._engine = engine
        self._matcher = engine.matcher_of(file.kind)
        self._clock = Clock(engine.clocks, file.modified)
        self._counters = Counters(engine.counters)
        self._openings = Openings(begin)
        self._budget = Budget()
        self._prefix: Prefix | None = None
        self._stream: HitStream | None = None
        self._hits: list[Hit] = []  # undecided, by offset in the file
        self._buffer = b""
        self._parts: list[bytes] = []  # what follows the buffer
        self._undecided = 0  # bytes
        self._decided = 0  # position in the buffer: everything before it is final
        self._decided_line = first_line  # number of the line there
        self._begin = begin
        self._piece = PIECE if piece is None else piece
        self._base = begin  # where the buffer begins in the file
        self._bytes = begin
        self._found = _Collected()
        self._last_with_steps: _PartWithSteps | None = None
        self._last_steps: list[Progress] | None = None  # of that part, once somebody asked
        self._dropped: dict[str, int] = {}
        self._most_events = 4 * MOST_EVENTS
        self._head = bytearray()  # of a console only, for the launcher's tables

    def feed(self, chunk: bytes) -> list[Hit]:
        """Takes what comes next; what in it looks like anything, by offset in the file."""
        if self._stream is None:
            self._stream = HitStream(self._engine.detector, self._begin)
        hits = self._stream.take(chunk)
        self.take(chunk, hits)
        return hits

    def take(self, chunk: bytes, hits: list[Hit]) -> None:
        """Takes what comes next, where its hits are known already."""
        self._bytes += len(chunk)
        if self.file.kind == "console" and len(self._head) < CONSOLE_HEAD:
            self._head += chunk
        self._hits += hits  # rising, but for what stands across the border of two chunks
        self._hits.sort()
        start, full = 0, self._piece + AHEAD  # how far ahead it looks must not depend on the chunks
        while start < len(chunk):
            part = chunk[start : start + full - self._undecided]
            start += len(part)
            self._parts.append(part)
            self._undecided += len(part)
            while self._undecided >= full:
                self._join()
                self._commit(self._buffer.rfind(b"\n", 0, self._decided + self._piece) + 1)
                self._compact()

    def _prefix_of(self, head: bytes) -> Prefix | None:
        prefixes = self._engine.prefixes
        return prefixes.of_console(head) if self.file.kind == "console" else prefixes.of_log(head)

    def _join(self) -> None:
        if self._parts:
            self._buffer = b"".join((self._buffer, *self._parts) if self._buffer else self._parts)
            self._parts.clear()

    def facts(self) -> FileFacts:
        """What is known now; the undecided rest is read as if the file ended here."""
        self._join()
        rest = _Collected(blocks=self._found.blocks)
        budget, dating = self._budget.copy(), self._clock.dating
        _, lines = self._read(rest, len(self._buffer), budget, is_end=True)
        if not rest.progress:
            rest.progress = self._steps_before()
        progress = [*self._found.progress, *rest.progress]
        events = [*self._found.events, *rest.events]
        self._learn_opening(len(self._buffer), progress, events)
        openings = self._openings.copy()
        self._learn_behind_ends(openings, events, lines)
        echoes = openings.echoes_with(self._buffer, self._decided, self._base, self._decided_line)
        events, dropped = self._folded_events(events, progress, echoes)
        last_line, last_offset = self._last_line(lines)
        clock = self._clock
        undated, last_dated = clock.is_undated, clock.last_dated
        clock.dating = dating  # what comes may tell the year of what was read too early
        return FileFacts(
            self.file,
            events=tuple(events),
            progress=tuple(thin_progress(progress, events)),
            stamps=(
                *self._found.stamps,
                *self._with_stamps_at_restarts(rest.stamps, lines, echoes),
            ),
            echoes=tuple(echoes),
            environments=tuple(console_blocks(bytes(self._head))) if self._head else (),
            lines=lines.number_at(len(self._buffer)) - self._ends_with_newline(),
            bytes=self._bytes,
            tail=tail_of(self._buffer, self._prefix),
            last_line=last_line,
            last_offset=last_offset,
            undated=undated,
            last_dated=last_dated,
            unix_times=tuple(sorted(clock.unix_times & {event.time for event in events})),
            notes=(
                *dropped_notes(dropped, self.file),
                *unread_note(budget, self._engine.detector.literals, self.file),
            ),
        )

    def _folded_events(
        self, events: list[Event], progress: Sequence[Progress], echoes: Sequence[Echo]
    ) -> tuple[list[Event], dict[str, int]]:
        """Events as they are stored, and how many more of each signature were only counted."""
        if not events:
            return [], {}
        breaks = sorted([*(p.line for p in progress), *(echo.line for echo in echoes)])
        kept, dropped = cap_events(fold_repeats(events, breaks))
        return kept, add_counts(self._dropped, dropped)

    def _ends_with_newline(self) -> bool:
        return not self._buffer or self._buffer.endswith(b"\n")

    def _commit(self, upto: int) -> None:
        """Decides everything before `upto`; a single line longer than a piece is cut there."""
        if upto <= self._decided:
            upto = self._decided + self._piece
        steps = len(self._found.progress)
        end, lines = self._read(self._found, upto, self._budget)
        if len(self._found.progress) > steps or self._has_steps(lines, end):
            self._last_with_steps = _PartWithSteps(lines, self._decided, end, self._base)
            self._last_steps = None
        self._learn_opening(end, self._found.progress, self._found.events)
        self._learn_behind_ends(self._openings, self._found.events, lines)
        echoes = self._openings.look(
            self._buffer, self._decided, end, self._base, self._decided_line
        )
        self._found.stamps = self._with_stamps_at_restarts(self._found.stamps, lines, echoes)
        self._decided_line = lines.number_at(end)
        del self._hits[: bisect_left(self._hits, hit_at(self._base + end))]
        oldest = max(0, end - LONGEST_HISTORY)
        keep = max(oldest, self._buffer.rfind(b"\n", oldest, max(0, end - HISTORY)) + 1)
        self._base += keep
        self._buffer = self._buffer[keep:]
        self._undecided -= end - self._decided
        self._decided = end - keep

    def _compact(self) -> None:
        """A log without end must not fill the memory."""
        found = self._found
        if len(found.progress) > 8 * MOST_PROGRESS:
            found.progress = thin_progress(found.progress, found.events)
        if len(found.events) > self._most_events:
            breaks = [step.line for step in found.progress]
            found.events, dropped = cap_events(fold_repeats(found.events, breaks))
            self._dropped = add_counts(self._dropped, dropped)
            self._most_events = max(4 * MOST_EVENTS, 2 * len(found.events))
        if len(found.stamps) > 4 * MOST_STAMPS:
            found.stamps = turning_stamps(found.stamps)

    def _read(
        self, found: _Collected, upto: int, budget: Budget, is_end: bool = False
    ) -> tuple[int, Lines]:
        """Adds what stands between the decided part and `upto`; where it stopped, and the lines."""
        begin, end, before = self._decided, upto, len(found.events)
        if self._base + begin == self._begin:  # what was fed first may be half a line
            self._prefix = self._prefix_of(self._buffer)
            self._clock.learn_year(self._buffer[begin : begin + HEAD])
        lines = Lines(self._buffer, self._decided_line, self._prefix, numbered_at=begin)
        if is_end:
            lines.number_end()
        if self._hits and (hits := self._hits_in(begin, upto)):
            selected = budget.spend(hits, lines, upto - AHEAD if is_end else upto)
            end = self._read_selected(found, lines, selected, upto, budget)
            found.events[before:] = sorted(
                found.events[before:], key=lambda e: (e.line, e.signature)
            )
        self._sample(found, lines, begin, upto, found.events[before:], is_end)
        return end, lines

    def _read_selected(
        self, found: _Collected, lines: Lines, selected: Selection, upto: int, budget: Budget
    ) -> int:
        """Adds the events of candidate lines; where the last block ends."""
        literals = self._engine.detector.literals
        openings = [(position_of(hit), literals[literal_in(hit)]) for hit in selected.openings]
        blocks = find_blocks(lines, openings, found.blocks + 1)
        found.blocks += len(blocks)
        end = max([upto, *(min(block.end, len(self._buffer)) for block in blocks)])
        if end > upto:  # what a block holds behind the border is decided together with it
            selected.lines.extend(budget.spend(self._hits_in(upto, end), lines, end).lines)
        candidates = []
        for group in selected.lines:
            at = position_of(group[0])
            words = frozenset([literals[literal] for literal in literals_in(group)])
            candidates.append(CandidateLine(lines.start_of(at), at, words))
        found.events += self._matcher.events_of(lines, candidates, blocks, self._clock, self._base)
        return end

    def _hits_in(self, begin: int, upto: int) -> list[Hit]:
        """The undecided hits by position in the buffer."""
        base, hits = hit_at(self._base), self._hits
        first = bisect_left(hits, base + hit_at(begin))
        wanted = hits[first : bisect_left(hits, base + hit_at(upto))]
        return [hit - base for hit in wanted] if base else wanted

    def _sample(
        self,
        found: _Collected,
        lines: Lines,
        begin: int,
        upto: int,
        events: list[Event],
        is_end: bool,
    ) -> None:
        def read(line: StepLine) -> Progress | None:
            return self._counters.read(lines, line, self._base, self._clock)

        wanted = regions(self._base, begin, upto, events, is_end)
        near = [event.offset - self._base for event in events if event.role in FAILING]
        step_before = bool(self._found.progress)
        find = partial(self._engine.step_lines.find, lines)
        results = {event.line for event in events if "evaluated" in event.says}
        seen = sample(wanted, begin, is_end, step_before, near, find, read, results)
        found.progress.extend(seen.steps)
        found.stamps.extend(glog_stamps(lines, seen.glog, self._clock, self._base))

    def _has_steps(self, lines: Lines, end: int) -> bool:
        """A small piece may have no place of its own where steps are looked for: at its ends."""
        find, begin = partial(self._engine.step_lines.find, lines), self._decided
        at_its_end = find(max(begin, end - LAST_PROBE), end)
        return bool(at_its_end.counters or find(begin, begin + LAST_PROBE).counters)

    def _steps_before(self) -> list[Progress]:
        """The last ones of the last part that told any: only a few of its lines were looked at."""
        if self._last_steps is None and self._last_with_steps:
            lines, begin, end, base = self._last_with_steps
            last = self._engine.step_lines.find(lines, begin, end).counters[-READ_OF_END:]
            read = [self._counters.read(lines, line, base, self._clock) for line in last]
            self._last_steps = [step for step in read if step]
        return list(self._last_steps or ())

    def _with_stamps_at_restarts(
        self, stamps: list[Stamp], lines: Lines, echoes: Sequence[Echo]
    ) -> list[Stamp]:
        """And what glog says first where the file begins anew: a new run may have the old pid."""
        first = self._base + self._decided
        for at in (echo.offset - self._base for echo in echoes if echo.offset >= first):
            glog = self._engine.step_lines.find(lines, at, at + FIRST_PROBE).glog[:1]
            stamps = [*stamps, *glog_stamps(lines, glog, self._clock, self._base)]
        return sorted(set(stamps)) if echoes else stamps

    def _learn_opening(
        self, end: int, progress: Sequence[Progress], events: Sequence[Event]
    ) -> None:
        """How the file begins, up to its first step; again and again while it is that short."""
        if self._base + self._decided == self._begin:
            head = self._buffer[self._decided : min(end, self._decided + DENSE)]
            first_step = progress[0].offset if progress else self._bytes
            first_end = next((e.offset for e in events if _is_stillborn(e)), first_step)
            self._openings.first.learn(head, min(first_step, first_end) - self._begin)

    def _learn_behind_ends(self, openings: Openings, events: Sequence[Event], lines: Lines) -> None:
        """How the file goes on where a process had ended, up to the next one's first step."""
        if openings.are_learnt:
            return
        ends = [e for e in events if e.ends_at > self._base and _is_stillborn(e)]
        for place, event in enumerate(ends):
            at = event.ends_at - self._base
            text = self._buffer[at : at + FIRST_PROBE]
            steps = self._engine.step_lines.find(lines, at, at + len(text), first_only=True)
            stops = [line[1] for line in steps.counters[:1]]
            stops += [
                e.offset - self._base for e in ends[place + 1 :] if e.offset >= event.ends_at
            ][:1]
            first = min(stops, default=len(self._buffer)) - at
            openings.learn_behind(event.ends_at, lines.number_at(at), text, first)

    def _last_line(self, lines: Lines) -> tuple[int, int]:
        """Number and offset of the last line that is not empty."""
        start = last_start(self._buffer, self._prefix)
        return lines.number_at(start), self._base + start


def _is_stillborn(event: Event) -> bool:
    """Whether a process ended there before it could begin: no script was found, for example."""
    return "process-ends" in event.says and event.role == "cause" and "signal" not in event.fields
