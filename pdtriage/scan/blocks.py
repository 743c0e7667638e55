"""Blocks: lines that belong together and are understood as one (tracebacks, error summaries)."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Frame
from pdtriage.scan.lines import Line, Lines
from pdtriage.scan.traceback_lines import FRAME
from pdtriage.scan.tracebacks import (
    HEADER,
    Traceback,
    headless_tracebacks,
    is_header,
    read_tracebacks,
    syntax_error,
)
from pdtriage.support.lazy_regex import lazy_compile

SUMMARY = "Error Message Summary:"
CPP_HEADER = "C++ Traceback (most recent call last)"
SUMMARY_LINES = 25
STACK_LINES = 150

_CPP_FRAME = lazy_compile(r"^\s*(?:@\s+0x[0-9a-f]+|\d+\s+0x[0-9a-f]+p?|#?\d+\s+[\w:~<(\[])")
_COLLECTIVE = lazy_compile(
    r"ProcessGroup\w+::(\w+)|GlooCommContext::(\w+)|(ncclGroupEnd|nccl\w+)|UnboundBuffer::wait(?:Recv|Send)"
    r"|TCPStore::(\w+)|(bkcl\w+|Hccl\w+)|Context::(connectFullMesh)"
)
_NEXT = lazy_compile(r"^(?:[IWEF]\d{4} \d\d:|LAUNCH [A-Z]+ \d{4}-|\[?\d{4}[-/]\d\d[-/]\d\d[ T])")


class Block:
    """Lines that belong together."""

    def __init__(
        self,
        number: int,
        begin: int,
        end: int,
        tracebacks: Sequence[Traceback] = (),
        cpp_stack: str = "",
        first_line: int = 0,
        last_line: int = 0,
    ) -> None:
        """`begin` is the position of its first line in the buffer, `end` is behind its last."""
        self.number = number
        self.begin, self.end = begin, end
        self.tracebacks = tracebacks
        self.cpp_stack = cpp_stack
        self.first_line, self.last_line = first_line, last_line

    @property
    def stack(self) -> str:
        return "\n".join([*(t.stack for t in self.tracebacks), self.cpp_stack])

    def stack_at(self, line: Line) -> str:
        """The stack of all that belongs to what a line tells."""
        own = self.traceback_at(line)
        return own.stack if own and own.in_handler and own.raised == line else self.stack

    @property
    def waiting_in(self) -> str | None:
        """The collective operation the process was in, by its C++ stack."""
        found = _COLLECTIVE.search(self.cpp_stack)
        if found is None:
            return None
        return next((group for group in found.groups() if group), "a collective")

    @property
    def is_uncaught(self) -> bool:
        """Whether the exception it tells of ended the process."""
        return bool(self.tracebacks) and self.tracebacks[-1].is_uncaught

    def traceback_at(self, line: Line) -> Traceback | None:
        """The traceback a line of this block most likely belongs to."""
        best = None
        for traceback in self.tracebacks:
            last = traceback.last or traceback.header
            if traceback.header.number <= line.number <= last.number and (
                best is None or traceback.raised == line
            ):
                best = traceback
        return best

    def is_of_cleanup(self, line: Line) -> bool:
        """Whether what a line names failed, by accident, in what the main program does once it has
        caught the exception that ended it.

        Deeper down a handler may be the second of two ways, and its failure what matters.
        """
        own = self.traceback_at(line)
        if own is None or own.raised != line or not own.in_handler or own.code.startswith("raise"):
            return False
        handled = self.tracebacks[self.tracebacks.index(own) - 1].frames
        if len(handled) < 2:  # what was tried is in the same function as the handler
            return False
        tried = handled[0]
        return any((f.file, f.function) == (tried.file, tried.function) for f in own.frames[:2])

    def breaks_off_at(self, line: Line) -> bool:
        """Whether a quoted `raise …` is all there is: no line below names the exception."""
        own = self.traceback_at(line)
        return own is not None and own.raised is None and line.text.lstrip().startswith("raise ")

    def user_frame(self, line: Line) -> Frame | None:
        own = self.traceback_at(line)
        if own and own.user_frame:
            return own.user_frame
        for traceback in reversed(self.tracebacks):
            if traceback.user_frame:
                return traceback.user_frame
        return None


def find_blocks(lines: Lines, openings: list[tuple[int, str]], first_number: int) -> list[Block]:
    """Every block once, from the positions of structural literals in rising order."""
    blocks: list[Block] = []
    covered = -1
    tried: dict[str, int] = {}  # ends of the lines where each literal was seen last
    for position, literal in openings:
        if position < max(covered, tried.get(literal, -1)):
            continue
        tried[literal] = lines.end_of(position)
        block = _read(lines, position, literal, first_number + len(blocks))
        if block is None:
            continue
        if blocks and _continues(lines, blocks[-1], block):
            blocks[-1] = _join(blocks[-1], block)
        else:
            blocks.append(block)
        covered = blocks[-1].end
    return blocks


def stack_below(lines: Lines, position: int) -> str:
    """The C++ frames printed right below a fatal line (glog's check failure, old Paddle)."""
    frames: list[str] = []
    for count, line in enumerate(lines.onward(position)):
        if _CPP_FRAME.match(line.text):
            frames.append(line.text.strip())
        elif frames or count > 6:
            break
        if count > STACK_LINES:
            break
    return "\n".join(frames)


def _read(lines: Lines, position: int, literal: str, number: int) -> Block | None:
    if literal == SUMMARY:
        return _summary(lines, position, number)
    if literal.endswith("Error: "):
        found = syntax_error(lines, position)
        return _of_tracebacks([found], lines.end_of(position) + 1, number) if found else None
    if literal == FRAME:
        cut = headless_tracebacks(lines, position)
        return _of_tracebacks(*cut, number) if cut else None
    texts = [line.text for line, _ in zip(lines.onward(position), range(3), strict=False)]
    if not any(map(is_header, texts[:1] if literal == HEADER else texts)):
        return None
    tracebacks, end = read_tracebacks(lines, position)
    return _of_tracebacks(tracebacks, end, number) if tracebacks else None


def _of_tracebacks(tracebacks: list[Traceback], end: int, number: int) -> Block:
    last = max((t.last or t.header for t in tracebacks), key=lambda line: line.number)
    first = tracebacks[0].header
    return Block(
        number, first.start, end, tracebacks, first_line=first.number, last_line=last.number
    )


def _summary(lines: Lines, position: int, number: int) -> Block:
    begin = lines.start_of(position)
    first = lines.at(position)
    frames: list[str] = []
    for line in lines.back(position, STACK_LINES):
        if CPP_HEADER in line.text:
            begin, first = line.start, line
            break
        if SUMMARY in line.text or is_header(line.text) or _NEXT.match(line.text):
            frames.clear()
            break
        frames.append(line.text.strip())
    if begin == lines.start_of(position):
        frames.clear()
    end, last = _summary_end(lines, position)
    return Block(
        number,
        begin,
        end,
        cpp_stack="\n".join(reversed(frames)),
        first_line=first.number,
        last_line=last,
    )


def _summary_end(lines: Lines, position: int) -> tuple[int, int]:
    """Blank lines may stand inside; a signal block or the next log line ends it."""
    end, number, blank, seen = lines.end_of(position) + 1, lines.at(position).number, 0, False
    for count, line in enumerate(lines.onward(position)):
        text = line.text.strip()
        if count and (_NEXT.match(line.text) or is_header(text) or SUMMARY in text):
            break
        if text:
            blank = 0
            end, number = lines.end_of(line.start) + 1, line.number
            seen = seen or (count > 0 and not text.startswith("---"))
        else:
            blank += 1
        if count > SUMMARY_LINES or (seen and blank >= 2) or "[SignalInfo:" in text:
            break
    return end, number


def _continues(lines: Lines, earlier: Block, later: Block) -> bool:
    """An `EnforceNotMet:` traceback and the summary below it say one thing."""
    if later.tracebacks or not earlier.tracebacks:
        return False
    raised = earlier.tracebacks[-1]
    near = lines.buffer.count(b"\n", earlier.end, max(later.begin, earlier.end)) <= 4
    return near and (not raised.message or "NotMet" in raised.type or SUMMARY in raised.message)


def _join(earlier: Block, later: Block) -> Block:
    earlier.end, earlier.last_line = later.end, later.last_line
    earlier.cpp_stack = later.cpp_stack
    return earlier
