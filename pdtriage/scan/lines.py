"""Lines of a byte buffer, decoded one at a time and only where somebody asks."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence

from pdtriage.knowledge.signature import Format
from pdtriage.scan.patterns import LineKind, Shapes
from pdtriage.support.fast_namedtuple import NamedTuple

CR = ord("\r")
"""`CR in raw` is quick; `b"\\r" in raw` first asks whether that is a number: slower."""
LONGEST = 8_000
"""A line is decoded up to this many bytes around the place of interest."""
SHOWN = 2_000
NEAR = 1 << 10
"""Bytes to the place asked for last from which its line number is counted on; where the next one is
further away, its number is remembered."""
SHORT_TAIL = 1 << 8
"""Bytes of a file's end in which mostly something stands."""
TAIL, TAIL_LINES = 1 << 14, 2
"""Bytes of it that are looked at, and how many of its lines are kept."""
PICTURE = TAIL >> 1
"""Bytes that a picture drawn by nvidia-smi has at most."""
LOOKED_AT, LOOKED_AT_OF_CONSOLE = 30, 60
"""Lines of a file's beginning that are searched for a prefix; one in five may have none. Before the
lines of its ranks, a wrapper such as mpirun may have much to say itself."""
OWN_WORDS = 6
"""Lines of a wrapper's own that a short file may hold in any case, up to half of them: what mpirun
says of the end is as long as what the rank said."""
PROBED = 1 << 11
"""Bytes of it that mostly suffice to see that there is none."""

_CONTROL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[@-Z\\-_]"
)
RANK_DIGITS = 7
_OWN_RANK = re.compile(rf"\[rank ?(\d{{1,{RANK_DIGITS}}})\]: ?")
"""Before the lines of an exception only, so that no file is seen to have it as its prefix."""
_DATE = re.compile(rb"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]{3,4})? \d{4}")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Line(NamedTuple):
    number: int
    """1-based, in the file."""
    start: int
    """Where it begins in the buffer."""
    text: str
    """Clean text: no control characters, no carriage returns, no line prefix of a wrapper."""
    writer: int | None = None
    """The rank its prefix names."""
    stamp: str = ""
    """The time its prefix tells: one clock for all that the wrapper wrapped."""


def readable_line(raw: bytes) -> str:
    """Text fit for patterns and for people; what cannot be decoded is replaced."""
    text = raw.decode("utf-8", "replace")
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _CONTROL_SEQUENCE.sub("", text)
    return _CONTROL.sub("", text)


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def visible_part(raw: bytes, at: int | None = None) -> bytes:
    """The part of a physical line a reader sees: a carriage return overwrites what was before.

    With `at` the part around that byte is taken, whatever was overwritten later.
    """
    if CR not in raw and len(raw) <= LONGEST:
        return raw.rstrip(b"\n")
    raw = raw.rstrip(b"\r\n")
    begin, end = 0, len(raw)
    if CR in raw:
        if at is None:
            begin = raw.rfind(b"\r") + 1
        else:
            begin = raw.rfind(b"\r", 0, at) + 1
            end = raw.find(b"\r", at)
            end = len(raw) if end < 0 else end
    if end - begin > LONGEST:
        if at is not None and at - begin > LONGEST // 4:
            begin = at - LONGEST // 4
        end = min(end, begin + LONGEST)
    return raw[begin:end]


def count_newlines(part: bytes) -> int:
    """How many; deleting them is five times as fast as `count`, which compares byte by byte."""
    return len(part) - len(part.replace(b"\n", b""))


def near_start(buffer: bytes, position: int) -> int:
    """Where the line around a position begins, but no further back than a line is read."""
    low = max(0, position - LONGEST)
    return max(low, buffer.rfind(b"\n", low, position) + 1)


def near_end(buffer: bytes, position: int) -> int:
    """Where the line before a position ends, but no further on than a line is read."""
    high = min(len(buffer), position + LONGEST)
    end = buffer.find(b"\n", max(0, position - 1), high)
    return high if end < 0 else end + 1


def last_start(buffer: bytes, prefix: Prefix | None = None) -> int:
    """Where the last line begins that says something, behind the prefix of a wrapper."""
    end = _end_of_text(buffer)
    start = last = buffer.rfind(b"\n", 0, end) + 1
    for _ in range(4 * TAIL_LINES if prefix is not None else 0):
        if prefix is None or prefix.strip(readable_line(buffer[start:end]))[0].strip():
            return start
        start, end = buffer.rfind(b"\n", 0, max(0, start - 1)) + 1, max(0, start - 1)
    return last


def _end_of_text(buffer: bytes) -> int:
    end = buffer[-SHORT_TAIL:]
    end = buffer if end.isspace() else end
    at = len(buffer) - len(end) + len(end.rstrip())
    return _above_picture(buffer, at) if buffer.endswith((b"|", b"+"), 0, at) else at


