"""The terminal: a log above, one status line below it that never mixes with the log."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Sequence
from typing import BinaryIO, TextIO

from pdtriage.live.log_follower import Standing
from pdtriage.live.terminal import Cleaner, cleaned, uncoloured
from pdtriage.support.language import Language, Text
from pdtriage.support.text_width import columns, cut

_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_WIPE = "\r\x1b[2K"
_UP = "\x1b[A"


class Plain:
    """Pipes and files: bytes as they are, no control codes, no status."""

    def __init__(self, out: BinaryIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def log(self, raw: bytes) -> None:
        _write_bytes(self._out, raw)

    def line(self, text: str) -> None:
        _write_text(self._err, text)

    def status(self, text: str) -> None:
        """Nothing: a file does not need to know how it stands now."""

    def close(self) -> None:
        """Nothing is left behind."""


class Terminal:
    """A terminal on standard error, perhaps also on standard output.

    The status line is wiped before anything is printed. Where the log's last line is unfinished
    (a progress bar), the status stands below it, and the line is drawn again when it goes on.
    """

    def __init__(self, out: BinaryIO, err: TextIO, *, log_here: bool, color: bool) -> None:
        self._out = out
        self._err = err
        self._log_here = log_here
        self._color = color
        self._cleaner = Cleaner()
        self._unfinished = ""
        self._shown = ""

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
        _write_text(self._err, cleaned(text))

    def status(self, text: str) -> None:
        width = self._width()
        text = cut(text, width - 1)
        hidden = columns(uncoloured(self._unfinished)) >= width
        if text == self._shown or hidden:
            return
        self._wipe()
        if not text:
            return
        self._shown = text
        below = "\n" if self._unfinished else ""
        _write_text(self._err, f"{below}{_RESET}{self._dimmed(text)}")

    def close(self) -> None:
        self._wipe()
        if self._unfinished:
            self._unfinished = ""
            _write_text(self._err, "\n")
        if self._color:
            _write_text(self._err, _RESET)

    def _wipe(self) -> None:
        if not self._shown:
            return
        self._shown = ""
        again = f"{_UP}{_WIPE}{self._unfinished}" if self._unfinished else ""
        _write_text(self._err, f"{_WIPE}{again}")

    def _dimmed(self, text: str) -> str:
        return f"{_DIM}{text}{_RESET}" if self._color else text

    def _width(self) -> int:
        try:
            return max(20, os.get_terminal_size(self._err.fileno()).columns or 80)
        except (OSError, ValueError):
            return 80


Screen = Plain | Terminal


def screen_for(out: BinaryIO, err: TextIO) -> Screen:
    """What these two streams can show."""
    if not _is_tty(err) or os.environ.get("TERM", "dumb") == "dumb" or _is_pipe(out):
        return Plain(out, err)
    return Terminal(out, err, log_here=_is_tty(out), color=not os.environ.get("NO_COLOR"))


def status_text(
    standings: Sequence[Standing], alive: int, started: int, warnings: int, language: Language
) -> str:
    """`4/4 ranks · step 120 (slowest rank 3: 118) · last line 2 s ago · 1 warning`."""
    parts = [Text(f"{alive}/{started} alive", f"存活 {alive}/{started}").in_(language)]
    steps = [s for s in standings if s.step is not None]
    if steps:
        parts.append(_steps(steps, language))
    if standings:
        age = int(time.monotonic() - max(s.heard for s in standings))
        parts.append(Text(f"last line {_span(age)} ago", f"{_span(age)} 前有输出").in_(language))
    if warnings:
        plural = "s" if warnings > 1 else ""
        parts.append(Text(f"{warnings} warning{plural}", f"{warnings} 条警告").in_(language))
    return " · ".join(parts)


def _steps(steps: list[Standing], language: Language) -> str:
    def place(standing: Standing) -> tuple[int, int]:
        return (standing.epoch or 0, standing.step or 0)

    ahead, behind = max(steps, key=place), min(steps, key=place)
    epochs = len({standing.epoch for standing in steps}) > 1
    shown = _step(ahead, epochs)
    if place(ahead) == place(behind):
        return shown
    slow = f"{behind.name}: {_step(behind, epochs)}"
    return Text(f"{shown} (slowest {slow})", f"{shown}（最慢 {slow}）").in_(language)


def _step(standing: Standing, epochs: bool) -> str:
    """Epochs are told only where ranks differ in them."""
    return f"{f'epoch {standing.epoch} ' if epochs else ''}step {standing.step}"


def _span(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    return (
        f"{minutes} min {seconds:02d} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )


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
        _silence(stream)


def _write_text(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        _write_text(stream, text.encode(encoding, "replace").decode(encoding))
    except (OSError, ValueError):
        _silence(stream)


def _silence(stream: BinaryIO | TextIO) -> None:
    """The reader went away (`| head`, a closed terminal): the job goes on without it."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
