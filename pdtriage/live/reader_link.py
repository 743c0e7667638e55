"""Our end of the process that reads the logs: starts it, replaces it, asks it.

No call waits for that process. Words to it are put down and sent as it takes them; what it says is
heard in a thread of its own; who asks says how to pass the time, and for how long.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pdtriage.launch.options.secret import SECRET_VARIABLES
from pdtriage.launch.supervise.outcome import AnswerWait
from pdtriage.launch.supervise.processes import HELPERS
from pdtriage.live import wire
from pdtriage.live.log_follower import ProcessStatus
from pdtriage.record.schema import PeerRecord, ProcessRecord, RunRecord
from pdtriage.support.language import Text

MOST_STARTS = 4
"""Readers of one attempt: where so many were killed, a log does it."""
SILENT_PART, READING_PART, FACTS_PART = 3, 2, 6
"""Of the budget: how long it may be without a sign of life, how long it may read, and how long the
other nodes wait at most to hear why it failed here."""
STALE_AFTER = 30.0
"""Seconds after which nobody knows any more how far the processes have come."""
_RETRY = 1.0
_TICK = 0.25
_LEAVING = 1.0
_MOST_TOLD = 1_000
_BOOT = """
import sys
sys.path[:] = sys.argv[1:]
try:
    from pdtriage.live.reader_process import serve
except Exception:
    sys.exit(70)
