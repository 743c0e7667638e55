"""`pdtriage run` as people see it: the launch core's observer, with live view and announcements."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from pdtriage.launch.console.console import Console
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.supervise.events import (
    AllStarted,
    Configured,
    Died,
    Finished,
    Interrupted,
    LaunchEvent,
    Noted,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    Reforming,
    Restarting,
    Started,
    Stopping,
)
from pdtriage.live.log_follower import Ears
from pdtriage.record.schema import PeerRecord, ProcessRecord
from pdtriage.support.language import Language, Text

if TYPE_CHECKING:
    # Imported when all processes have been started.
    from pdtriage.live.hang import Silence
    from pdtriage.live.view import Ranks, Stage

PATIENCE = 30.0
"""Seconds a terminal that takes nothing (stopped, scrolled back) may hold up the end."""
BETWEEN = 3.0
"""The same between two attempts, where a job waits for it."""


class LiveObserver:
    """Launcher lines in the style of Paddle's, the chosen logs, a status line, announcements."""

    beat_seconds: float | None = None
    """Threads of our own beat, so that a slow terminal never slows the loop that decides."""

    def __init__(
        self,
        language: Language = "en",
        *,
        parsers: tuple[Path, ...] = (),
        out: BinaryIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.language = language
        self.ears = Ears(self._announce, parsers)
        self._out = sys.stdout.buffer if out is None else out
        self._err = sys.stderr if err is None else err
        self._console = Console(language, lines=_Lines(self._say))
        self._stage: Stage | None = None
        self._silence: Silence | None = None
        self._note_silence: Callable[[Text], None] | None = None
        self._flags = LaunchFlags()
        self._processes: list[tuple[ProcessRecord, str]] = []
        self._dead = 0
        self._warnings = 0
        self._impatient = False

    def notice(self, event: LaunchEvent) -> None:
        if isinstance(event, Configured):
            self._flags = event.flags
        elif isinstance(event, Started):
            self._started(event)
            return
        elif isinstance(event, PeerSpoke):
            self._peer_spoke(event)
            return
        elif isinstance(event, (Stopping, Interrupted)):
            self.ears.mute()
            self._impatient |= isinstance(event, Interrupted) and event.again
        elif isinstance(event, Died):
            self._dead += 1
            self.ears.died(event.death.pid)
        elif isinstance(event, (PeerSilent, PeerDiffers)):
            self._warnings += 1
        elif isinstance(event, Finished):
            self._finish()
        elif isinstance(event, (Restarting, Reforming)):
            self._begin_again()
        self._console.notice(event)
        if isinstance(event, AllStarted):
            self._note_silence = event.note_silence
            self._go_live()

    def beat(self) -> None:
        """Not needed, see `beat_seconds`."""

    def close(self) -> None:
        """Also when the launch ended without a word: leave no thread and no status line behind."""
        self._close(1.0 if self._impatient else PATIENCE)

    def _close(self, patience: float) -> None:
        self.ears.close()
        if self._stage is not None:
            self._stage.close(patience)
            self._stage = None

    def _started(self, started: Started) -> None:
        self._processes.append((started.process, started.folder))
        self.ears.add(started.process, started.folder)
        if self._flags.launcher == "paddle":
            # It shows its first log itself, on the same terminal; we only speak up.
            if len(self._processes) == 1:
                self.ears.start()
        elif self._stage is not None:
            self._show(started.process, started.folder)

    def _go_live(self) -> None:
        from pdtriage.live.hang import Silence
        from pdtriage.live.status_line import screen_for
        from pdtriage.live.view import Stage

        self._silence = Silence(self._flags.hang_after)
        stage = Stage(screen_for(self._out, self._err), self._status)
        for process, folder in self._processes:
            self._show(process, folder, stage)
        self._stage = stage
        stage.start()
        self.ears.start()

    def _show(self, process: ProcessRecord, folder: str, stage: Stage | None = None) -> None:
        from pdtriage.live.view import ALL, ranks_asked

        stage = stage or self._stage
        if self._flags.quiet or stage is None:
            return
        asked: Ranks = ranks_asked(self._flags.ranks)
        if asked is None:
            alone = len(self._processes) == 1
            if alone or (process.local_rank == 0 and process.role == "worker"):
                stage.show(process, folder, prefixed=False)
        elif asked == ALL or process.rank in asked:
            stage.show(process, folder, prefixed=asked == ALL or len(asked) > 1)

    def _finish(self) -> None:
        self.close()

    def _begin_again(self) -> None:
        """The next attempt writes into the same files; what this one wrote is judged."""
        self._close(BETWEEN)
        self.ears.forget()
        self._processes.clear()
        self._dead = 0

    def _peer_spoke(self, spoke: PeerSpoke) -> None:
        if spoke.facts.failed or spoke.facts.ranks:
            self.ears.hear_peer(PeerRecord(spoke.node, "facts", 0.0, facts=spoke.facts))

    def _announce(self, text: Text) -> None:
        self._warnings += 1
        self._console.notice(Noted(text, "ERROR"))

    def _status(self) -> str:
        from pdtriage.live.status_line import status_text

        if self._silence is not None:
            hint = self._silence.hint(self.ears.standings)
            if hint is not None:
                self._warnings += 1
                self._console.notice(Noted(hint.now, "WARNING"))
                if self._note_silence is not None:
                    self._note_silence(hint.later)
        started = len(self._processes)
        alive = started - self._dead
        return status_text(self.ears.standings, alive, started, self._warnings, self.language)

    def _say(self, text: str) -> None:
        stage = self._stage
        if stage is not None:
            stage.say(text)
            return
        try:
            self._err.write(text)
            self._err.flush()
        except (OSError, ValueError):
            return  # nobody reads it; the job matters more


class _Lines(io.StringIO):
    """A stream whose text goes to a function."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = say

    def write(self, text: str, /) -> int:
        self._tell(text)
        return len(text)
