"""`pdtriage run` as people see it: the launch core's observer, with live view and alerts."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from pdtriage.launch.console.console import Console
from pdtriage.launch.options.flags import ANALYSIS_BUDGET, LaunchFlags
from pdtriage.launch.supervise.events import (
    AllStarted,
    Configured,
    Died,
    Interrupted,
    LaunchEvent,
    Noted,
    PeerBack,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    Reforming,
    Restarting,
    StacksTaken,
    StacksWanted,
    Started,
    StopHung,
    Stopping,
    Supervised,
)
from pdtriage.live.reader_link import ReaderLink
from pdtriage.live.wire import Setup
from pdtriage.record.schema import DeathRecord, PeerRecord, ProcessRecord
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.language import Language, Text

if TYPE_CHECKING:
    # Imported when all processes have been started.
    from pdtriage.hang.kernel_view import VitalsWatch
    from pdtriage.hang.rank_states import RankLook
    from pdtriage.hang.rhythm import RankSample
    from pdtriage.hang.take import StackTarget
    from pdtriage.live.card_watch import CardWatch
    from pdtriage.live.hang import HangMonitor, StacksOfNodes
    from pdtriage.live.rank_table import RankTable
    from pdtriage.live.view import View
    from pdtriage.model import CardEvent, Standstill

PATIENCE = 30.0
"""Seconds a terminal that takes nothing (stopped, scrolled back) may hold up the end."""
BETWEEN = 3.0
"""The same between two attempts, where a job waits for it."""


class LiveObserver:
    """Launcher lines in the style of Paddle's, the chosen logs, a status line, alerts."""

    beat_seconds: float | None = None
    """Threads of our own beat, so that a slow terminal never slows the loop that decides."""

    def __init__(
        self,
        language: Language = "en",
        *,
        folder: str = "log",
        parsers: tuple[Path, ...] = (),
        budget: float = ANALYSIS_BUDGET,
        out: BinaryIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.language = language
        setup = Setup(tuple(map(str, parsers)), folder, language)
        self.reader = ReaderLink(self._take_alert, setup, budget)
        self._out = sys.stdout.buffer if out is None else out
        self._err = sys.stderr if err is None else err
        self._console = Console(language, lines=_TextTo(self._print))
        self._view: View | None = None
        self._table: RankTable | None = None
        self._vitals: VitalsWatch | None = None
        self._ended: dict[int, str] = {}
        self._note_silence: Callable[[Text], None] | None = None
        self._supervised: Supervised | None = None
        self._hang: HangMonitor | None = None
        self._stacks: StacksOfNodes | None = None
        self._cards: CardWatch | None = None
        self._alive: set[int] = set()
        self._silent: dict[int, PeerSilent] = {}
        """Nodes that do not answer."""
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
            self._console.debug(event)
            return
        elif isinstance(event, PeerSpoke):
            self._peer_spoke(event)
            self._console.debug(event)
            return
        elif isinstance(event, Supervised):
            self._watch_for_hangs(event)
            return
        elif isinstance(event, StacksWanted):
            self._want_stacks(event)
            return
        elif isinstance(event, (Stopping, Interrupted)):
            self._keep_standstill()
            self.reader.mute()
            self._impatient |= isinstance(event, Interrupted) and event.again
        elif isinstance(event, Died):
            self._dead += 1
            self.reader.mark_dead(event.death.pid)
            self._see_death(event)
        elif isinstance(event, (PeerSilent, PeerDiffers, PeerBack)):
            self._peer_changed(event)
        elif isinstance(event, (Restarting, Reforming)):
            self._start_over()
        self._console.notice(event)
        if isinstance(event, AllStarted):
            self._note_silence = event.note_silence
            self._go_live()

    def beat(self) -> None:
        """Not needed, see `beat_seconds`."""

    def close_view(self) -> None:
        """Show the rest, and leave no thread and no status line behind."""
        self._close_view(1.0 if self._impatient else PATIENCE)

    def close(self) -> None:
        """Leave nothing behind, at once."""
        self._end_hang_watch()
        self._end_card_watch()
        self._close_view(0.5)
        self.reader.close()

    def _close_view(self, patience: float) -> None:
        if self._view is not None:
            self._view.close(patience)
            self._view = None

    def _started(self, started: Started) -> None:
        self._processes.append((started.process, started.folder))
        self._alive.add(started.process.pid)
        self.reader.follow(started.process, started.folder)
        if self._flags.launcher == "paddle":
            # It shows its first log itself, on the same terminal; we only alert.
            if len(self._processes) == 1:
                self.reader.start()
        elif self._view is not None:
            self._show(self._view, started.process, started.folder)

    def _go_live(self) -> None:
        from pdtriage.hang.kernel_view import VitalsWatch
        from pdtriage.live.rank_table import RankTable
        from pdtriage.live.screen import screen_for
        from pdtriage.live.view import StatusLine, View, parse_ranks

        flags = self._flags
        status = StatusLine(
            lambda: self.reader.statuses,
            self._counts,
            language=self.language,
        )
        screen = screen_for(self._out, self._err)
        ranks = parse_ranks(flags.ranks)
        self._vitals = VitalsWatch()
        self._table = table = RankTable(self._looks, self.language, color=screen.color)
        view = View(
            screen,
            status.text,
            ranks,
            quiet=flags.quiet,
            language=self.language,
            above=table.lines,
        )
        for process, folder in self._processes:
            self._show(view, process, folder)
        try:
            view.start()
            self._view = view
        except RuntimeError:
            self._alert(_NOT_SHOWN)
        self.reader.start()

    def _show(self, view: View, process: ProcessRecord, folder: str) -> None:
        alone = len(self._processes) == 1
        first = process.local_rank == 0 and process.role == "worker"
        view.show(process, folder, usual=alone or first)

    def _start_over(self) -> None:
        """The next attempt writes into the same files; what this one wrote is judged."""
        self._end_hang_watch()
        self._end_card_watch()
        self._close_view(BETWEEN)
        self.reader.start_over()
        self._processes.clear()
        self._alive.clear()
        self._silent.clear()
        self._ended.clear()
        self._dead = 0

    def _peer_changed(self, event: PeerSilent | PeerDiffers | PeerBack) -> None:
        if isinstance(event, PeerBack):
            self._silent.pop(event.node, None)
            return
        self._warnings += 1
        if isinstance(event, PeerSilent):
            self._silent[event.node] = event

    def _peer_spoke(self, spoke: PeerSpoke) -> None:
        if self._stacks is not None:
            said = self._stacks.take_peer(spoke.node, spoke.host, spoke.facts.stacks)
            if said is not None:
                self._alert(said, failure=False)
        if spoke.facts.failed or spoke.facts.ranks:
            peer = PeerRecord(spoke.node, "facts", 0.0, facts=spoke.facts, hearsay=spoke.hearsay)
            self.reader.add_peer(peer)

    def _take_alert(self, text: Text, failure: bool) -> None:
        """Passes on an alert of the reader; what is no failure is also written into the record."""
        self._alert(text, failure)
        if not failure and self._supervised is not None:
            self._supervised.note_text(_at_this_moment(text))

    def _alert(self, text: Text, failure: bool = True) -> None:
        self._warn_below(text)
        self._console.notice(Noted(text, "ERROR" if failure else "WARNING"))

    def _warn_below(self, text: Text) -> None:
        self._warnings += 1
        if self._table is not None:
            self._table.warn(text)

    def _watch_for_hangs(self, supervised: Supervised) -> None:
        from pdtriage.hang.rhythm import parse_limits
        from pdtriage.live.hang import HangMonitor, StacksOfNodes

        self._supervised = supervised
        self._stacks = StacksOfNodes()
        self._watch_cards()
        self._hang = HangMonitor(
            parse_limits(self._flags.hang_after),
            self._flags.on_hang,  # type: ignore[arg-type]
            self._samples,
            self._targets,
            self._stands_still,
        )
        self._hang.start()

    def _watch_cards(self) -> None:
        devices = [p.device for p, _ in self._processes if (p.device or "").startswith("gpu:")]
        if not devices or self._cards is not None:
            return
        from pdtriage.live.card_watch import CardWatch
        from pdtriage.live.hang import helper_environment

        self._cards = CardWatch([d for d in devices if d], helper_environment(), self._card_spoke)
        self._cards.start()

    def _card_spoke(self, event: CardEvent) -> None:
        """Records and shows what the driver tells of a card; called in the thread of the card
        watch."""
        from pdtriage.analysis.cards import card_event_text
        from pdtriage.live.card_watch import is_alarming

        if self._supervised is not None:
            self._supervised.note_card(event)
        if is_alarming(event):
            self._alert(card_event_text(event), failure=False)

    def _end_card_watch(self) -> None:
        if self._cards is not None:
            self._cards.close()
            self._cards = None

    def _end_hang_watch(self) -> None:
        if self._hang is not None:
            self._hang.close()
            self._hang = None

    def _keep_standstill(self) -> None:
        """The job is being stopped: what moves now moves because of that."""
        if self._hang is not None and self._supervised is not None:
            still = self._hang.still_now()
            if still is not None:
                self._supervised.note(still)
        self._end_hang_watch()

    def _see_death(self, died: Died) -> None:
        self._alive.discard(died.death.pid)
        self._ended[died.death.pid] = _short_ending(died.death).in_(self.language)
        if died.first:
            self._keep_standstill()
        elif self._hang is not None and died.death.code == 0 and died.death.rank is not None:
            self._hang.gone.append(died.death.rank)

    def _want_stacks(self, wanted: StacksWanted) -> None:
        if self._hang is not None:
            self._hang.want(wanted.reason)
        elif self._supervised is not None:
            self._supervised.tell(StacksTaken())

    def _samples(self) -> dict[int, RankSample]:
        from pdtriage.hang.kernel_view import bytes_moved
        from pdtriage.live.hang import sample_of

        statuses = {status.pid: status for status in self.reader.statuses}
        return {
            process.pid: sample_of(
                statuses.get(process.pid),
                os.path.join(folder, process.log) if process.log else "",
                bytes_moved(process.pid),
            )
            for process, folder in list(self._processes)
            if process.pid in self._alive and process.role != "launcher"
        }

    def _looks(self) -> list[RankLook]:
        """What each rank does, for the table; called in the thread of the view."""
        from pdtriage.live.rank_table import look_of

        processes = [p for p, _ in list(self._processes) if p.role != "launcher"]
        pids = [process.pid for process in processes]
        vitals = self._vitals.look(time.monotonic(), pids) if self._vitals is not None else {}
        statuses = {status.pid: status for status in self.reader.statuses}
        still = self._hang.standstill if self._hang is not None else None
        stacks = {stack.pid: stack for stack in still.stacks} if still is not None else {}
        return [
            look_of(
                (process.role, process.rank),
                statuses.get(process.pid),
                vitals.get(process.pid),
                ended=self._ended.get(process.pid, ""),
                stack=stacks.get(process.pid),
            )
            for process in processes
        ]

    def _targets(self) -> list[StackTarget]:
        from pdtriage.hang.take import StackTarget

        statuses = {status.pid: status for status in self.reader.statuses}
        moment = time.monotonic()
        return [
            StackTarget(
                process.pid,
                process.role,
                process.rank,
                status.step if (status := statuses.get(process.pid)) else None,
                moment - status.wrote if status else None,
            )
            for process, _ in list(self._processes)
            if process.pid in self._alive and process.role != "launcher"
        ]

    def _stands_still(self, found: Standstill) -> None:
        """Records and shows that the job stands still; called in the thread of the monitor."""
        from pdtriage.live.hang import alarm_text, furthest_behind

        supervised = self._supervised
        if supervised is None:
            return
        supervised.note(found)
        if not found.moved_on:
            text = alarm_text(
                found, furthest_behind(self.reader.statuses), list(self._silent.values())
            )
            self._warn_below(text)
            self._console.notice(Noted(text, "WARNING"))
            if self._note_silence is not None and found.reason == "hang":
                self._note_silence(_at_this_moment(text))
        together = self._stacks.take_own(found) if self._stacks is not None else None
        if together is not None:
            self._alert(together, failure=False)
        stopping = found.reason == "hang" and self._flags.on_hang == "stop"
        if stopping or found.reason == "timeout":
            self._end_hang_watch()
        if found.reason in ("timeout", "interrupt"):
            supervised.tell(StacksTaken())
        elif stopping:
            supervised.tell(StopHung())

    def _counts(self) -> tuple[int, int, int]:
        started = len(self._processes)
        return started - self._dead, started, self._warnings

    def _print(self, text: str) -> None:
        if self._view is not None:
            self._view.print(text)
            return
        try:
            self._err.write(text)
            self._err.flush()
        except (OSError, ValueError):
            return  # nobody reads it; the job matters more


_NOT_SHOWN = Text(
    "logs are not shown: no thread to show them can be started; the job goes on",
    "不显示日志：无法启动显示日志的线程；任务继续运行",
)


def _at_this_moment(text: Text) -> Text:
    moment = time.strftime("%H:%M:%S")
    return Text(f"at {moment} {text.en}", f"{moment} 时{text.zh}")


def _short_ending(death: DeathRecord) -> Text:
    if death.signal is not None:
        return Text(signal_name(death.signal), signal_name(death.signal))
    if death.code is None:
        return Text("?", "?")
    return Text(f"exit {death.code}", f"退出码 {death.code}")


class _TextTo(io.StringIO):
    """A stream whose text goes to a function."""

    def __init__(self, take: Callable[[str], None]) -> None:
        super().__init__()
        self._take = take

    def write(self, text: str, /) -> int:
        self._take(text)
        return len(text)
