"""Candidate lines to events: which signatures really claim a line, and which of them yield."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import partial

from pdtriage.knowledge import Format, Knowledge, Signature
from pdtriage.model import Event, FileKind, Frame
from pdtriage.scan.blocks import Block, stack_below
from pdtriage.scan.clock import Clock, Moment
from pdtriage.scan.detect import FATAL
from pdtriage.scan.lines import Line, Lines, shorten
from pdtriage.scan.patterns import Shapes
from pdtriage.scan.traceback_lines import is_quoted_source
from pdtriage.scan.tracebacks import Traceback, is_ignored, without_folded_frames
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import limited_compile

COMPETING = frozenset({"cause", "symptom"})
FIELD_LENGTH = 400
SHOWN_ROLES = CLAIMING = frozenset({"cause", "symptom", "victim"})
CONTEXT_ABOVE, CONTEXT_BELOW = 4, 2
LINES_ABOVE = 30
"""Searched for a time where the line itself has none."""
MOST_SHAPES = 128
"""Of lines with the same literals that are remembered."""
_DIGITS = re.compile(r"\d+")
_LOGGED = re.compile(
    r"\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)\b"
    r"|(?i:\b(?:failed|could not|cannot|can't|unable)\b)|失败|无法"
)
"""A line that a logger wrote, or of what failed: the words that were given with an exception."""


class CandidateLine(NamedTuple):
    """A line in which at least one literal stands."""

    start: int
    position: int
    """Of the first literal, for lines that are too long to be read whole."""
    literals: frozenset[str]
    text: str = ""
    """What it said before a terminal broke it over several lines, where one did."""


Ways = Sequence[Format]
"""How a line looks that says what was done instead."""
Match = tuple[Signature, Line, dict[str, str]]
"""A signature that claims a line, the line, and what it reads there."""
_Claim = tuple[Signature, Sequence[tuple[str, slice]] | None]
"""A signature that claims a line, and where its fields stand there; None where more than the line
must be asked."""


class _Rules(NamedTuple):
    """What is asked about lines in which certain literals stand."""

    signatures: list[Signature]
    claims: Shapes[list[_Claim]]


class SignatureMatcher:
    """Applies the signatures to candidate lines of one kind of file."""

    def __init__(self, knowledge: Knowledge, kind: FileKind) -> None:
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._recoveries = knowledge.recoveries
        self._by_literal: dict[str, list[Signature]] = {}
        self._by_literals: dict[frozenset[str], _Rules] = {}
        self._fallbacks: list[Signature] = []
        for signature in knowledge.signatures.values():
            if signature.kinds and kind not in signature.kinds:
                continue
            if signature.trigger == "traceback":
                self._fallbacks.append(signature)
            fatal = [FATAL] if signature.trigger == "fatal" else []
            for literal in [*signature.literals, *fatal]:
                self._by_literal.setdefault(literal, []).append(signature)
        self._fallbacks.sort(key=lambda s: (-s.weight, s.id))

    def events_of(
        self,
        lines: Lines,
        candidates: Iterable[CandidateLine],
        blocks: Sequence[Block],
        clock: Clock,
        base: int,
    ) -> list[Event]:
        """The events of these lines, and those of exceptions in the blocks that no line claims.

        Both rise; `base` is where the buffer begins in the file.
        """
        stamps = Stamps(lines, clock)
        events: list[Event] = []
        at = 0
        for candidate in self._unbroken(lines, candidates, blocks):
            while at < len(blocks) and blocks[at].end <= candidate.start:
                at += 1
            inside = at < len(blocks) and blocks[at].begin <= candidate.start
            block = blocks[at] if inside else None
            for signature, line, fields in self._match_line(lines, candidate, block):
                signature = _tone_down(signature, lines, line, block)
                stamp = stamps.of(line, block)
                event = _event(lines, signature, line, fields, base, block, stamp)
                events.append(_where_overcome(event, lines, block, self._recoveries))
        for block, traceback, raised in _unclaimed_exceptions(blocks, events):
            if match := self._match_exception(traceback):
                signature = _tone_down(match[0], lines, raised, block)
                stamp = stamps.of(raised, block)
                event = _event(lines, signature, raised, match[1], base, block, stamp)
                events.append(_where_overcome(event, lines, block, self._recoveries))
        return events

    def _unbroken(
        self, lines: Lines, candidates: Iterable[CandidateLine], blocks: Sequence[Block]
    ) -> Iterable[CandidateLine]:
        """Lines with messages of exceptions as they were before a terminal broke them."""
        broken = [t for block in blocks for t in block.tracebacks if t.unbroken]
        if not broken:
            return candidates
        parts = {
            number
            for traceback in broken
            if traceback.raised and traceback.last
            for number in range(traceback.raised.number, traceback.last.number + 1)
        }
        whole = [c for c in candidates if lines.number_at(c.start) not in parts]
        for traceback in broken:
            text = traceback.unbroken
            literals = frozenset(literal for literal in self._by_literal if literal in text)
            if traceback.raised and literals:
                start = traceback.raised.start
                whole.append(CandidateLine(start, start, literals, text))
        return sorted(whole, key=lambda candidate: candidate.start)

    def _match_line(
        self, lines: Lines, candidate: CandidateLine, block: Block | None
    ) -> list[Match]:
        """The signatures that claim the line after the less specific ones have yielded.

        Code that a traceback quotes says nothing, whatever words stand in it.
        """
        line = lines.at(candidate.position, exact=True)
        found: list[Match] = []
        for signature, places in self._claims_on(candidate, line):
            fields = (
                self._fields_on_line(signature, lines, candidate, line)
                if places is None
                else {name: line.text[own].strip()[:FIELD_LENGTH] for name, own in places}
            )
            if fields is not None and self._fits(signature, lines, candidate, line, block):
                found.append((signature, line, fields))
        if any(signature.role == "noise" for signature, _, _ in found):
            found = [it for it in found if "imports" in it[0].says]
        if not found:
            return []
        if block and (own := block.traceback_at(line)) and own.is_the_programs_own:
            found = [it for it in found if not _is_of_other_ranks(it, own)]
        if len(found) > 1:
            best = max((s.weight for s, _, _ in found if s.role in COMPETING), default=0)
            found = [it for it in found if it[0].role not in COMPETING or it[0].weight == best]
        if is_quoted_source(lines, line):
            return _hints(found) if block and block.breaks_off_at(line) else []
        return found

    def _match_exception(self, traceback: Traceback) -> tuple[Signature, dict[str, str]] | None:
        """The signature that claims an exception which no literal recognised, and what it reads."""
        text = f"{traceback.type}: {traceback.message}" if traceback.message else traceback.type
        for signature in self._fallbacks:
            fields = self._fields(signature, text)
            if fields is not None and self._fits_stack(signature, traceback.stack):
                return signature, {"error_class": traceback.type, **fields}
        return None

    def _claims_on(self, candidate: CandidateLine, line: Line) -> Sequence[_Claim]:
        """The signatures whose patterns find something on a line, and where.

        Thousands of ranks die with the same words and other numbers: they are searched once.
        """
        asked = self._by_literals.get(candidate.literals)
        if asked is None:
            asked = self._by_literals[candidate.literals] = self._rules_with(candidate.literals)
        if candidate.text:
            return [(signature, None) for signature in asked.signatures]
        return asked.claims[line.text.encode().translate(asked.claims.table)]

    def _rules_with(self, literals: frozenset[str]) -> _Rules:
        asked: dict[str, Signature] = {}
        for literal in sorted(literals):
            for signature in self._by_literal.get(literal, ()):
                asked[signature.id] = signature
        signatures = list(asked.values())
        patterns = [it.pattern for it in signatures if it.pattern and it.lines == 1]
        return _Rules(
            signatures, Shapes(patterns, partial(self._claims_of, signatures), MOST_SHAPES)
        )

    def _claims_of(self, signatures: Iterable[Signature], shape: bytes) -> list[_Claim]:
        text = shape.decode()
        claims: list[_Claim] = []
        for signature in signatures:
            if signature.lines > 1:  # which lines follow is seen where they do
                claims.append((signature, None))
            elif signature.pattern is None:
                claims.append((signature, ()))
            elif found := self._search(signature.pattern, text):
                names = [name for name, value in found.groupdict().items() if value is not None]
                claims.append((signature, [(name, slice(*found.span(name))) for name in names]))
        return claims

    def _fields_on_line(
        self, signature: Signature, lines: Lines, candidate: CandidateLine, line: Line
    ) -> dict[str, str] | None:
        text = candidate.text or line.text
        if signature.lines > 1 and not candidate.text:
            more = zip(lines.onward(candidate.start), range(signature.lines), strict=False)
            rest = [later.text for later, _ in more][1:]
            text = "\n".join([text, *rest])
        return self._fields(signature, text)

    def _fits(
        self,
        signature: Signature,
        lines: Lines,
        candidate: CandidateLine,
        line: Line,
        block: Block | None,
    ) -> bool:
        """Whether the stack around it is one that the signature asks for."""
        if signature.stack is None:
            return True
        stack = block.stack_at(line) if block else stack_below(lines, candidate.start)
        return self._fits_stack(signature, stack)

    def _fields(self, signature: Signature, text: str) -> dict[str, str] | None:
        if signature.pattern is None:
            return {}
        found = self._search(signature.pattern, text)
        if found is None:
            return None
        return {
            name: value.strip()[:FIELD_LENGTH]
            for name, value in found.groupdict().items()
            if value is not None
        }

    def _fits_stack(self, signature: Signature, stack: str) -> bool:
        return signature.stack is None or self._search(signature.stack, stack) is not None

    def _search(self, pattern: str, text: str) -> re.Match[str] | None:
        compiled = self._patterns.get(pattern)
        if compiled is None:
            compiled = self._patterns[pattern] = limited_compile(pattern)
        return compiled.search(text)


def _is_of_other_ranks(match: Match, own: Traceback) -> bool:
    """Whether words on connections would speak of other ranks, of which this traceback of the
    program itself tells nothing, unless it names the one that is lost."""
    signature, _, fields = match
    if not signature.generic or "peer_addr" in fields:
        return False
    return signature.points == "peer" or (own.is_of_a_client and "between-ranks" in signature.says)


def _tone_down(signature: Signature, lines: Lines, line: Line, block: Block | None) -> Signature:
    """What Python tells of and ignores, or a command that was run, makes no verdict by itself."""
    if block is None or signature.role not in COMPETING:
        return signature
    own = block.traceback_at(line)
    if own is None or not (own.is_of_a_command or is_ignored(lines, block.tracebacks, own)):
        return signature
    return signature._replace(role="context", final=False)


def _event(
    lines: Lines,
    signature: Signature,
    line: Line,
    fields: dict[str, str],
    base: int,
    block: Block | None,
    stamp: Moment | None,
) -> Event:
    """The event of a match; `base` is where the buffer begins in the file."""
    frame: Frame | None = block.user_frame(line) if block else None
    raised = block.traceback_at(line) if block else None
    whole = raised.unbroken.partition("\n")[0] if raised and raised.raised == line else ""
    pid = fields.get("pid", "")
    if block and signature.role == "victim" and block.waiting_in:
        fields = {**fields, "waiting_in": block.waiting_in}
    if raised and raised.thread:
        fields = {**fields, "thread": raised.thread}
    if block and block.is_of_cleanup(line):
        fields = {**fields, "cleanup": "failed"}
    return Event(
        signature=signature.id,
        role=signature.role,
        category=signature.category,
        line=line.number,
        offset=base + line.start,
        text=shorten(without_folded_frames(whole or line.text.strip())),
        first_line=block.first_line if block else 0,
        last_line=block.last_line if block else 0,
        fields=fields,
        frame=frame,
        time=stamp[0] if stamp else None,
        before=_above(lines, line) if signature.role in SHOWN_ROLES else (),
        after=_below(lines, line) if signature.role in SHOWN_ROLES else (),
        pid=int(pid) if pid.isdecimal() and len(pid) < 12 else stamp[1] if stamp else None,
        writer=line.writer,
        last_seen=line.number,
        block=block.number if block else 0,
        final=signature.final,
        says=signature.says,
        ends_at=_end_of_process(lines, signature, line, block, base),
    )


def _where_overcome(event: Event, lines: Lines, block: Block | None, ways: Ways) -> Event:
    """The event; of an exception that was caught the line below it may say what is done instead, or
    the words that a logger was given with it, above. Python prints what nobody caught alike."""
    raised = [told.raised for told in block.tracebacks] if block else []
    if block is None or event.role not in COMPETING or event.line not in _numbers(raised):
        return event
    below = event.after[:1] if event.frame and event.ends_at else ()
    above = [] if event.ends_at else lines.back(block.begin, 1)
    said = [*below, *(line.text for line in above if _LOGGED.search(line.text))]
    if not any(way.search(words) for way in ways for words in said):
        return event
    return event._replace(ends_at=0, final=False, fields={**event.fields, "overcome": said[0]})


def _numbers(lines: Iterable[Line | None]) -> set[int]:
    return {line.number for line in lines if line}


def _end_of_process(
    lines: Lines, signature: Signature, line: Line, block: Block | None, base: int
) -> int:
    """Where the passage ends with which a process ended; 0 if it may have gone on."""
    if "process-ends" in signature.says:
        return base + (block.end if block else lines.end_of(line.start) + 1)
    if block and block.is_uncaught and signature.role in COMPETING:
        return base + block.end
    return 0


def _unclaimed_exceptions(
    blocks: Iterable[Block], events: Iterable[Event]
) -> list[tuple[Block, Traceback, Line]]:
    """Exceptions that no event claims, with the lines that name them: they are exceptions still."""
    # that a process begins or is done is no message of an exception, though it stands right below
    telling = [event for event in events if event.role in CLAIMING]
    claimed = {event.line for event in telling}
    # what a launcher prints below an exception is no part of its message
    own = claimed - {event.line for event in telling if "by-launcher" in event.says}
    unclaimed = []
    for block in blocks:
        for traceback in block.tracebacks:
            raised, last = traceback.raised, traceback.last
            if raised is None or raised.number in claimed:
                continue
            end = last.number if last else raised.number
            if not any(number in own for number in range(raised.number + 1, end + 1)):
                unclaimed.append((block, traceback, raised))
    return unclaimed


def _hints(matches: Iterable[Match]) -> list[Match]:
    """What was about to be raised where the log breaks off supports a verdict and makes none."""
    return [
        (signature._replace(role="context"), line, fields)
        for signature, line, fields in matches
        if signature.role == "cause"
    ]


def _above(lines: Lines, line: Line) -> tuple[str, ...]:
    texts = [shorten(earlier.text.rstrip()) for earlier in lines.back(line.start, CONTEXT_ABOVE)]
    return tuple(reversed(texts))


def _below(lines: Lines, line: Line) -> tuple[str, ...]:
    following = zip(lines.onward(line.start), range(CONTEXT_BELOW + 1), strict=False)
    return tuple(shorten(later.text.rstrip()) for later, _ in following)[1:]


class Stamps:
    """Stamps of the lines of one buffer.

    In a flood of errors without a time every line asks the same lines above; each is read once.
    """

    def __init__(self, lines: Lines, clock: Clock) -> None:
        self._lines = lines
        self._clock = clock
        self._known: dict[int, Moment | None] = {}
        self._in_blocks: dict[int, Moment | None] = {}

    def of(self, line: Line, block: Block | None) -> Moment | None:
        """The moment of a line: its own, that of its block, or of the nearest line before."""
        own = self._moment_on(line)
        if own:
            return own
        if block and not block.tracebacks:
            if block.begin not in self._in_blocks:
                self._in_blocks[block.begin] = self._inside(block)
            if found := self._in_blocks[block.begin]:
                return found
        return self._above(block.begin if block else line.start)

    def _inside(self, block: Block) -> Moment | None:
        for line in self._lines.onward(block.begin):
            if line.start >= block.end:
                break
            if found := self._moment_on(line):
                return found
        return None

    def _above(self, begin: int) -> Moment | None:
        start = self._lines.start_of(begin)
        for _ in range(LINES_ABOVE):
            if start == 0:
                return None
            start = self._lines.start_of(start - 1)
            if start not in self._known:
                self._known[start] = self._moment_on(self._lines.at(start))
            if found := self._known[start]:
                return found
        return None

    def _moment_on(self, line: Line) -> Moment | None:
        """The moment by the wrapper's clock where there is one: it is the same for all lines."""
        own = self._clock.read(line.text)
        outer = self._clock.read(line.stamp) if line.stamp else None
        return (outer[0], own[1] if own else None) if outer else own


