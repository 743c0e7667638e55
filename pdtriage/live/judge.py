"""Judges a launch with the same pipeline as `pdtriage analyze`, in the process that reads logs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf

from pdtriage.analysis.job import Job
from pdtriage.knowledge.retry import worth_of
from pdtriage.launch.supervise.outcome import Conclusion, Failure, Reached
from pdtriage.live.log_follower import LogFollower
from pdtriage.model import (
    SENDER_PROGRAM,
    Cause,
    Event,
    Exit,
    Rank,
    Report,
    Restart,
    Run,
    RunFacts,
)
from pdtriage.record.schema import PeerFacts, RunRecord
from pdtriage.report.words import numbers
from pdtriage.runs import assemble
from pdtriage.runs.peer_ranks import facts_of
from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Disk
from pdtriage.sources.display_path import display_roots, join_display
from pdtriage.support.cgroup import read_text
from pdtriage.support.language import Language, Text
from pdtriage.verdict.attempt_comparison import MOST, furthest


class LaunchJudge:
    """Judges what the follower has read, which is every log by the time somebody wants to know."""

    def __init__(self, follower: LogFollower, folder: str, language: Language) -> None:
        self._follower = follower
        self._folder = folder
        self._language = language
        self._judged: tuple[int, Report] | None = None
        """The last judgement, and of which attempt."""
        self._attempts: dict[int, RunFacts] = {}

    def facts(self, record: RunRecord, seconds: float = inf) -> PeerFacts:
        """What the other nodes should know."""
        # Of its own ranks only: what others told, they tell themselves.
        report, run = self._judge(record._replace(peers=()), seconds)
        return facts_of(run, report)

    def conclude(self, record: RunRecord, seconds: float = inf) -> Conclusion:
        """Says who is to blame, when all processes have ended; `seconds` are for reading."""
        report, run = self._judge(record, seconds)
        self._judged = record.attempt, report
        self._remember(record.attempt, run)
        if record.reason == "interrupted" and report.verdict != "hung":
            return Conclusion("interrupted")
        if not report.root_causes:
            return Conclusion(report.verdict)
        cause = report.root_causes[0]
        ending = _exit_of(run, cause.role, cause.rank)
        gone = run.vanished[0].signal if run.vanished and cause.role == "launcher" else None
        return Conclusion(
            report.verdict,
            cause.ranks,
            code=ending.code if ending else None,
            signal=ending.signal if ending else gone,
            stopped=bool(ending and ending.stopped),
            role=cause.role,
            failure=self._failure(cause, run),
        )

    def report_on_launch(
        self, record: RunRecord, decisions: Mapping[int, tuple[bool, Text]], seconds: float = inf
    ) -> Report:
        """The report on the last attempt, which knows of the others and what followed them."""
        if self._judged is None or self._judged[0] != record.attempt:
            self.conclude(record, seconds)
        assert self._judged is not None
        if len(self._attempts) < 2 and not decisions:
            return self._judged[1]
        runs = [
            facts._replace(
                run=facts.run._replace(index=index, attempt=attempt),
                restart=Restart(*decisions[attempt]) if attempt in decisions else None,
                reached=furthest(facts),  # heard to the end, whatever came after it
            )
            for index, (attempt, facts) in enumerate(sorted(self._attempts.items()), 1)
        ]
        return Job(runs, self._follower.engine.knowledge).report("last", self._language)

    def _remember(self, attempt: int, run: RunFacts) -> None:
        self._attempts[attempt] = run
        while len(self._attempts) > MOST:
            del self._attempts[min(self._attempts)]

    def _failure(self, cause: Cause, run: RunFacts) -> Failure:
        workers = [rank for rank in run.ranks if rank.role == cause.role]
        worth = worth_of(
            cause.signature,
            cause.category,
            self._follower.engine.knowledge,
            on_all_ranks=1 < len(workers) <= len(cause.ranks),
        )
        return Failure(_title_of(cause), cause.fingerprint, *worth, _last_position(run))

    def _judge(self, record: RunRecord, seconds: float) -> tuple[Report, RunFacts]:
        """The report on what was written and recorded so far."""
        facts, started_over = self._follower.snapshot(seconds)
        knowledge = self._follower.engine.knowledge
        root = display_roots([self._folder])[0]
        placed = [
            own._replace(
                file=own.file._replace(path=join_display(root, own.file.path), folder=root)
            )
            for own in facts
        ]
        runs = assemble(placed, [(root, _from_the_top(record, started_over))], knowledge)
        # Only this launch was followed, so its attempts are all there is to tell of.
        launch = [run for run in runs if run.run.launch == runs[-1].run.launch]
        attempts = [
            run._replace(run=Run(index, 1, index - 1, run.run.started, run.run.ended))
            for index, run in enumerate(launch, 1)
        ]
        attempts[-1] = attempts[-1]._replace(
            unread=self._follower.has_unread(),
            ranks=tuple(map(_with_programs, attempts[-1].ranks)),
        )
        place = os.path.realpath(self._folder)  # files are opened by names without links only
        sources = [
            Source(there.file, Disk(os.path.join(place, own.file.path)))
            for own, there in zip(facts, placed, strict=True)
        ]
        job = Job(attempts, knowledge, sources=sources, engine=self._follower.engine)
        job.look_below_errors()
        return job.report("last", self._language), job.runs[-1]


def _with_programs(rank: Rank) -> Rank:
    """Deaths with the names of the programs that sent the signals, as long as they can be looked
    at."""
    if not any("sender" in event.fields for _, event in rank.events):
        return rank
    return rank._replace(events=tuple((file, _with_program(event)) for file, event in rank.events))


def _with_program(event: Event) -> Event:
    pid = event.fields.get("sender", "")
    name = (read_text(f"/proc/{pid}/comm") or "").strip() if pid.isdecimal() else ""
    return event._replace(fields={**event.fields, SENDER_PROGRAM: name}) if name else event


def _title_of(cause: Cause) -> Text:
    if cause.rank is None:
        return cause.title
    many = len(cause.ranks) > 1
    role = f"rank{'s' * many}" if cause.role == "worker" else cause.role
    who = f"{role} {numbers(cause.ranks) if many else cause.rank}"
    return Text(f"{who}: {cause.title.en}", f"{who.replace('ranks', 'rank')}：{cause.title.zh}")


def _last_position(run: RunFacts) -> Reached | None:
    reached = furthest(run)
    return None if reached is None else Reached(step=reached[1], epoch=reached[0])


def _exit_of(run: RunFacts, role: str, rank: int | None) -> Exit | None:
    return next((r.exit for r in run.ranks if r.role == role and r.rank == rank), None)


def _from_the_top(record: RunRecord, logs: set[str | None]) -> RunRecord:
    """The record for logs that began anew: the place where the run began is gone with the rest."""
    if not logs:
        return record
    processes = tuple(
        process._replace(offset=0, end_offset=None) if process.log in logs else process
        for process in record.processes
    )
    return record._replace(processes=processes)
