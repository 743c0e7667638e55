"""Python tracebacks: chains, threads, groups, syntax errors, and writers in each other's way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.model import Frame
from pdtriage.scan.lines import Line, Lines
from pdtriage.scan.traceback_lines import (
    EXCEPTION_LINE,
    FRAME_LINE,
    STEP,
    depth_of,
    exception_in,
    frame_of,
    looks_like_log,
    says_it_cannot_begin,
)
from pdtriage.support.lazy_regex import lazy_compile

HEADER = "Traceback (most recent call last)"
FOLDED = HEADER + r":\n"
"""A traceback within a message that was printed by `repr`: its line breaks are escaped."""
MOST_LINES = 600
MOST_FOREIGN = 25
"""So many lines of other writers may stand between two lines of one traceback."""
MESSAGE_LINES = 12
LONGEST_PREFIX = 200
"""Of what a logger writes before a line."""
CUT_LINES, CUT_BYTES = 4, 1 << 14
"""So late may the first frame stand in a log whose beginning was cut off inside a traceback; below
these lines, up to these bytes, in a text that was pasted together, if nothing interrupts it."""

_DRAWN_HEADER = f"─ {HEADER} ─"
_DRAWN = ("│", "╰", "├", "└")
"""Rich, and with it typer, draws a box around frames and code; the exception stands below it."""
_DRAWN_FRAME = lazy_compile(
    r"^│ +(?P<file>(?:/|[A-Za-z]:[\\/]|<)[^│]{0,400}?):(?P<line>\d+) in (?P<function>[^\s│]+)"
)
_REPEATED = lazy_compile(r"^\s*\[Previous line repeated \d+ more times?\]")
_MARGIN = lazy_compile(r"^\s*(?:[|+]\s?)+-*\s?\d*\s?-*")
_IGNORED = (
    *("Exception ignored ", "--- Logging error ---", "Error in atexit._run_exitfuncs"),
    *("exception was never retrieved", "future: <Task finished ", "future: <Future finished "),
)
"""Below such a line stands what Python could not raise: the process goes on as if nothing was."""
_HANDLING = "During handling of the above exception"
_GLUE = (
    f"{_HANDLING}, another exception occurred",
    "The above exception was the direct cause of the following exception",
)
_NESTED = lazy_compile(
    r"(?m)with message:\s*$|Original Traceback|\bTraceback of\b|^\s*The original"
)
_LIBRARY = lazy_compile(
    r"site-packages|dist-packages|[/\\]lib(?:64)?[/\\]python\d|^<|^(?:threading|runpy|queue|socket|"
    r"subprocess|selectors|ssl|json|pickle)\.py$|[/\\]paddle[/\\](?:fluid|base|distributed|nn|io|"
    r"hapi|optimizer|tensor|framework|static|jit|amp)[/\\]"
)
_BETWEEN_RANKS = lazy_compile(
    r"[/\\]paddle\w{0,20}[/\\](?:.{0,60}[/\\])?(?:distributed|fleet|ps)[/\\]"
)
_CLIENT = lazy_compile(
    r"[/\\](?:urllib3?|requests|http|httpx|aiohttp|ftplib|smtplib|redis|pymongo|pymysql|psycopg2?"
    r"|boto3|botocore|s3transfer|minio|oss2|huggingface_hub|wandb|mlflow)(?:[/\\]|\.py$)"
)
"""What talks to services, as ranks do not among each other."""
_ENDPOINT = lazy_compile(r"\b(?:\d{1,3}\.){3}\d{1,3}:\d{2,5}\b")


class Traceback:
    """One `Traceback …` with its frames and the exception it ends with."""

    def __init__(self, header: Line, thread: str | None = None, chained: bool = False) -> None:
        """`chained` says that it continues the chain of the traceback before it."""
        self.header = header
        self.thread = thread
        self.chained = chained
        self.frames: list[Frame] = []
        self.type = ""
        self.message = ""
        self.raised: Line | None = None  # names the exception; the log may break off before it
        self.last: Line | None = None
        self._shown = ""  # the last line of the message, as it stands there
        self.in_handler = False
        """Raised while the one before was handled: what that one had called is not its stack."""
        self.code = ""
        """What the last frame did, where it is quoted."""

    def end(self, line: Line, raised: re.Match[str]) -> None:
        """Ends the traceback with the line that names the exception."""
        self.raised = self.last = line
        self.type, self.message = raised["type"], (raised["message"] or "").strip()
        self._shown = line.text

    def go_on(self, line: Line) -> None:
        """Adds a further line of the message; a narrow terminal may have broken it there."""
        gap = "\n"
        if self.is_drawn and (self._shown[-1:].isspace() or len(self._shown) >= self._width):
            gap = " " if self._shown[-1:].isspace() else ""
        self.message += gap + line.text.strip()
        self.last, self._shown = line, line.text

    def unfold(self, line: Line, text: str) -> None:
        """Takes in a line whose message holds the traceback of another process, folded by `repr`.

        What that one raised is what happened; its frames are the deepest.
        """
        self.raised = self.last = line
        parts = _unfold(text)
        self.frames += [frame_of(found) for part in parts[1:] if (found := FRAME_LINE.match(part))]
        named = _raised_in([text, *parts[1:]])
        if named:
            self.type, self.message = named[-1]["type"], (named[-1]["message"] or "").strip()

    @property
    def is_drawn(self) -> bool:
        """Whether rich drew it, which breaks what is longer than a line of the terminal."""
        return _DRAWN_HEADER in self.header.text

    @property
    def _width(self) -> int:
        return len(self.header.text.strip())

    @property
    def unbroken(self) -> str:
        """What was raised, where it was drawn over several lines; else nothing."""
        broken = self.is_drawn and self.raised is not None and self.raised is not self.last
        return f"{self.type}: {self.message}" if broken else ""

    @property
    def stack(self) -> str:
        return "\n".join(f"{f.file} in {f.function}" for f in self.frames)

    @property
    def is_uncaught(self) -> bool:
        """Whether it goes down to the main program of a process, which Python itself prints so.

        One that a thread, a worker process or a handler prints begins where that one stands.
        """
        if self.raised is None or self.thread is not None or not self.frames:
            return False
        first, header = self.frames[0], self.header.text
        if not header.startswith(HEADER) and not _follows_unfinished(header):
            # a syntax error that Python met in the main program
            return header.startswith('  File "') and not first.function
        return first.function == "<module>" and not first.file.startswith("<")

    @property
    def is_of_a_command(self) -> bool:
        """Whether `python -c` raised it: no rank is started so, but helpers of ranks are."""
        return bool(self.frames) and all(frame.file == "<string>" for frame in self.frames)

    @property
    def is_the_programs_own(self) -> bool:
        """Whether the program raised it by itself, or a client of some service that it called.

        Ranks have nothing to do with that, whatever it says of connections; but an endpoint that
        the program names may be another process of the job.
        """
        if not self.frames or any(_BETWEEN_RANKS.search(frame.file) for frame in self.frames):
            return False
        if self.is_of_a_client:
            return True
        raised = self.code.startswith("raise ") and not _LIBRARY.search(self.frames[-1].file)
        return raised and not _ENDPOINT.search(self.message)

    @property
    def is_of_a_client(self) -> bool:
        """Whether what talks to some service raised it, as ranks do not among each other."""
        return any(_CLIENT.search(frame.file) for frame in self.frames)

    @property
    def user_frame(self) -> Frame | None:
        """The deepest frame that is the user's own code rather than a library's."""
        for frame in reversed(self.frames):
            if not _LIBRARY.search(frame.file):
                return frame
        return None


def _follows_unfinished(header: str) -> bool:
    """Whether it stands right behind a progress bar or dots; a logger's prefix ends otherwise."""
    before, found, _ = header.partition(HEADER)
    return bool(found and before) and not before[-1].isspace() and before[-1] not in ":|->"


