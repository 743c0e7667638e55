"""The plain view: launcher lines on stderr in Paddle's style, rank 0's log on stdout."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import BinaryIO, TextIO

from pdtriage.launch.console.event_lines import invitation, lines_of
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.supervise.events import (
    Configured,
    Finished,
    Invited,
    LaunchEvent,
    Planned,
    Reforming,
    Restarting,
    Started,
)
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_CHUNK = 1 << 20


class Console:
    """Shows a launch the way people know it from Paddle's launcher."""

    beat_seconds: float | None = 0.1

    def __init__(
        self,
        language: Language = "en",
        *,
        lines: TextIO | None = None,
        log: BinaryIO | None = None,
    ) -> None:
        self.language = language
        self._lines = sys.stderr if lines is None else lines
        self._log = sys.stdout.buffer if log is None else log
        self._flags = LaunchFlags()
        self._followed: int | None = None
        self._alone = False

    def notice(self, event: LaunchEvent) -> None:
        if isinstance(event, Configured):
            self._flags = event.flags
        elif isinstance(event, Invited):
            self._write(invitation(event.command).in_(self.language))
        elif isinstance(event, Planned):
            self._alone = len(event.plan.processes) == 1
        elif isinstance(event, Started):
            self._follow(event)
        elif isinstance(event, (Restarting, Reforming, Finished)):
            self._stop_following()
        self.debug(event)
        for level, text in lines_of(event, self._flags):
            self._say(level, text.in_(self.language) if isinstance(text, Text) else text)

    def debug(self, event: LaunchEvent) -> None:
        """What only `--log_level DEBUG` shows of an event."""
        if self._flags.log_level.upper() == "DEBUG":
            from pdtriage.launch.console.debug_lines import debug_lines  # few launches need it

            for text in debug_lines(event):
                self._say("DEBUG", text.in_(self.language))

    def beat(self) -> None:
        """Pass on what the followed process wrote since the last time."""
        if self._followed is None:
            return
        while chunk := os.read(self._followed, _CHUNK):
            try:
                self._log.write(chunk)
                self._log.flush()
            except (OSError, ValueError):
                # The reader of our output went away (`| head`); the job goes on without it.
                _silence(self._log)
                os.close(self._followed)
                self._followed = None
                return

    def _say(self, level: str, text: str) -> None:
        wanted = self._flags.log_level.upper()
        if wanted in _LEVELS and _LEVELS.index(level) < _LEVELS.index(wanted):
            return
        moment = time.time()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
        self._write(f"LAUNCH {level} {stamp},{int(moment % 1 * 1000):03d} {text}\n")

    def _write(self, text: str) -> None:
        try:
            self._lines.write(text)
            self._lines.flush()
        except (OSError, ValueError):
            # A closed terminal must not end the job before its children are ended properly.
            _silence(self._lines)

    def _follow(self, started: Started) -> None:
        process = started.process
        shown = self._alone or (process.role == "worker" and process.local_rank == 0)
        if not shown or process.log is None or self._flags.quiet:
            return
        if self._flags.launcher == "paddle":
            return
        self._followed = os.open(os.path.join(started.folder, process.log), os.O_RDONLY)
        os.lseek(self._followed, process.offset, os.SEEK_SET)

    def _stop_following(self) -> None:
        self.beat()
        if self._followed is not None:
            os.close(self._followed)
            self._followed = None


def print_refusal(refusal: UserError, language: Language, stream: TextIO | None = None) -> None:
    target = sys.stderr if stream is None else stream
    with contextlib.suppress(OSError, ValueError):
        target.write(f"pdtriage run: {refusal.text.in_(language)}\n")
        target.flush()


def _silence(stream: TextIO | BinaryIO) -> None:
    """Let what is still buffered go nowhere, or the interpreter's last flush fails with 120."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
