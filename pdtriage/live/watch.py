"""`pdtriage watch`: the live view and the report of a job that something else started."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import BinaryIO, TextIO

from pdtriage.analysis.job import Job
from pdtriage.hang.job_processes import ranks_of_folder
from pdtriage.hang.kernel_view import VitalsWatch, bytes_moved
from pdtriage.hang.rank_states import SOMEHOW, RankLook
from pdtriage.hang.rhythm import HangLimits, RankSample
from pdtriage.hang.take import StackTarget
from pdtriage.launch.options.flags import ANALYSIS_BUDGET
from pdtriage.live.file_watch import FolderWatch, Pace
from pdtriage.live.hang import HangMonitor, OnHang, alarm_text, furthest_behind, sample_of
from pdtriage.live.log_follower import LogFollower
from pdtriage.live.rank_table import RankTable, look_of
from pdtriage.live.screen import screen_for
from pdtriage.live.view import Ranks, StatusLine, View
from pdtriage.live.watch_process import Farewell
from pdtriage.live.writers import Writers
from pdtriage.model import KINDS, FileFacts, Rank, Report, RunFacts, Standstill
from pdtriage.reading.local import read_sources
from pdtriage.record.schema import ProcessRecord, RunRecord
from pdtriage.runs import assemble
from pdtriage.sources import SearchResult, find
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text
from pdtriage.support.regular_files import open_binary

ALIVE_EVERY = 0.5
WRITERS_EVERY = 5.0
FIRST_LINES = 10
GRACE = 15.0
"""Seconds between SIGTERM and SIGKILL for ranks of a job that stands still."""
REST_FACTOR = 20
"""Reading a folder of 512 logs takes a second: while none is new, it rests that much longer."""
READING = ANALYSIS_BUDGET / 2
"""Seconds for what was not read when the job is over, or somebody wants to go."""
OVER = frozenset({"failed", "succeeded", "interrupted"})


class WatchOptions(NamedTuple):
    """What the user of `watch` asked for."""

    folder: str
    language: Language = "en"
    ranks: Ranks = None
    quiet: bool = False
    hang_after: HangLimits = HangLimits()
    on_hang: OnHang = "stacks"
    until_idle: float | None = None
    """End when nothing was written for so many seconds."""
    parsers: tuple[Path, ...] = ()


@dataclass
class _Folder:
    """What lies in the folder now."""

    found: SearchResult
    records: list[tuple[str, RunRecord]] = field(default_factory=list)
    runs: list[RunFacts] = field(default_factory=list)


class Watcher:
    """Follows everything below a folder until the job is gone."""

    def __init__(
        self,
        options: WatchOptions,
        farewell: Farewell,
        *,
        out: BinaryIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self._options = options
        self._farewell = farewell
        self._follower = LogFollower(self._alert, options.parsers)
        screen = screen_for(
            sys.stdout.buffer if out is None else out, sys.stderr if err is None else err
        )
        status = StatusLine(
            lambda: self._follower.statuses,
            self._counts,
            language=options.language,
        )
        self._table = RankTable(self._looks, options.language, color=screen.color)
        self._vitals = VitalsWatch()
        self._view = View(
            screen,
            status.text,
            options.ranks,
            quiet=options.quiet,
            language=options.language,
            above=self._table.lines,
        )
        self._watch = FolderWatch(options.folder, recursive=True)
        self._writers = Writers()
        self._hang = HangMonitor(
            options.hang_after,
            options.on_hang,
            self._samples,
            self._targets,
            self._stands_still,
        )
        self._ended_for: Standstill | None = None
        """The job stood still, and is being ended because of that (`--on-hang stop`)."""
        self._kill_at = inf
        self._paths: dict[str, str] = {}
        """Shown path of every followed file by its real one."""
        self._warnings = 0
        self._checked_at = self._searched_at = self._rest_until = 0.0
        self._news_at = time.monotonic()
        self._ended_before = False

    def run(self) -> Report | None:
        """Stay until the job is over; None when no log ever came."""
        try:
            self._discover(first=True)
            if not self._paths:
                self._print(_nothing_yet(self._options.folder))
            self._hang.start()
            pace = Pace()
            while not self._farewell.wanted and not self._is_over():
                news = self._follower.read_on()
                self._news_at = time.monotonic() if news else self._news_at
                self._view.refresh()
                if time.monotonic() >= self._kill_at:
                    self._kill_at = inf
                    self._writers.end_ranks(signal.SIGKILL)
                if self._watch.is_due():
                    self._discover()
                time.sleep(pace.pause(news))
        finally:
            self._hang.close()
            self._watch.close()
            self._view.close()
        report = self._report()
        self._follower.close()
        return report

    def _discover(self, first: bool = False) -> None:
        """Take up files that came; at the first time all there are, with what they hold."""
        found = find([self._options.folder])
        known = len(self._paths)
        for source in found.sources:
            path = source.plain
            if path is None or not KINDS[source.file.kind].followed:
                continue
            real = os.path.realpath(path)
            if real in self._paths:
                continue
            self._paths[real] = source.file.path
            # A file that appears while we watch is news from its first byte.
            self._follower.follow_file(real, source.file, (source.file.size or 0) if first else 0)
        began = time.monotonic()
        if len(self._paths) == known and began < self._rest_until:
            return
        folder = self._read(found)
        if folder.runs:
            self._identify(folder, first)
        ended = time.monotonic()
        self._rest_until = ended + REST_FACTOR * (ended - began)

    def _identify(self, folder: _Folder, first: bool) -> None:
        run = folder.runs[-1]
        records = [r for _, r in folder.records if r.is_live() or r.is_to_be_continued()]
        self._writers.add([r.pid for r in records if r.pid is not None])
        self._writers.search(set(self._paths))
        if first:
            ended = bool(folder.records) and not records
            self._ended_before = not self._writers.seen and (
                ended or Job([run], self._follower.engine.knowledge).judgements[0].verdict in OVER
            )
            if not self._writers.seen and not self._ended_before:
                self._alert(
                    Text(
                        "no process on this machine writes here; Ctrl-C ends with the report",
                        "本机没有进程在写这里的日志；按 Ctrl-C 结束并输出报告",
                    )
                )
        shown = {path: real for real, path in self._paths.items()}
        for rank in run.ranks:
            for path in rank.files:
                if path in shown:
                    self._identify_rank(rank, shown[path])

    def _identify_rank(self, rank: Rank, real: str) -> None:
        process = ProcessRecord(
            role=rank.role,
            rank=rank.rank,
            local_rank=rank.local_rank,
            device=rank.device,
            endpoint=rank.endpoint,
            pid=rank.pids[-1] if rank.pids else 0,
            log=os.path.basename(real),
            offset=_last_lines(real),
            started=0.0,
            monotonic=0.0,
        )
        offsets = [event.offset for _, event in rank.events]
        self._follower.identify(real, process, news_from=min(offsets, default=None))
        first = process.rank == 0 or (process.rank is None and process.local_rank == 0)
        self._view.show(process, os.path.dirname(real), usual=first)

    def _is_over(self) -> bool:
        if self._ended_before:
            return True
        moment = time.monotonic()
        idle = self._options.until_idle
        if idle is not None and moment - self._news_at >= idle:
            return True
        if moment - self._checked_at < ALIVE_EVERY:
            return False
        self._checked_at = moment
        if self._writers.alive():
            return False
        if not self._writers.seen and moment - self._searched_at < WRITERS_EVERY:
            return False
        # All we knew are gone: perhaps somebody has taken over (an elastic restart).
        self._searched_at = moment
        self._writers.search(set(self._paths))
        return self._writers.seen and not self._writers.alive()

    def _read(self, found: SearchResult, seconds: float = inf) -> _Folder:
        known = self._followed_facts(seconds)
        facts, records, _ = read_sources(found, self._follower.engine, known)
        return _Folder(found, records, assemble(facts, records, self._follower.engine.knowledge))

    def _followed_facts(self, seconds: float) -> dict[str, FileFacts]:
        known = self._follower.facts(seconds)
        return {self._paths[real]: facts for real, facts in known.items()}

    def _report(self) -> Report | None:
        folder = self._read(find([self._options.folder]), READING)
        if not folder.runs:
            return None
        newest = folder.runs[-1]._replace(unread=self._follower.has_unread())
        if self._writers.alive():
            newest = newest._replace(running=True, standstill=self._hang.still_now())
        elif newest.standstill is None and (self._ended_for or _was_stopped(newest)):
            newest = newest._replace(standstill=self._ended_for or self._hang.still_now())
        runs: Sequence[RunFacts] = [*folder.runs[:-1], newest]
        found = folder.found
        engine = self._follower.engine
        job = Job(runs, engine.knowledge, found.notes, found.sources, engine=engine)
        job.look_below_errors()
        return job.report("last", self._options.language)

    def _samples(self) -> dict[int, RankSample]:
        statuses, pids = self._follower.statuses, self._writers.pids_of_ranks()
        return {
            number: sample_of(
                status, "", bytes_moved(pids.get((status.role, status.rank), 0))
            )._replace(size=status.wrote)
            for number, status in enumerate(statuses)
        }

    def _targets(self) -> list[StackTarget]:
        """The ranks of this machine, with what their logs told last."""
        told = {(status.role, status.rank): status for status in self._follower.statuses}
        moment = time.monotonic()
        return [
            target._replace(step=status.step, quiet=moment - status.wrote)
            if (status := told.get((target.role, target.rank))) is not None
            else target
            for target in ranks_of_folder(self._options.folder)
        ]

    def _stands_still(self, found: Standstill) -> None:
        """Alerts that the job stands still, and may end it; called in the thread of the monitor."""
        if not found.moved_on and self._writers.seen:
            self._alert(alarm_text(found, furthest_behind(self._follower.statuses)))
            if self._options.on_hang == "stop" and self._ended_for is None:
                self._alert(_STOPPED_HUNG)
                self._ended_for = found
                self._kill_at = time.monotonic() + GRACE
                self._writers.end_ranks(signal.SIGTERM)

    def _looks(self) -> list[RankLook]:
        """Of those who are known to be ranks, with their processes where these are of here."""
        pids = self._writers.pids_of_ranks()
        vitals = self._vitals.look(time.monotonic(), pids.values())
        still = self._hang.standstill
        stacks = {stack.pid: stack for stack in still.stacks} if still is not None else {}
        looks = []
        for status in self._follower.statuses:
            if status.rank is None or status.role in ("", "launcher"):
                continue
            who = (status.role, status.rank)
            pid = pids.get(who, 0)
            ended = SOMEHOW if pids and pid not in vitals else ""
            looks.append(look_of(who, status, vitals.get(pid), ended=ended, stack=stacks.get(pid)))
        return looks

    def _alert(self, text: Text) -> None:
        self._warnings += 1
        self._table.warn(text)
        self._print(text)

    def _print(self, text: Text) -> None:
        moment = time.strftime("%H:%M:%S")
        self._view.print(f"pdtriage {moment} {text.in_(self._options.language)}\n")

    def _counts(self) -> tuple[int, int, int]:
        ranks = self._writers.ranks()
        if ranks is not None:
            return *ranks, self._warnings
        alive = self._writers.alive()
        return alive, max(alive, len(self._paths)), self._warnings


_STOPPED_HUNG = Text(
    "the job stands still and is ended (--on-hang stop): SIGTERM to its ranks on this machine",
    "任务卡住，即将结束（--on-hang stop）：向本机上的 rank 发送 SIGTERM",
)


def _was_stopped(run: RunFacts) -> bool:
    """Its ranks say that somebody ended them; who ends by itself may be silent before."""
    return any(event.role == "victim" for rank in run.ranks for _, event in rank.events)


def _nothing_yet(folder: str) -> Text:
    return Text(
        f"no logs in {folder} yet, waiting (Ctrl-C ends)",
        f"{folder} 中还没有日志，等待中（按 Ctrl-C 结束）",
    )


def _last_lines(path: str) -> int:
    """Where the last few lines of a file begin."""
    try:
        with open_binary(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            begin = max(0, size - (1 << 14))
            stream.seek(begin)
            tail = stream.read()
    except OSError:
        return 0
    at = len(tail)
    for _ in range(FIRST_LINES + 1):
        at = tail.rfind(b"\n", 0, at)
        if at < 0:
            return begin
    return begin + at + 1