def is_ignored(lines: Lines, tracebacks: Sequence[Traceback], asked: Traceback) -> bool:
    """Whether Python only tells of the exception, as nobody is there who could catch it."""
    ignored = False
    for traceback in tracebacks:
        if not traceback.chained:
            above = next(iter(lines.back(traceback.header.start, 1)), None)
            # A progress bar or dots without a newline may stand before it.
            ignored = above is not None and any(words in above.text for words in _IGNORED)
        if traceback is asked:
            return ignored
    return False


def without_folded_frames(text: str) -> str:
    """What a line says, and what was raised in the traceback that is folded into it.

    Of a line that names no exception itself, as a logger writes it, what was raised alone.
    """
    if FOLDED not in text:
        return text
    head, _, folded = text.partition(FOLDED)
    raised = [found[0] for found in _raised_in(_unfold(folded))]
    if raised and not EXCEPTION_LINE.match(head):
        return raised[-1]
    return " … ".join([head.removesuffix("\\n"), *raised[-1:]])


def _unfold(text: str) -> list[str]:
    return text.replace("\\'", "'").replace('\\"', '"').split("\\n")


def _raised_in(parts: Sequence[str]) -> list[re.Match[str]]:
    """What lines of a folded traceback name as raised; right below its frames any name may be."""
    found: list[re.Match[str]] = []
    below, code = False, ""
    for part in parts:
        if FRAME_LINE.match(part):
            below, code = True, ""
        elif below and part[:1].isspace():
            code = part if any(map(str.isalpha, part)) else code  # no row of carets
        else:
            raised = EXCEPTION_LINE.match(part.strip()) or exception_in(part, below, code)
            found += [raised] if raised else []
            below = False
    return found