def _above_picture(buffer: bytes, end: int) -> int:
    """Whoever looks at a job that hangs pastes what nvidia-smi draws below the log."""
    low, at = max(0, end - PICTURE), end
    while at > low:
        start = buffer.rfind(b"\n", low, at) + 1
        line = buffer[start:at].strip()
        drawn = line[:1] in (b"|", b"+") and line[-1:] in (b"|", b"+")
        if line and not drawn and not _DATE.fullmatch(line):
            break
        at = start - 1
    is_picture = at > low and b"MiB / " in buffer[at:end]
    return low + len(buffer[low:at].rstrip()) if is_picture else end


def tail_of(buffer: bytes, prefix: Prefix | None = None) -> tuple[str, ...]:
    """The last lines that say something, for people; without the prefix of a wrapper."""
    texts: list[str] = []
    low, end = max(0, len(buffer) - TAIL), _end_of_text(buffer)
    for _ in range(4 * TAIL_LINES):
        if len(texts) == TAIL_LINES or end <= low:
            break
        start = max(low, buffer.rfind(b"\n", low, end) + 1)
        text = readable_line(visible_part(buffer[start:end]))
        if prefix is not None:
            text = prefix.strip(text)[0]
        if text := shorten(text.rstrip()):
            texts.append(text)
        end = start - 1
    return tuple(reversed(texts))


class Lines:
    """A buffer seen as numbered lines; `prefix` is a compiled line prefix of a wrapper, if any."""

    def __init__(
        self, buffer: bytes, number: int, prefix: Prefix | None = None, numbered_at: int = 0
    ) -> None:
        """`number` is that of the line at the position `numbered_at`."""
        self.buffer = buffer
        self._at, self._number = numbered_at, number  # of the place asked for last
        self._places = [numbered_at]  # where the number is remembered, rising, and the numbers
        self._numbers = [number]
        self._prefix = prefix
        self._known: dict[int, Line] = {}  # by where they begin

    def number_end(self, breaks: int | None = None) -> None:
        """Remember the number there at once; a copy for counting is spared where all is counted.

        `breaks` are the count_newlines up to there, if somebody knows.
        """
        begin, number = self._places[-1], self._numbers[-1]
        if begin == len(self.buffer):
            return
        if breaks is None:
            breaks = count_newlines(self.buffer[begin:] if begin else self.buffer)
        self._places.append(len(self.buffer))
        self._numbers.append(number + breaks)

    def number_at(self, start: int) -> int:
        """Line number of a position, counted from a place near by where it is known."""
        at, number = self._at, self._number
        if at <= start < at + NEAR:
            number += self.buffer.count(b"\n", at, start)
        elif at - NEAR < start < at:
            number -= self.buffer.count(b"\n", start, at)
        else:
            number = self._number_from_known(start)
        self._at, self._number = start, number
        return number

    def _number_from_known(self, start: int) -> int:
        """A line's number, counted from the nearest place that is known, and then known itself."""
        places = self._places
        after = bisect(places, start)
        near = after - 1
        if after == 0 or (after < len(places) and places[after] - start < start - places[near]):
            near = after
        known, number = places[near], self._numbers[near]
        if start < known:
            number -= count_newlines(self.buffer[start:known])
        else:
            number += count_newlines(self.buffer[known:start])
        if abs(start - known) >= NEAR:
            places.insert(after, start)
            self._numbers.insert(after, number)
        return number

    def start_of(self, position: int) -> int:
        return self.buffer.rfind(b"\n", 0, position) + 1

    def end_of(self, position: int) -> int:
        end = self.buffer.find(b"\n", position)
        return len(self.buffer) if end < 0 else end

    def at(self, position: int, exact: bool = False) -> Line:
        """The line around a position; `exact` keeps what a progress bar overwrote there."""
        start = self.start_of(position)
        known = self._known.get(start)
        if known is not None:
            return known
        raw = self.buffer[start : self.end_of(position)]
        return self._line(self.number_at(start), start, raw, position - start if exact else None)

    def onward(self, position: int) -> Iterator[Line]:
        """Lines from the one around `position` on."""
        buffer, known, start = self.buffer, self._known, self.start_of(position)
        size, number = len(buffer), self.number_at(start) if start < len(buffer) else 0
        while start < size:
            end = buffer.find(b"\n", start)
            end = size if end < 0 else end
            line = known.get(start)
            if line is None:
                line = self._line(number, start, buffer[start : min(end, start + 64 * LONGEST)])
            yield line
            start, number = end + 1, number + 1

    def back(self, position: int, most: int) -> Iterator[Line]:
        """Up to `most` lines before the one around `position`, nearest first."""
        buffer, known, start = self.buffer, self._known, self.start_of(position)
        number = self.number_at(start) if start and most else 0
        for _ in range(most):
            if start == 0:
                return
            previous = buffer.rfind(b"\n", 0, start - 1) + 1
            number -= 1
            line = known.get(previous)
            if line is None:
                line = self._line(number, previous, buffer[previous : start - 1])
            yield line
            start = previous

    def _line(self, number: int, start: int, raw: bytes, at: int | None = None) -> Line:
        """One that looks the same whatever part of it is asked for is remembered: what stands
        around an error is read by its block, for its time and as its context."""
        line = self.line(number, start, visible_part(raw, at))
        if len(raw) <= LONGEST and CR not in raw:
            self._known[start] = line
        return line

    def line(self, number: int, start: int, raw: bytes) -> Line:
        """The line of which `raw` is the visible part."""
        text = readable_line(raw)
        if self._prefix is None:
            own = _OWN_RANK.match(text) if text.startswith("[rank") else None
            return Line(number, start, text) if own is None else _of_rank(number, start, text, own)
        text, writer, stamp = self._prefix.strip(text)
        if text.startswith("[rank") and (own := _OWN_RANK.match(text)):
            return _of_rank(number, start, text, own)._replace(stamp=stamp)
        return Line(number, start, text, writer, stamp)

    @property
    def are_wrapped(self) -> bool:
        return self._prefix is not None

    def bare(self, raw: bytes) -> bytes:
        """A line as its program wrote it, without its prefix; one that is looked at in parts has
        it still."""
        if self._prefix is None or CR in raw or len(raw) > LONGEST:
            return raw
        return self._prefix.strip(readable_line(raw))[0].encode()

    def text_of(self, raw: bytes, kind: LineKind) -> tuple[str, str, LineKind]:
        """Text and stamp as of a `Line`, and the kind of that text.

        Where things stand in lines that had a prefix is not known.
        """
        text = readable_line(raw)
        if self._prefix is None:
            return text, "", kind
        text, _, stamp = self._prefix.strip(text)
        return text, stamp, LineKind(kind.fits)


