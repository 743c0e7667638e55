"""The process that reads the logs of a launch: follows them, alerts, judges, writes the report.

It is a process of its own because a log may hold anything: whatever it does to whoever reads it,
the loop that watches the job does not wait for that. It only reads, so it can be killed at any time
and another one in its place reads again what this one knew (`reader_link`).
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdtriage.live import wire
from pdtriage.live.file_watch import Pace
from pdtriage.live.log_follower import LogFollower
from pdtriage.record.schema import FOLDER
from pdtriage.support.errors import debugging
from pdtriage.support.language import Text
from pdtriage.support.parent import ending_with_parent

if TYPE_CHECKING:
    from pdtriage.live.judge import LaunchJudge

WARM_UP = 0.4
"""Seconds the job gets to itself before we load what we follow it with."""
BEAT = 0.5
"""Seconds between signs of life while a question is answered."""
STATUS_EVERY = 1.0
MOST_MEMORY = 4 << 30
"""Bytes of address space: a log that takes more costs the analysis, not the training."""


def serve() -> None:
    """The life of the process; the other end of its standard input is its parent."""
    _detach()
    line = ParentLine(socket.socket(fileno=0))
    with contextlib.suppress(EOFError, OSError):  # the parent is gone, and so are we
        LogReader(line).run()


class ParentLine:
    """Messages from and to the parent; threads may send."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._come = bytearray()
        self._lock = threading.Lock()

    def send(self, message: object) -> None:
        with self._lock:
            self._connection.sendall(wire.pack_message(message))

    def receive(self, timeout: float) -> list[Any]:
        """What has come, at the latest after `timeout` seconds; EOFError when nothing ever will."""
        ready, _, _ = select.select([self._connection], [], [], timeout)
        if not ready:
            return []
        piece = self._connection.recv(1 << 16)
        if not piece:
            raise EOFError
        self._come += piece
        *whole, rest = self._come.split(b"\n")
        self._come = rest
        return [wire.unpack_message(bytes(text)) for text in whole]


class LogReader:
    """Follows and answers until the parent is gone."""

    def __init__(self, line: ParentLine) -> None:
        self._line = line
        self._follower = LogFollower(self._alert, events=False, on_warning=self._warn)
        self._setup = wire.Setup((), "", "en")
        self._judge: LaunchJudge | None = None
        self._told_at = 0.0

    def run(self) -> None:
        self._rest(WARM_UP)
        pace = Pace()
        while True:
            pause = pace.pause(self._follower.read_on())
            self._tell_statuses()
            for message in self._line.receive(pause):
                self._take(message)

    def _rest(self, seconds: float) -> None:
        """Leave the machine to the job, unless something happened."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for message in self._line.receive(left):
                self._take(message)
                if isinstance(message, (wire.Dead, wire.PeerReported, wire.Ask)):
                    deadline = 0.0

    def _take(self, message: object) -> None:
        follower = self._follower
        if isinstance(message, wire.Follow):
            follower.follow(message.process, message.folder)
        elif isinstance(message, wire.Dead):
            follower.mark_dead(message.pid)
            self._judge = self._judge or self._new_judge()  # somebody will ask soon
        elif isinstance(message, wire.PeerReported):
            follower.add_peer(message.peer)
        elif isinstance(message, wire.Ask):
            self._answer(message)
        elif isinstance(message, wire.Setup):
            self._setup = message
            parsers = tuple(map(Path, message.parsers))
            self._follower = LogFollower(self._alert, parsers, events=False, on_warning=self._warn)
        elif isinstance(message, wire.Turn) and message.what == "muted":
            follower.mute()
        elif isinstance(message, wire.Turn):
            follower.start_over()

    def _answer(self, ask: wire.Ask) -> None:
        with self._beating(ask.number):
            try:
                self._follower.read_on()  # what is worth an alert is told before the answer
                answer: object = wire.Answered(ask.number, self._answer_to(ask))
            except (EOFError, BrokenPipeError, ConnectionError):
                raise
            except Exception as error:
                what = f"{type(error).__name__}: {error}".replace("\n", " ")
                answer = wire.Failed(ask.number, what)
                _show_where()
        self._line.send(answer)

    def _answer_to(self, ask: wire.Ask) -> object:
        judge = self._judge = self._judge or self._new_judge()
        if ask.what == "facts":
            return judge.facts(ask.record, ask.seconds)
        if ask.what == "conclude":
            return judge.conclude(ask.record, ask.seconds)
        return self._publish(judge, ask)

    def _new_judge(self) -> LaunchJudge:
        """What it takes is imported only now: most of the time nobody has died."""
        from pdtriage.live.judge import LaunchJudge

        return LaunchJudge(self._follower, self._setup.folder, self._setup.language)

    def _publish(self, judge: LaunchJudge, ask: wire.Ask) -> wire.Published:
        from pdtriage.live import publish

        report = judge.report_on_launch(ask.record, ask.decisions, ask.seconds)
        folder = self._setup.folder
        shown = ""
        if report.verdict != "succeeded" or report.root_causes or report.attempts:
            # Standard error is the parent's: it says how wide a line may be, the parent writes it.
            shown = publish.text_for(report, sys.stderr, folder)
        try:
            if os.path.isdir(os.path.join(folder, FOLDER)):  # else somebody removed it
                publish.store_report(report, folder)
            if ask.files is not None:
                publish.write_to(report, Path(ask.files))
        except OSError as error:
            trouble = Text(f"cannot write the report: {error}", f"无法写出报告：{error}")
            return wire.Published(shown, trouble)
        return wire.Published(shown)

    @contextlib.contextmanager
    def _beating(self, number: int) -> Iterator[None]:
        """Signs of life, from a thread of their own: as long as Python runs here, they come."""
        over = threading.Event()

        def beat() -> None:
            with contextlib.suppress(OSError):
                while not over.wait(BEAT):
                    self._line.send(wire.Beat(number))

        thread = threading.Thread(target=beat, daemon=True)
        with contextlib.suppress(RuntimeError):  # no more threads: then without
            thread.start()
        try:
            yield
        finally:
            over.set()
            if thread.ident is not None:
                thread.join()

    def _tell_statuses(self) -> None:
        moment = time.monotonic()
        if moment - self._told_at >= STATUS_EVERY:
            self._told_at = moment
            self._line.send(wire.Statuses(tuple(map(tuple, self._follower.statuses))))

    def _alert(self, text: Text) -> None:
        self._line.send(wire.Alert(text))

    def _warn(self, text: Text) -> None:
        self._line.send(wire.Alert(text, failure=False))


def _detach() -> None:
    """Whoever ends the job by signals to everybody wants the report of it."""
    ending_with_parent()()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    for what, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    ):
        hard = resource.getrlimit(what)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most if hard < 0 else min(most, hard), hard))
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as stream:
        stream.write("pdtriage-reader")


def _show_where() -> None:
    if debugging():
        import traceback

        traceback.print_exc()
