"""The terminal: logs above, one status line below that never mixes with them.

Logs are bytes of strangers, made fit for a terminal piece by piece as they come. Colours and
carriage returns stay: progress bars need them and they harm nobody. Everything that moves the
cursor elsewhere, sets titles, asks questions or hides text goes.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import stat
from collections.abc import Sequence
from typing import BinaryIO, TextIO

from pdtriage.report.sanitise import inert
from pdtriage.support.text_width import columns, cut

_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_WIPE = "\r\x1b[2K"
_UP = "\x1b[A"
LONGEST_SEQUENCE = 64
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


class PlainScreen:
    """Pipes and files: bytes as they are, no control codes, no status."""

    color = False

    def __init__(self, out: BinaryIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def log(self, raw: bytes) -> None:
        _write_bytes(self._out, raw)

    def line(self, text: str) -> None:
        _write_text(self._err, text)

    def size(self) -> tuple[int, int] | None:
        """None: it has no room for a status."""
        return None

    def status(self, text: str, above: Sequence[str] = ()) -> None:
        """Nothing: a file does not need to know how it stands now."""

    def close(self) -> None:
        """Does nothing: nothing is left behind in a file."""


class TerminalScreen:
    """A terminal on standard error, perhaps also on standard output.

    The status is wiped before anything is printed. Where the log's last line is unfinished
    (a progress bar), the status stands below it, and the line is drawn again when it goes on.
    """

    def __init__(self, out: BinaryIO, err: TextIO, *, log_here: bool, color: bool) -> None:
        self._out = out
        self._err = err
        self._log_here = log_here
        self._color = color
        self._cleaner = LogCleaner()
        self._unfinished = ""
        self._drawn: tuple[str, ...] = ()

    def log(self, raw: bytes) -> None:
        if not self._log_here:
            _write_bytes(self._out, raw)
            return
        text = self._cleaner.feed(raw)
        if not text:
            return
        self._wipe()
        _write_bytes(self._out, text.encode("utf-8", "replace"))
        last = (self._unfinished + text).rpartition("\n")[2]
        self._unfinished = last[last.rfind("\r", 0, len(last) - 1) + 1 :]

    def line(self, text: str) -> None:
        self._wipe()
        if self._unfinished:
            self._unfinished = ""
            text = "\n" + text
        _write_text(self._err, with_colours_only(text))

    @property
    def color(self) -> bool:
        return self._color

    def size(self) -> tuple[int, int] | None:
        """Columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self._err.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        return max(20, columns or 80), rows or 24

    def status(self, text: str, above: Sequence[str] = ()) -> None:
        """One line, and lines that fit as they are above it."""
        width = self._width()
        text = cut(text, width - 1)
        drawn = (*above, text)
        hidden = columns(without_colour(self._unfinished)) >= width
        if drawn == self._drawn or hidden:
            return
        self._wipe()
        if not text:
            return
        self._drawn = drawn
        below = "\n" if self._unfinished else ""
        table = "".join(f"{line}{_RESET if self._color else ''}\n" for line in above)
        _write_text(self._err, f"{below}{_RESET}{table}{self._dimmed(text)}")

    def close(self) -> None:
        self._wipe()
        if self._unfinished:
            self._unfinished = ""
            _write_text(self._err, "\n")
        if self._color:
            _write_text(self._err, _RESET)

    def _wipe(self) -> None:
        if not self._drawn:
            return
        wipe = _WIPE + (_UP + _WIPE) * (len(self._drawn) - 1)
        self._drawn = ()
        again = f"{_UP}{_WIPE}{self._unfinished}" if self._unfinished else ""
        _write_text(self._err, f"{wipe}{again}")

    def _dimmed(self, text: str) -> str:
        return f"{_DIM}{text}{_RESET}" if self._color else text

    def _width(self) -> int:
        size = self.size()
        return size[0] if size else 80


Screen = PlainScreen | TerminalScreen


def screen_for(out: BinaryIO, err: TextIO) -> Screen:
    """What these two streams can show."""
    if not _is_tty(err) or os.environ.get("TERM", "dumb") == "dumb" or _is_pipe(out):
        return PlainScreen(out, err)
    return TerminalScreen(out, err, log_here=_is_tty(out), color=not os.environ.get("NO_COLOR"))


class LogCleaner:
    """One log's bytes to text that cannot steer the terminal; nothing cut in two gets through."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._incomplete = ""

    def feed(self, raw: bytes) -> str:
        text = self._incomplete + self._decoder.decode(raw)
        cut = text.rfind("\x1b", max(0, len(text) - LONGEST_SEQUENCE))
        if cut >= 0 and not _is_whole(text[cut:]):
            text, self._incomplete = text[:cut], text[cut:]
        else:
            self._incomplete = ""
        return with_colours_only(text)


class LineSplitter:
    """A log's bytes to whole lines, for several logs on one screen.

    Of a progress bar only what stands there in the end is a line.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, raw: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + raw).split(b"\n")
        if len(self._rest) > 1 << 16:
            whole.append(self._rest)
            self._rest = b""
        return [_last_drawn(line) for line in whole]

    def flush(self) -> list[bytes]:
        """The unfinished line, when nothing more will come."""
        rest, self._rest = self._rest, b""
        return [_last_drawn(rest)] if rest.strip() else []


def with_colours_only(text: str) -> str:
    """`text` with its colours, line breaks and carriage returns, and without other controls."""
    if text.isprintable():
        return text
    parts: list[str] = []
    at = 0
    for colour in _COLOUR.finditer(text):
        parts += [_clean_plain(text[at : colour.start()]), colour.group()]
        at = colour.end()
    parts.append(_clean_plain(text[at:]))
    return "".join(parts)


def without_colour(text: str) -> str:
    return _COLOUR.sub("", text)


def _clean_plain(text: str) -> str:
    # `inert` makes of a carriage return a blank, so the pieces between them are cleaned alone.
    lines = text.replace("\r\n", "\n").split("\r")
    return "\r".join(inert(line) for line in lines)


def _is_whole(sequence: str) -> bool:
    """Whether an escape sequence that begins here has come to its end."""
    if len(sequence) >= LONGEST_SEQUENCE:
        return True
    if len(sequence) < 2:
        return False
    if sequence[1] == "[":
        return bool(re.match(r"\x1b\[[0-?]*[ -/]*[@-~]", sequence))
    if sequence[1] in "]PX^_":
        return "\x07" in sequence or "\x1b\\" in sequence
    return True


def _last_drawn(line: bytes) -> bytes:
    line = line.rstrip(b"\r")
    return line[line.rfind(b"\r") + 1 :]


def _is_tty(stream: BinaryIO | TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _is_pipe(stream: BinaryIO) -> bool:
    """`| tee` writes to the same terminal as we do, and knows nothing of a status line."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _write_bytes(stream: BinaryIO, raw: bytes) -> None:
    try:
        stream.write(raw)
        stream.flush()
    except (OSError, ValueError):
        _mute(stream)


def _write_text(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        _write_text(stream, text.encode(encoding, "replace").decode(encoding))
    except (OSError, ValueError):
        _mute(stream)


def _mute(stream: BinaryIO | TextIO) -> None:
    """The reader went away (`| head`, a closed terminal): the job goes on without it."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