def _logged_prefix(before: str) -> re.Pattern[str] | None:
    """What stands before a header, with other numbers in it, as the next second has."""
    if not before.strip() or len(before) > LONGEST_PREFIX:
        return None
    return re.compile("^" + re.sub(r"\d+", r"\\d+", re.escape(before.rstrip())) + " ?")


def is_header(text: str) -> bool:
    return HEADER in text and "C++ " + HEADER not in text


def read_tracebacks(lines: Lines, position: int) -> tuple[list[Traceback], int]:
    """The tracebacks that begin at a header, chained ones included, and where they end.

    Two writers may interleave line by line: a header inside an open traceback opens a second one;
    frames go to the innermost open one, and an exception line closes it.
    """
    return _read_from(lines, position, _TracebackReader())


def _read_from(
    lines: Lines, position: int, reader: _TracebackReader
) -> tuple[list[Traceback], int]:
    end = position
    for line in lines.onward(position):
        if not reader.take(line):
            break
        end = line.start
    return reader.finish(), lines.end_of(end) + 1


def syntax_error(lines: Lines, position: int) -> Traceback | None:
    """A `SyntaxError` at start-up has no header: file and line stand just before it."""
    line = lines.at(position)
    raised = EXCEPTION_LINE.match(line.text.strip())
    if raised is None:
        return None
    for earlier in lines.back(position, 6):
        if is_header(earlier.text):
            return None
        found = FRAME_LINE.match(earlier.text)
        if found:
            traceback = Traceback(earlier)
            traceback.frames.append(frame_of(found))
            traceback.end(line, raised)
            return traceback
    return None


def headless_tracebacks(lines: Lines, position: int) -> tuple[list[Traceback], int] | None:
    """Tracebacks of which the first has no header, as the log begins in its midst; their end."""
    if position > CUT_BYTES:
        return None
    first = lines.at(position)
    frame = FRAME_LINE.match(first.text)
    if frame is None or not frame["function"]:
        return None
    found, end = _read_from(lines, first.start, _TracebackReader(first=first))
    raised = found[0].raised
    if raised is None:
        return None
    whole = _is_beginning(lines, first) or _is_uninterrupted(lines, first, raised)
    return (found, end) if whole else None


def _is_beginning(lines: Lines, first: Line) -> bool:
    """Whether nothing but the rest of quoted code stands above the first frame."""
    above = [] if first.number > CUT_LINES else lines.back(first.start, CUT_LINES)
    return first.number <= CUT_LINES and all(
        not line.text.strip() or line.text[:1].isspace() for line in above
    )


def _is_uninterrupted(lines: Lines, first: Line, raised: Line) -> bool:
    """Whether only frames and their code lead to the exception: call stacks that Paddle 1.x quotes
    end with a blank line, and what a thread does is told without an exception."""
    for line in lines.onward(first.start):
        if line.number >= raised.number:
            return True
        if line.writer == first.writer and not (line.text[:1].isspace() and line.text.strip()):
            return False
    return False