def fold_repeats(
    events: Sequence[Event], breaks: Sequence[int] = (), near: int = 60
) -> list[Event]:
    """Equal events that follow each other closely become one with a count.

    `breaks` are lines that no fold may cross: steps and new beginnings, in rising order. No fold
    crosses what is told as modules are imported, either.
    """
    folded: list[Event] = []
    open_at: dict[tuple[object, ...], int] = {}
    for event in events:
        if "imports" in event.says:
            open_at.clear()
        key = (event.signature, event.writer, event.frame, *_sameness(event))
        at = open_at.get(key)
        if at is not None and _is_near(folded[at], event, breaks, near):
            earlier = folded[at]
            count = earlier.count + event.count
            folded[at] = earlier._replace(count=count, last_seen=event.last_seen)
        else:
            open_at[key] = len(folded)
            folded.append(event)
    return folded


def _sameness(event: Event) -> tuple[object, ...]:
    """Errors differ in numbers only; what a launcher says differs in the numbers it says."""
    if event.role not in COMPETING:
        return (event.text,)
    return (
        _DIGITS.sub("0", event.text),
        event.fields.get("peer_rank"),
        event.fields.get("peer_addr"),
    )


def _is_near(earlier: Event, later: Event, breaks: Sequence[int], near: int) -> bool:
    if later.role == "start" or later.line - earlier.last_seen > near:
        return False
    if earlier.ends_at and later.ends_at > earlier.ends_at:
        return False  # a process ends once
    return bisect(breaks, earlier.last_seen) == bisect(breaks, later.line)
