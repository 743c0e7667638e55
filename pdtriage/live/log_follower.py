"""All logs of a job at once: what is announced while it runs, and the judgement at any time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pdtriage.record.schema import PeerRecord, ProcessRecord, RunRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text

if TYPE_CHECKING:
    # Imported when the first log is listened to: the processes of the job start before that.
    from pdtriage.live.alerts import Announcer
    from pdtriage.live.folder_watch import FolderWatch
    from pdtriage.live.followed_log import Hearing, Tuned
    from pdtriage.model import FileFacts, LogFile, Report, RunFacts
    from pdtriage.scan import Engine

STEPS_EVERY = 1.0
STEPS_BUDGET = 0.004
"""Seconds of one beat that may go into counting steps."""
BUDGET = 0.1
"""Seconds of one beat that may go into reading."""
WARM_UP = 0.4
"""Seconds the job gets to itself before we load what we listen with."""


class Standing(NamedTuple):
    """How one process stands, for the board."""

    name: str
    step: int | None
    epoch: int | None
    heard: float
    """When it last wrote, by the monotonic clock."""
    pid: int = 0
    """0 where it is not known."""


class Ears:
    """Used by two threads: one calls `live`, the one that launches adds logs and asks."""

    def __init__(
        self, say: Callable[[Text], None], parsers: Sequence[Path] = (), *, events: bool = True
    ) -> None:
        """`events` says whether to ask the kernel for changes of the folder."""
        self._say = say
        self._parsers = parsers
        self._events = events
        self.standings: tuple[Standing, ...] = ()
        self._added: list[tuple[ProcessRecord, str]] = []
        self._hearings: dict[str, Hearing] = {}
        self._dead: set[int] = set()
        self._peers: list[PeerRecord] = []
        self._silenced: frozenset[int] | None = None
        self._lock = threading.RLock()
        self._hurry = threading.Event()
        self._leaving = False
        self._tuned: Tuned | None = None
        self._announcer: Announcer | None = None
        self._watch: FolderWatch | None = None
        self._thread: threading.Thread | None = None
        self._steps_at = 0.0
        self._uncounted: list[Hearing] = []

    def start(self) -> None:
        self._thread = threading.Thread(target=self.live, name="ears", daemon=True)
        self._thread.start()

    def add(self, process: ProcessRecord, folder: str) -> None:
        """Listen to a process that was just started."""
        if process.log is not None:
            self._added.append((process, folder))

    def attend(self, path: str, file: LogFile, news_from: int) -> None:
        """Listen to a log from its first byte; what stands before `news_from` is no news."""
        from pdtriage.live.followed_log import Hearing

        if path not in self._hearings:
            self._hearings[path] = Hearing(path, file, self._load(), news_from=news_from)

    def identify(self, path: str, process: ProcessRecord, news_from: int | None) -> None:
        """Say whose log it is, and where the run of today begins in it if that is known."""
        hearing = self._hearings.get(path)
        if hearing is None:
            return
        hearing.process = process
        if news_from is not None and news_from < hearing.news_from:
            hearing.news_from = news_from
            hearing.ask_again()

    def hear_peer(self, peer: PeerRecord) -> None:
        """Another node failed and says what it saw."""
        self._peers.append(peer)
        self.hurry()

    def died(self, pid: int) -> None:
        """This process will write no more: what its log says last was not survived."""
        self._dead.add(pid)
        self.hurry()

    def hurry(self) -> None:
        """Something happened: no time for a warm-up."""
        self._hurry.set()

    def mute(self) -> None:
        """From now on, only those that died before this may still be announced."""
        if self._silenced is None:
            self._silenced = frozenset(self._dead)
        if self._announcer is not None:
            self._announcer.only = self._silenced

    @property
    def causes(self) -> int:
        return self._announcer.causes if self._announcer else 0

    def live(self) -> None:
        """Listen until `close`; what goes wrong in here must not harm the job."""
        from pdtriage.live.folder_watch import Pace

        pace = Pace()
        self._hurry.wait(WARM_UP)
        try:
            while not self._leaving:
                time.sleep(pace.rest(self.beat()))
        except Exception as trouble:
            what = f"{type(trouble).__name__}: {trouble}"
            self._say(
                Text(
                    f"logs are no longer followed ({what}); the job goes on",
                    f"不再跟踪日志（{what}）；作业继续运行",
                )
            )

    def beat(self) -> bool:
        """Take what is new in all logs; True if there was something."""
        with self._lock:
            self._open()
            news = self._listen()
            if self._watch is not None and self._watch.due():
                for hearing in self._hearings.values():
                    hearing.look()
            self._count_steps()
            announcer = self._announcer
            said = announcer.consider(self._hearings.values(), self._dead) if announcer else []
            while announcer and self._peers:
                said += announcer.of_peer(self._peers.pop(0))
        for text in said:
            self._say(text)
        return news

    def judged(self, record: RunRecord, shown: str, language: Language) -> tuple[Report, RunFacts]:
        """The report on what was written and recorded so far; `shown` names the log folder."""
        with self._lock:
            facts = list(self.facts().values())
            anew = {h.process.log for h in self._hearings.values() if h.process and h.restarted}
        return _judged(facts, _from_the_top(record, anew), self.engine, shown, language)

    def facts(self) -> dict[str, FileFacts]:
        """All that stands in every log now, by path."""
        with self._lock:
            self._open()
            for hearing in self._hearings.values():
                hearing.look()
                while hearing.listen():
                    pass
            return {path: hearing.facts() for path, hearing in self._hearings.items()}

    @property
    def engine(self) -> Engine:
        return self._load().engine

    def close(self) -> None:
        self._leaving = True
        self._hurry.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        if self._watch is not None:
            self._watch.close()
        with self._lock:
            for hearing in self._hearings.values():
                hearing.close()

    def forget(self) -> None:
        """After `close`: ready for the processes of another attempt."""
        with self._lock:
            self._leaving = False
            self._hurry.clear()
            self._thread = self._watch = None
            self._added.clear()
            self._hearings.clear()
            self._uncounted.clear()
            self._dead.clear()
            self._peers.clear()
            self._silenced = None
            self.standings = ()
            if self._tuned is not None:
                from pdtriage.live.preload import announcer

                self._announcer = announcer(self._tuned, None)

    def _listen(self) -> bool:
        """Read on while logs grow faster than one piece a beat, but not without a pause."""
        deadline = time.monotonic() + BUDGET
        growing = [hearing for hearing in self._hearings.values() if hearing.listen()]
        news = bool(growing)
        while growing and time.monotonic() < deadline:
            growing = [hearing for hearing in growing if hearing.more and hearing.listen()]
        return news

    def _open(self) -> None:
        """Begin to listen to logs that were added since the last time."""
        from pdtriage.live.folder_watch import FolderWatch
        from pdtriage.live.followed_log import Hearing
        from pdtriage.model import LOG_OF_ROLE, LogFile

        tuned = self._load()
        while self._added:
            process, folder = self._added.pop(0)
            assert process.log is not None
            path = os.path.join(folder, process.log)
            known = self._hearings.get(path)
            if known is not None:
                known.process = process  # started again, into the same file
                continue
            kind = LOG_OF_ROLE.get(process.role, "worker")
            index = process.local_rank
            # glog stamps have no year: they are of now
            file = LogFile(process.log, kind, "", index, modified=time.time())
            begin = process.offset
            self._hearings[path] = Hearing(path, file, tuned, process, begin=begin, news_from=begin)
            if self._watch is None:
                self._watch = FolderWatch(folder, events=self._events)

    def _load(self) -> Tuned:
        """Import and compile what we listen and judge with, once, in whichever thread is first.

        All of it here, under the lock: two threads that import parts of one package at the same
        time may each see the other's half.
        """
        with self._lock:
            if self._tuned is None:
                from pdtriage.live.preload import announcer, tuned

                self._tuned = tuned(self._parsers)
                self._announcer = announcer(self._tuned, self._silenced)
            return self._tuned

    def _count_steps(self) -> None:
        """All logs every second; of many, a few each beat, so that no beat is late for it."""
        moment = time.monotonic()
        if not self._uncounted:
            if moment - self._steps_at < STEPS_EVERY:
                return
            self._steps_at = moment
            self._uncounted = list(self._hearings.values())
        while self._uncounted and time.monotonic() < moment + STEPS_BUDGET:
            self._uncounted.pop().count_steps()
        self.standings = tuple(_standing(hearing) for hearing in self._hearings.values())


def _standing(hearing: Hearing) -> Standing:
    from pdtriage.live.alerts import name_of

    step = hearing.step
    return Standing(
        name_of(hearing),
        step.step if step else None,
        step.epoch if step else None,
        hearing.heard,
        hearing.process.pid if hearing.process else 0,
    )


def _judged(
    facts: list[FileFacts], record: RunRecord, engine: Engine, shown: str, language: Language
) -> tuple[Report, RunFacts]:
    from pdtriage.analysis.job import Job
    from pdtriage.model import Run
    from pdtriage.runs import assemble
    from pdtriage.sources.display_path import joined

    placed = [
        known._replace(file=known.file._replace(path=joined(shown, known.file.path), folder=shown))
        for known in facts
    ]
    found = assemble(placed, [(shown, record)], engine.knowledge)
    # Only this launch was listened to, so its attempts are all there is to tell of.
    runs = [
        run._replace(run=Run(index, 1, index - 1, run.run.started, run.run.ended))
        for index, run in enumerate((r for r in found if r.run.launch == found[-1].run.launch), 1)
    ]
    return Job(runs, engine.knowledge).report("last", language), runs[-1]


def _from_the_top(record: RunRecord, logs: set[str | None]) -> RunRecord:
    """The record for logs that began anew: the place where the run began is gone with the rest."""
    if not logs:
        return record
    processes = tuple(
        process._replace(offset=0, end_offset=None) if process.log in logs else process
        for process in record.processes
    )
    return record._replace(processes=processes)