class _TracebackReader:
    """Takes lines one by one; says when the block is over."""

    def __init__(self, first: Line | None = None) -> None:
        """`first` is the first line of a traceback that has no header."""
        self.done: list[Traceback] = []
        self._open: list[Traceback] = [Traceback(first)] if first else []
        self._glue = ""
        self._in_thread: str | None = None
        self._foreign = 0
        self._blank = 0
        self._taken = 0
        self._after_frame = False
        self._code = ""
        """The last line of code that was quoted."""
        self._grouped = False
        self._margin = max(0, depth_of(first.text) - STEP) if first else 0
        self._writer: int | None = None
        self._logged: re.Pattern[str] | None = None
        """What a logger that was given the lines one by one wrote before each of them."""

    def take(self, line: Line) -> bool:
        self._taken += 1
        if self._taken > MOST_LINES:
            return False
        if self._taken == 1:
            self._writer = line.writer
        elif line.writer != self._writer:
            return self._skip_foreign()
        line = self._bare(line)
        text = line.text
        if FOLDED in text:
            self._take_folded(line, text)
            return True
        if is_header(text):
            if self._has_ended(line):
                return False
            self._start(line)
            return True
        if text.strip().startswith(_GLUE):
            self._glue, self._blank, self._foreign = text.strip(), 0, 0
            return True
        if self._open and text.startswith(_DRAWN) and self._open[-1].is_drawn:
            self._take_drawn(line)
            return True
        body = _MARGIN.sub("", text) if self._grouped else text
        if self._open:
            return self._take_inside(line, body)
        if not self.done:  # `Exception in thread …` was seen, its header is still to come
            return self._note_thread(text) or self._skip_foreign()
        return self._take_between(line, text)

    def _bare(self, line: Line) -> Line:
        """The line without what a logger wrote before it, and the margin of a pasted text."""
        text = line.text if self._logged is None else self._logged.sub("", line.text, count=1)
        if self._margin:
            text = text[: self._margin].lstrip() + text[self._margin :]
        return line if text is line.text else line._replace(text=text)

    def finish(self) -> list[Traceback]:
        """All that was read; one without an exception line was cut off."""
        for left in self._open:
            left.last = left.last or left.header
        return sorted([*self.done, *self._open], key=lambda t: t.header.number)

    def _has_ended(self, line: Line) -> bool:
        """Whether what is raised now has nothing to do with this one: its process had ended, or it
        was caught and words of another kind stand between them."""
        if self._open or self._glue or self._grouped or not self.done:
            return False
        last = self.done[-1]
        apart = last.raised is not None and line.number > last.raised.number
        return (last.is_uncaught or apart) and not _is_nested(last, line)

    def _start(self, line: Line) -> None:
        before = line.text[: line.text.index(HEADER)]
        self._logged = _logged_prefix(before)
        self._margin = 0 if before.strip() else len(before)  # a text may be pasted indented
        self._grouped = self._grouped or "Exception Group" in before
        nested = bool(self.done) and not self._open and _is_nested(self.done[-1], line)
        chained = bool(self._glue) or nested or (self._grouped and bool(self.done))
        traceback = Traceback(header=line, thread=self._in_thread, chained=chained)
        traceback.in_handler = self._glue.startswith(_HANDLING)
        self._open.append(traceback)
        self._glue, self._in_thread, self._foreign, self._after_frame = "", None, 0, False

    def _take_folded(self, line: Line, text: str) -> None:
        current = (
            self._open.pop() if self._open else Traceback(line, self._in_thread, bool(self._glue))
        )
        current.unfold(line, text)
        self.done.append(current)
        self._glue, self._in_thread, self._foreign, self._blank = "", None, 0, 0

    def _take_inside(self, line: Line, text: str) -> bool:
        current = self._open[-1]
        frame = FRAME_LINE.match(text)
        if frame:
            current.frames.append(frame_of(frame))
            current.last, current.code = line, ""
            self._foreign, self._after_frame, self._code = 0, True, ""
            return True
        if self._note_thread(text):
            return True
        sure = self._foreign == 0 and bool(current.frames)
        raised = exception_in(text, sure, self._code if self._after_frame else "")
        if raised:
            current.end(line, raised)
            self.done.append(self._open.pop())
            self._foreign = self._blank = 0
            return True
        if (self._after_frame and text[:1].isspace()) or _REPEATED.match(text):
            current.last = line
            self._code = text if any(map(str.isalpha, text)) else self._code  # no row of carets
            current.code = current.code or text.strip()
            return True
        self._after_frame = False
        return not text.strip() or self._skip_foreign()

    def _take_drawn(self, line: Line) -> None:
        frame = _DRAWN_FRAME.match(line.text)
        if frame:
            self._open[-1].frames.append(frame_of(frame))
        self._open[-1].last = line

    def _take_between(self, line: Line, text: str) -> bool:
        """Takes a line below an exception: its message may go on, a chain may follow."""
        stripped = text.strip()
        if self._note_thread(text):
            return not self._has_ended(line)
        if not stripped:
            self._blank += 1
            return self._blank <= (4 if self._glue else 2)
        if self._grouped and _MARGIN.match(text):
            raised = exception_in(_MARGIN.sub("", text), sure=False)
            if raised:  # a member of the group without a traceback of its own
                member = Traceback(line, chained=True)
                member.end(line, raised)
                self.done.append(member)
            return True
        last = self.done[-1]
        assert last.raised is not None
        if self._blank or line.number - last.raised.number > MESSAGE_LINES:
            return False
        if last.is_uncaught and says_it_cannot_begin(text):
            return False  # the next process
        deep = text[:2].isspace() or text[:1] == "\t"  # some begin each line with one space
        if deep or not looks_like_log(text):
            last.go_on(line)
            return True
        return False

    def _note_thread(self, text: str) -> bool:
        found = re.search(r"Exception in thread ([^\s:]+(?: \([^)]*\))?):?", text)
        if found:
            self._in_thread = found[1]
        return bool(found)

    def _skip_foreign(self) -> bool:
        self._foreign += 1
        return self._foreign <= MOST_FOREIGN and bool(self._open or self._glue or self._in_thread)


def _is_nested(outer: Traceback, line: Line) -> bool:
    if outer.last is None or line.number - outer.last.number > 3:
        return False
    return bool(_NESTED.search(outer.message))
