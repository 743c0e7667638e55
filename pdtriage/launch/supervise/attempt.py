"""One attempt on this node: from its plan to what is decided when it has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.environment import child_environment, launched_environment
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.process_plan import Plan, backup_file, job_file, write_companions
from pdtriage.launch.plan.start_refusals import not_started, refuse_too_few_files
from pdtriage.launch.supervise.conclude import conclude, plan_head
from pdtriage.launch.supervise.event_loop import EventLoop, SignalReceived
from pdtriage.launch.supervise.events import AllStarted, Noted, Observer, Planned, Started
from pdtriage.launch.supervise.guardian import Guardian
from pdtriage.launch.supervise.outcome import Analyst, LaunchChecks, Outcome
from pdtriage.launch.supervise.policy import Coordinate, Patience, Policy
from pdtriage.launch.supervise.processes import (
    Child,
    become_subreaper,
    birth_of,
    send_to_group,
    spawn,
)
from pdtriage.launch.supervise.restart import Restarts
from pdtriage.launch.supervise.supervisor import Ending, Supervisor
from pdtriage.record.schema import PeerFacts
from pdtriage.record.writer import FolderLock, Recorder, now
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # The HTTP modules are imported only by jobs of several nodes.
    from pdtriage.launch.elastic.participation import Elastic
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel
    from pdtriage.launch.supervise.ps_lifetime import Lifetime

_PARTING = 4.0
"""Seconds a node that has ended waits for what the others saw: long enough to notice that one has
fallen silent for good."""


class Post(NamedTuple):
    """What stays for all attempts of one launch."""

    lock: FolderLock
    guardian: Guardian
    loop: EventLoop
    wheel: PaddleWheel | None
    launch: str
    environ: Mapping[str, str]
    checks: LaunchChecks | None


@dataclass
class Attempt:
    """Starts what is planned and stays until it has ended."""

    plan: Plan
    flags: LaunchFlags
    observer: Observer
    analyst: Analyst
    post: Post
    channel: FactsChannel | None = None
    elastic: Elastic | None = None

    def run(self, restarts: Restarts) -> Outcome:
        """The outcome says in `decision` whether another attempt is to follow."""
        refuse_too_few_files(len(self.plan.processes))
        recorder = Recorder(self.post.lock.folder)
        self.post.guardian.write_to(os.path.abspath(recorder.path))
        recorder.launch(plan_head(self.flags, self.plan, self.post.guardian, self.post.wheel))
        self.observer.notice(Planned(self.plan))
        write_companions(self.plan)
        become_subreaper()
        children = self._start(recorder)
        self._log_cards()
        self._warn(children)
        self.observer.notice(AllStarted(self.plan, recorder.silence))
        supervisor = self._supervisor(children, recorder)
        ending = supervisor.run()
        part(
            self.channel,
            supervisor.listen,
            ending,
            recorder,
            self.analyst,
            patience=_PARTING if self.elastic is None else self.elastic.parting,
            leaving_is_failing=self.elastic is None,
        )
        # A signal may have come while we listened to the others.
        ending = ending._replace(interrupted_by=supervisor.policy.interrupted_by)
        return conclude(
            recorder,
            self.plan.folder,
            supervisor.processes.values(),
            ending,
            self.flags,
            self.observer,
            self.analyst,
            restarts,
            self._signal_since,
        )

    def _start(self, recorder: Recorder) -> list[Child]:
        children: list[Child] = []
        plan, guardian = self.plan, self.post.guardian
        for process in plan.processes:
            environment = child_environment(
                self.post.environ, process.variables, backup_file(plan, process)
            )
            try:
                child = spawn(process, environment, plan.folder, overwrite=plan.overwrite)
            except OSError as error:
                for started in children:
                    send_to_group(started.process.pid, signal.SIGKILL)
                recorder.end({"reason": "refused", **now()})
                raise not_started(process.argv[0], error) from None
            guardian.watch(child.process.pid, child.born)
            self.post.loop.add_child(child.process.pid)
            children.append(child)
            recorder.start(child.process)
            self.observer.notice(Started(child.process, plan.folder))
        return children

    def _supervisor(self, children: list[Child], recorder: Recorder) -> Supervisor:
        flags = self.flags
        return Supervisor(
            self.post.launch,
            children,
            self.post.loop,
            recorder,
            self.observer,
            Policy(
                Patience(flags.settle, flags.failure_grace(), flags.interrupt_grace()),
                elastic=self.elastic is not None,
                lifetime=self._lifetime(children),
            ),
            coordinate=lambda action: self._coordinate(action, recorder),
            besides=frozenset({self.post.guardian.pid}),
        )

    def _coordinate(self, action: Coordinate, recorder: Recorder) -> None:
        if action.what == "failed":
            tell_peers(self.channel, recorder, self.analyst)
        elif action.what == "trained" and self.channel is not None:
            self.channel.publish("trained")
        elif action.what == "leaving" and self.elastic is not None:
            self.elastic.leave()
        elif action.what == "look" and self.elastic is not None:
            self.elastic.look()

    def _lifetime(self, children: list[Child]) -> Lifetime | None:
        if not self.plan.trainer_nodes:
            return None
        from pdtriage.launch.supervise.ps_lifetime import lifetime_of

        return lifetime_of(self.plan, [child.process for child in children], self.channel)

    def _log_cards(self) -> None:
        """Behind the trainers: nothing may delay them."""
        plan = self.plan
        if plan.device_kind != "gpu" or not self.flags.enable_gpu_log:
            return
        from pdtriage.launch.supervise.gpu_log import start_gpu_log

        cards = [process.device or "" for process in plan.processes]
        numbers = tuple(card.removeprefix("gpu:") for card in cards)
        path = job_file(plan, "gpu.log")
        environment = launched_environment(self.post.environ, self.post.launch)
        helper = start_gpu_log(path, numbers, environment)
        if helper is not None:
            self.post.guardian.watch(helper, birth_of(helper))

    def _warn(self, children: list[Child]) -> None:
        """What the checks find; behind the trainers, too."""
        if self.plan.attempt > 0 or self.post.checks is None:
            return
        warnings = self.post.checks(
            self.flags,
            self.post.environ,
            len(children),
            cards=[process.device for process in self.plan.processes if process.device],
            besides=[child.process.pid for child in children],
        )
        for warning in warnings:
            self.observer.notice(Noted(warning, "WARNING"))

    def _signal_since(self) -> int | None:
        """The signal that came for us since supervision has ended."""
        came = self.post.loop.wait(0)
        return next((one.signal for one in came if isinstance(one, SignalReceived)), None)


def tell_peers(channel: FactsChannel | None, recorder: Recorder, analyst: Analyst) -> None:
    if channel is not None:
        channel.publish("failed", analyst.facts(recorder.record()))


def part(
    channel: FactsChannel | None,
    listen: Callable[[float, Callable[[], bool]], None],
    ending: Ending,
    recorder: Recorder,
    analyst: Analyst,
    *,
    patience: float = _PARTING,
    leaving_is_failing: bool = True,
) -> None:
    """Say how it ended here and hear how it ended elsewhere, after a failure with `patience`."""
    if channel is None:
        return
    leaving = ending.reason == "interrupted" and not leaving_is_failing
    if leaving or ending.reason == "reform":
        channel.publish("stopped")
        return
    if ending.reason == "interrupted":
        channel.publish("failed", PeerFacts(interrupted=ending.interrupted_by))
    elif ending.reason == "completed":
        channel.publish("done")
    elif ending.reason != "failed":
        # The culprit may be here although somebody else died first of it.
        channel.publish("stopped", analyst.facts(recorder.record()))
    listen(_PARTING if ending.reason == "completed" else patience, channel.all_over)
    if channel.reached is False and not channel.all_over():
        recorder.note(
            Text(
                "the exchange between the nodes could not be reached at the end",
                "结束时无法连接到节点之间交换信息的端口",
            )
        )