serve()
"""


class NotAnswered(Exception):  # noqa: N818 (what it means is for the caller to say)
    """The reader gave no answer; `told` where we were told to stop waiting."""

    def __init__(self, why: str = "", *, told: bool = False) -> None:
        super().__init__(why)
        self.told = told


class ReaderLink:
    """The reader of a launch, whichever process that is just now."""

    def __init__(
        self, on_alert: Callable[[Text, bool], None], setup: wire.Setup, budget: float
    ) -> None:
        """`budget`: seconds that answering a question may take."""
        self._on_alert = on_alert
        self._setup = setup
        self._budget = max(1.0, budget)
        self._statuses: tuple[ProcessStatus, ...] = ()
        self._lock = threading.RLock()
        self._story: list[object] = []
        """What every reader of this attempt has to know."""
        self._asked: dict[int, wire.Ask] = {}
        self._answers: dict[int, Any] = {}
        self._later: dict[int, Callable[[Any], None]] = {}
        self._numbers = 0
        self._told: set[Text] = set()
        self._unsent = bytearray()
        self._connection: socket.socket | None = None
        self._pid = 0
        self._pidfd: int | None = None
        self._starts = 0
        self._heard_at = 0.0
        self._leaving = False
        self._lost = False
        self._thread: threading.Thread | None = None

    @property
    def statuses(self) -> tuple[ProcessStatus, ...]:
        """How far the processes have come; nothing where nobody has looked for long."""
        fresh = time.monotonic() - self._heard_at < STALE_AFTER
        return self._statuses if fresh else ()

    def start(self) -> None:
        """Have the logs read from now on."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._leaving = self._lost = False
        self._starts = 0
        thread = threading.Thread(target=self._run, name="reader-link", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._lost = True  # until somebody asks
            self._say(_not_started(str(error)))
            return
        self._thread = thread

    def follow(self, process: ProcessRecord, folder: str) -> None:
        if process.log is not None:
            self._tell(wire.Follow(process, folder))

    def add_peer(self, peer: PeerRecord) -> None:
        self._tell(wire.PeerReported(peer))

    def mark_dead(self, pid: int) -> None:
        self._tell(wire.Dead(pid))

    def mute(self) -> None:
        self._tell(wire.Turn("muted"))

    def start_over(self) -> None:
        """Begins another attempt; the reader stays, because it remembers the ones before."""
        with self._lock:
            self._send(wire.Turn("again"))
            self._story.clear()
            self._told.clear()
            self._statuses = ()
            self._starts = 0

    def ask(
        self,
        what: str,
        record: RunRecord,
        wait: AnswerWait,
        *,
        decisions: Mapping[int, tuple[bool, Text]] | None = None,
        files: str | None = None,
    ) -> Any:
        """The answer, or NotAnswered. A reader that is silent for long is replaced and its
        successor asked; all of it takes no longer than twice the budget."""
        number = self._put(what, record, decisions or {}, files)
        deadline = time.monotonic() + 2 * self._budget
        since = time.monotonic()

        def is_over() -> bool:
            nonlocal since
            moment = time.monotonic()
            silent = moment - max(since, self._heard_at) > self._budget / SILENT_PART
            if silent and number not in self._answers:
                since = moment
                self._kill()
            return number in self._answers or self._lost or moment > deadline

        came = wait(is_over)
        with self._lock:
            self._asked.pop(number, None)
            answer = self._answers.pop(number, None)
        if isinstance(answer, wire.Answered):
            return answer.value
        raise NotAnswered(answer.why if isinstance(answer, wire.Failed) else "", told=not came)

    def ask_later(self, what: str, record: RunRecord, take: Callable[[Any], None]) -> None:
        """Call `take` with the answer, once and in another thread; with None if it comes late."""
        once, seconds = threading.Lock(), self._budget / FACTS_PART

        def take_first(answer: Any) -> None:
            if once.acquire(blocking=False):
                take(answer)

        timer = threading.Timer(seconds, take_first, (None,))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # no more threads: nobody would wake us
            take(None)
            return
        self._put(what, record, {}, None, take_first)

    def close(self) -> None:
        """End the reader; it has nothing to lose."""
        self._leaving = True
        thread, self._thread = self._thread, None
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)
        if thread is not None:
            thread.join(_LEAVING)
            if thread.is_alive():
                self._kill()
                thread.join(_LEAVING)

    def _put(
        self,
        what: Any,
        record: RunRecord,
        decisions: Mapping[int, tuple[bool, Text]],
        files: str | None,
        later: Callable[[Any], None] | None = None,
    ) -> int:
        with self._lock:
            self._numbers += 1
            number, seconds = self._numbers, self._budget / READING_PART
            question = wire.Ask(number, what, record, seconds, decisions, files)
            self._asked[number] = question
            if later is not None:
                self._later[number] = later
            self._send(question)
        if self._thread is None:
            self.start()  # it was closed, or there was nothing to follow
        return number

    def _tell(self, message: object) -> None:
        with self._lock:
            self._story.append(message)
            self._send(message)

    def _send(self, message: object) -> None:
        """Sends as much as the pipe takes now; the thread sends the rest."""
        with self._lock:
            if self._connection is not None:
                self._unsent += wire.pack_message(message)
                self._flush()

    def _flush(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            while self._unsent and self._connection is not None:
                del self._unsent[: self._connection.send(self._unsent)]

    def _run(self) -> None:
        """One reader after the other; they live as long as the thread that starts them."""
        while not self._leaving and self._starts < MOST_STARTS:
            try:
                connection = self._spawn()
            except OSError as error:
                self._say(_not_started(error.strerror or ""))
                time.sleep(_RETRY)
                continue
            self._starts += 1
            with contextlib.suppress(OSError, ValueError):
                self._converse(connection)
            self._end(connection)
            if not self._leaving:
                self._say(_REPLACED if self._starts < MOST_STARTS else _LOST)
        self._lost = True

    def _spawn(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-c", _BOOT, *sys.path],
                {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,
                setsigmask=[],
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        with self._lock:
            HELPERS.add(pid)
            self._pid, self._pidfd = pid, _pidfd_of(pid)
            self._unsent = bytearray()
            self._connection = ours
            for message in (self._setup, *self._story, *self._asked.values()):
                self._unsent += wire.pack_message(message)
            self._flush()
        return ours

    def _converse(self, connection: socket.socket) -> None:
        """Hear it to its end; OSError or ValueError where it makes no sense any more."""
        come = bytearray()
        while not self._leaving:
            writing = [connection] if self._unsent else []
            readable, _, _ = select.select([connection], writing, [], _TICK if writing else 5.0)
            self._flush()
            if not readable:
                continue
            piece = connection.recv(1 << 16)
            if not piece:
                return  # it has ended
            self._heard_at = time.monotonic()
            come += piece
            *whole, rest = come.split(b"\n")
            come = rest
            for text in whole:
                self._take(wire.unpack_message(bytes(text)))
            if len(come) > wire.MOST:
                raise ValueError("a line without end")

    def _take(self, message: object) -> None:
        if isinstance(message, wire.Alert):
            self._say(message.text, failure=message.failure)
        elif isinstance(message, wire.Statuses):
            self._statuses = tuple(ProcessStatus(*row) for row in message.rows)  # type: ignore[arg-type]
        elif isinstance(message, (wire.Answered, wire.Failed)):
            later = self._later.pop(message.number, None)
            if later is not None:
                self._asked.pop(message.number, None)
                later(message.value if isinstance(message, wire.Answered) else None)
            elif message.number in self._asked:
                self._answers[message.number] = message

    def _say(self, text: Text, *, failure: bool = True) -> None:
        """Shows a warning once: a successor finds again what its predecessor told."""
        if text not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(text)
            self._on_alert(text, failure)

    def _end(self, connection: socket.socket) -> None:
        """Let go of a reader, dead or alive."""
        with self._lock:
            self._connection = None
            connection.close()
        if self._leaving and self._pidfd is not None:
            select.select([self._pidfd], [], [], _LEAVING / 2)
        self._kill()
        with contextlib.suppress(ChildProcessError):  # the loop collects whoever is a child of ours
            os.waitpid(self._pid, 0)
        with self._lock:
            if self._pidfd is not None:
                os.close(self._pidfd)
            HELPERS.discard(self._pid)
            self._pidfd, self._pid = None, 0

    def _kill(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif self._pid:
                os.kill(self._pid, signal.SIGKILL)


_REPLACED = Text(
    "the process that reads the logs was killed; another one reads them again, the job goes on",
    "读取日志的进程被杀死；已由新进程重新读取，任务继续运行",
)
_LOST = Text(
    "the process that reads the logs was killed again and again: logs are no longer followed, "
    "the job goes on",
    "读取日志的进程屡次被杀死：不再跟踪日志，任务继续运行",
)


def _not_started(why: str) -> Text:
    return Text(
        f"logs are not followed: no process to read them can be started ({why}); the job goes on",
        f"未跟踪日志：无法启动读取日志的进程（{why}）；任务继续运行",
    )


def _pidfd_of(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    try:
        return None if opener is None else int(opener(pid))
    except OSError:
        return None
