"""One attempt on this node: from its plan to what is decided when it has ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.environment import child_environment, launched_environment
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.process_plan import Plan, backup_file, job_file, write_companions
from pdtriage.launch.plan.start_refusals import not_started, refuse_too_few_files
from pdtriage.launch.supervise.conclude import conclude, plan_head, tell_of_stop, tell_peers
from pdtriage.launch.supervise.event_loop import EventLoop
from pdtriage.launch.supervise.events import AllStarted, Noted, Observer, Planned, Started
from pdtriage.launch.supervise.guardian import Guardian
from pdtriage.launch.supervise.isolation import do_beside
from pdtriage.launch.supervise.outcome import Analyst, LaunchChecks, Outcome
from pdtriage.launch.supervise.policy import Coordinate, Policy, patience_of
from pdtriage.launch.supervise.processes import (
    Child,
    become_subreaper,
    birth_of,
    send_to_group,
    spawn,
    start_gpu_log,
)
from pdtriage.launch.supervise.restart import Restarts
from pdtriage.launch.supervise.supervisor import Supervisor
from pdtriage.record.writer import FolderLock, Recorder, now
from pdtriage.support.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    # The HTTP modules are imported only by jobs of several nodes.
    from pdtriage.launch.elastic.participation import Elastic
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel
    from pdtriage.launch.supervise.ps_lifetime import Lifetime


class LaunchContext(NamedTuple):
    """What stays for all attempts of one launch."""

    lock: FolderLock
    guardian: Guardian
    loop: EventLoop
    wheel: PaddleWheel | None
    launch: str
    environ: Mapping[str, str]
    checks: LaunchChecks | None


class Attempt(NamedTuple):
    """Starts what is planned and stays until it has ended."""

    plan: Plan
    flags: LaunchFlags
    observer: Observer
    analyst: Analyst
    context: LaunchContext
    channel: FactsChannel | None = None
    elastic: Elastic | None = None

    def run(self, restarts: Restarts) -> Outcome:
        """The outcome says in `decision` whether another attempt is to follow."""
        refuse_too_few_files(len(self.plan.processes))
        recorder = Recorder(self.context.lock.folder)
        self.context.guardian.write_to(os.path.abspath(recorder.path))
        recorder.launch(plan_head(self.flags, self.plan, self.context.guardian, self.context.wheel))
        self.observer.notice(Planned(self.plan))
        write_companions(self.plan, self.context.environ)
        become_subreaper()
        children = self._start(recorder)
        do_beside(self._log_cards, self.observer)
        do_beside(lambda: self._warn(children), self.observer)
        self.observer.notice(AllStarted(self.plan, recorder.silence))
        supervisor = self._supervisor(children, recorder)
        if self.channel is not None:
            supervisor.share_stacks = self.channel.share_stacks
        ending = supervisor.run()
        return conclude(
            supervisor,
            ending,
            self.channel,
            self.flags,
            self.analyst,
            restarts=restarts,
            elastic_patience=self.elastic.parting if self.elastic is not None else None,
        )

    def _start(self, recorder: Recorder) -> list[Child]:
        children: list[Child] = []
        plan, guardian = self.plan, self.context.guardian
        for process in plan.processes:
            environment = child_environment(
                self.context.environ, process.variables, backup_file(plan, process)
            )
            try:
                child = spawn(process, environment, plan.folder, overwrite=plan.overwrite)
            except OSError as error:
                for started in children:
                    send_to_group(started.process.pid, signal.SIGKILL)
                recorder.end({"reason": "refused", **now()})
                raise not_started(process.argv[0], error) from None
            guardian.watch(child.process.pid, child.born)
            self.context.loop.add_child(child.process.pid)
            children.append(child)
            recorder.start(child.process)
            self.observer.notice(Started(child.process, plan.folder))
        return children

    def _supervisor(self, children: list[Child], recorder: Recorder) -> Supervisor:
        flags = self.flags
        return Supervisor(
            self.context.launch,
            self.plan.folder,
            children,
            self.context.loop,
            recorder,
            self.observer,
            Policy(
                patience_of(flags),
                elastic=self.elastic is not None,
                lifetime=self._lifetime(children),
                until=time.monotonic() + flags.timeout if flags.timeout > 0 else None,
            ),
            coordinate=lambda action: self._coordinate(action, recorder),
            besides=frozenset({self.context.guardian.pid}),
        )

    def _coordinate(self, action: Coordinate, recorder: Recorder) -> None:
        if action.what == "failed":
            tell_peers(self.channel, recorder, self.analyst)
        elif action.what == "interrupted":
            tell_of_stop(self.channel, action.signal)
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
        cards = [process.device or "" for process in plan.processes]
        numbers = tuple(card.removeprefix("gpu:") for card in cards)
        path = job_file(plan, "gpu.log")
        environment = launched_environment(self.context.environ, self.context.launch)
        helper = start_gpu_log(path, numbers, environment)
        if helper is not None:
            self.context.guardian.watch(helper, birth_of(helper))

    def _peers(self) -> list[str]:
        """Where each other node can be tried; not the port of rank 0, at which trainers meet."""
        cluster = self.plan.cluster
        others = [each for rank, each in enumerate(cluster.endpoints) if rank != cluster.node_rank]
        first = cluster.all_endpoints[:1]
        free = [[one for one in each if one not in first] for each in others]
        return [each[0] for each in free if each]

    def _warn(self, children: list[Child]) -> None:
        """What the checks find; behind the trainers, too."""
        if self.plan.attempt > 0 or self.context.checks is None:
            return
        warnings = self.context.checks(
            self.flags,
            self.context.environ,
            len(children),
            cards=[process.device for process in self.plan.processes if process.device],
            besides=[child.process.pid for child in children],
            peers=self._peers(),
        )
        for warning in warnings:
            self.observer.notice(Noted(warning, "WARNING"))