class Prefixes:
    """The line prefixes of wrappers that are known, by the [[prefix]] tables."""

    def __init__(self, formats: Sequence[Format]) -> None:
        self._formats = formats
        self._any = _join(formats)
        self._bare = Shapes([form.pattern for form in formats], self._has_none)

    def of_log(self, text: bytes) -> Prefix | None:
        return self._of(text, 1 << 14, LOOKED_AT)

    def of_console(self, text: bytes) -> Prefix | None:
        return self._of(text, 1 << 16, LOOKED_AT_OF_CONSOLE)

    def lines_of(self, passage: bytes) -> list[str]:
        """The lines of a part of a log as clean text, without a prefix that they carry."""
        prefix = self.of_log(passage)
        lines = [
            readable_line(visible_part(raw)) for raw in passage.removesuffix(b"\n").split(b"\n")
        ]
        if prefix is not None:
            lines = [prefix.strip(line)[0] for line in lines]
        return [shorten(line.rstrip()) for line in lines]

    def _of(self, text: bytes, head: int, looked_at: int) -> Prefix | None:
        """The prefix that most of the first lines carry, if any; they stand in the `head` bytes."""
        if self._are_bare(text[:PROBED], looked_at // 5):
            return None
        raws = [raw for raw in text[:head].split(b"\n", looked_at)[:looked_at] if raw.strip()]
        may_miss = max(len(raws) // 5, min(len(raws) // 2, OWN_WORDS))
        bare, table = self._bare, self._bare.table
        if sum([bare[raw.translate(table)] for raw in raws]) > may_miss:
            return None  # each pattern would miss as many
        lines = [readable_line(visible_part(raw)) for raw in raws]
        for pattern in [form.compiled() for form in self._formats] if lines else ():
            if sum(not pattern.match(line) for line in lines) <= may_miss:
                return Prefix(pattern)
        return None

    def _are_bare(self, head: bytes, may_miss: int) -> bool:
        """Whether more lines than that have none of the prefixes: the quick answer for most logs.

        Of whole lines only; a No says nothing.
        """
        bare, table, seen = self._bare, self._bare.table, 0
        for raw in head.split(b"\n", 3 * may_miss)[:-1]:
            seen += bare[raw.translate(table)]
            if seen > may_miss:
                return True
        return False

    def _has_none(self, line: bytes) -> bool:
        text = readable_line(visible_part(line))
        return bool(self._any and text.strip() and not self._any.match(text))


class Prefix:
    """What mpirun, a container runtime or a log collector put before every line."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def strip(self, text: str) -> tuple[str, int | None, str]:
        """The program's own line, the rank and the time that were put before it."""
        # the blank behind it is gone where a line says nothing
        found = self._pattern.match(text) or self._pattern.match(f"{text} ")
        if not found:
            return text, None, ""
        told = found.groupdict()
        rank = told.get("rank")
        number = int(rank) if rank and rank.isdecimal() and len(rank) <= RANK_DIGITS else None
        return text[found.end() :], number, told.get("time") or ""


def _of_rank(number: int, start: int, text: str, own: re.Match[str]) -> Line:
    return Line(number, start, text[own.end() :], int(own[1]))


def _join(formats: Sequence[Format]) -> re.Pattern[str] | None:
    """One pattern for all; None where they cannot stand side by side, or where one is of others and
    may run away."""
    if not all(form.shipped for form in formats):
        return None
    unnamed = [re.sub(r"\(\?P<\w+>", "(?:", form.pattern) for form in formats]
    try:
        return re.compile("|".join(f"(?:{pattern})" for pattern in unnamed))
    except re.error:
        return None
