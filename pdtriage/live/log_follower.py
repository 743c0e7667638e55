"""All logs of a job at once: alerts while it runs, and the facts at any time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from pdtriage.live.pace_watch import PaceWatch
from pdtriage.record.schema import PeerRecord, ProcessRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # Imported when the first log is followed: the processes of the job start before that.
    from pdtriage.live.alerts import Alerts
    from pdtriage.live.file_watch import FolderWatch
    from pdtriage.live.followed_log import FollowedLog, LiveEngine
    from pdtriage.model import FileFacts, LogFile
    from pdtriage.scan import Engine

STEPS_EVERY = 1.0
STEPS_BUDGET = 0.004
"""Seconds of one beat that may go into counting steps."""
BUDGET = 0.1
"""Seconds of one beat that may go into reading."""
LAST_BYTES = 1 << 20
"""Of a log that there is no time to read: its end, where most causes stand."""


class ProcessStatus(NamedTuple):
    """How far one process has come, for the status line."""

    name: str
    step: int | None
    epoch: int | None
    wrote: float
    """When it last did, by the monotonic clock."""
    pid: int = 0
    """0 where it is not known."""
    role: str = ""
    """Empty where nobody knows whose log it is."""
    rank: int | None = None
    evaluating: bool = False
    """The last it wrote of its progress is of an evaluation."""


class LogFollower:
    """Reads on when it is told to, and knows what the logs it was given say."""

    def __init__(
        self,
        on_alert: Callable[[Text], None],
        parsers: Sequence[Path] = (),
        *,
        events: bool = True,
        on_warning: Callable[[Text], None] | None = None,
    ) -> None:
        """`events` says whether to ask the kernel for changes of the folder; `on_warning` is told
        of what is no failure."""
        self._on_warning = on_warning or on_alert
        self._on_alert = on_alert
        self._parsers = parsers
        self._events = events
        self.statuses: tuple[ProcessStatus, ...] = ()
        self._added: list[tuple[ProcessRecord, str]] = []
        self._logs: dict[str, FollowedLog] = {}
        self._dead: set[int] = set()
        self._peers: list[PeerRecord] = []
        self._only_of: frozenset[int] | None = None
        self._engine: LiveEngine | None = None
        self.alerts: Alerts | None = None
        self._watch: FolderWatch | None = None
        self._steps_read_at = 0.0
        self._stale_steps: list[FollowedLog] = []
        self._pace = PaceWatch()

    def follow(self, process: ProcessRecord, folder: str) -> None:
        """Follow the log of a process that was just started."""
        if process.log is not None:
            self._added.append((process, folder))

    def follow_file(self, path: str, file: LogFile, news_from: int) -> None:
        """Follow a log from its first byte; what stands before `news_from` is no news."""
        from pdtriage.live.followed_log import FollowedLog

        if path not in self._logs:
            self._logs[path] = FollowedLog(path, file, self._load(), news_from=news_from)

    def identify(self, path: str, process: ProcessRecord, news_from: int | None) -> None:
        """Say whose log it is, and where the run of today begins in it if that is known."""
        log = self._logs.get(path)
        if log is None:
            return
        log.process = process
        if news_from is not None and news_from < log.news_from:
            log.news_from = news_from
            log.mark_suspicious()

    def add_peer(self, peer: PeerRecord) -> None:
        """Takes in that another node failed, and what it saw."""
        self._peers.append(peer)

    def mark_dead(self, pid: int) -> None:
        """Notes that a process will write no more: what its log says last was not survived."""
        self._dead.add(pid)

    def mute(self) -> None:
        """Alerts no more, but for processes that died before this."""
        if self._only_of is None:
            self._only_of = frozenset(self._dead)
        if self.alerts is not None:
            self.alerts.only = self._only_of

    def read_on(self) -> bool:
        """Take what is new in all logs; True if there was something."""
        self._open()
        news = self._read_logs()
        if self._watch is not None and self._watch.is_due():
            for log in self._logs.values():
                log.check_name()
        self._read_steps()
        assert self.alerts is not None
        logs = [log for log in self._logs.values() if log.file.kind != "console"]
        alerts = self.alerts.in_logs(logs, self._dead)
        while self._peers:
            alerts += self.alerts.of_peer(self._peers.pop(0))
        for text in alerts:
            self._on_alert(text)
        return news

    def snapshot(self, seconds: float = inf) -> tuple[list[FileFacts], set[str | None]]:
        """The facts of every log, and the names of logs that began anew during this run."""
        facts = list(self.facts(seconds).values())
        logs = self._logs.values()
        return facts, {log.process.log for log in logs if log.process and log.is_restarted()}

    def facts(self, seconds: float = inf) -> dict[str, FileFacts]:
        """Facts of all logs as they stand now, by path; of what takes longer, the end alone."""
        deadline = time.monotonic() + seconds
        self._open()
        for log in self._logs.values():
            log.check_name()
        growing = list(self._logs.values())
        while growing and time.monotonic() < deadline:  # in turn: all of them get their share
            growing = [log for log in growing if log.read_on()]
        for log in growing:
            log.skip_to_last(LAST_BYTES)
        return {path: log.facts() for path, log in self._logs.items()}

    def has_unread(self) -> bool:
        """Whether there was no time to read all of the logs."""
        return any(log.unread for log in self._logs.values())

    @property
    def engine(self) -> Engine:
        return self._load().engine

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        for log in self._logs.values():
            log.close()

    def start_over(self) -> None:
        """The next attempt writes into the same files; what this one wrote is judged."""
        self.close()
        self._added.clear()
        self._logs.clear()
        self._stale_steps.clear()
        self._dead.clear()
        self._peers.clear()
        self._only_of = None
        self._pace = PaceWatch()
        self.statuses = ()
        if self.alerts is not None:
            from pdtriage.live.alerts import Alerts

            self.alerts = Alerts(self.alerts.knowledge)

    def _read_logs(self) -> bool:
        """Read on while logs grow faster than one piece a beat, but not without a pause."""
        deadline = time.monotonic() + BUDGET
        growing = [log for log in self._logs.values() if log.read_on()]
        news = bool(growing)
        while growing and time.monotonic() < deadline:
            growing = [log for log in growing if log.more and log.read_on()]
        return news

    def _open(self) -> None:
        """Begin to follow logs that were added since the last time."""
        from pdtriage.live.file_watch import FolderWatch
        from pdtriage.live.followed_log import FollowedLog
        from pdtriage.model import LOG_OF_ROLE, LogFile
        from pdtriage.sources.find.recognise import read_name

        engine = self._load()
        while self._added:
            process, folder = self._added.pop(0)
            assert process.log is not None
            path = os.path.join(folder, process.log)
            known = self._logs.get(path)
            if known is not None:
                known.process = process  # started again, into the same file
                continue
            index, kind = process.local_rank, LOG_OF_ROLE.get(process.role, "worker")
            if process.role == "launcher":
                told = read_name(os.path.basename(process.log), os.path.dirname(process.log))
                index, kind = told.index, "console"
            # glog stamps have no year: they are of now
            file = LogFile(process.log, kind, "", index, modified=time.time())
            begin = process.offset
            self._logs[path] = FollowedLog(
                path, file, engine, process, begin=begin, news_from=begin
            )
            if self._watch is None:
                self._watch = FolderWatch(folder, events=self._events)

    def _load(self) -> LiveEngine:
        """Compile what we follow and judge with, once."""
        if self._engine is None:
            from pdtriage.live.alerts import Alerts
            from pdtriage.live.followed_log import LiveEngine

            self._engine = LiveEngine.load(self._parsers)
            self.alerts = Alerts(self._engine.engine.knowledge, only=self._only_of)
        return self._engine

    def _read_steps(self) -> None:
        """All logs every second; of many, a few each beat, so that no beat is late for it.

        What is known of all of them is put together once a second, however many beats it takes.
        """
        moment = time.monotonic()
        is_due = moment - self._steps_read_at >= STEPS_EVERY
        if is_due:
            self._steps_read_at = moment
            self._stale_steps = self._stale_steps or list(self._logs.values())
        while self._stale_steps and time.monotonic() < moment + STEPS_BUDGET:
            self._stale_steps.pop().read_step()
        if not is_due:
            return
        self.statuses = tuple(_status_of(log) for log in self._logs.values())
        for text in self._pace.look(moment, self._logs.values()):
            self._on_warning(text)


def _status_of(log: FollowedLog) -> ProcessStatus:
    from pdtriage.live.alerts import log_owner

    step, process = log.step, log.process
    return ProcessStatus(
        log_owner(log),
        step.step if step else None,
        step.epoch if step else None,
        log.grown,
        *((process.pid, process.role, process.rank) if process else (0, "", None)),
        log.evaluating,
    )
