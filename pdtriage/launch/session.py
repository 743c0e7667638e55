"""`pdtriage run`, from the words typed to the exit code."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.hang.stack_signal import STACKS_FOLDER, forget_stacks, with_stack_signal
from pdtriage.launch.console.console import Console, print_refusal
from pdtriage.launch.options.elastic import as_elastic
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.parse import help_text, parse_flags
from pdtriage.launch.options.secret import SECRET_VARIABLES
from pdtriage.launch.options.unsupported import PS_MODES, is_given, refuse_unsupported, run_mode_of
from pdtriage.launch.plan.collective import plan_collective
from pdtriage.launch.plan.devices import Probe, SystemProbe, assign, find_devices
from pdtriage.launch.plan.interpreter import (
    PaddleWheel,
    choose_python,
    installed_paddle,
    refuse_without_paddle,
)
from pdtriage.launch.plan.process_plan import Plan, Start
from pdtriage.launch.plan.start_refusals import refuse_lost_folder, refuse_missing_script
from pdtriage.launch.rendezvous.job_nodes import JobEnded, Nodes, StopRequested, end_elsewhere
from pdtriage.launch.supervise.attempt import Attempt, LaunchContext
from pdtriage.launch.supervise.conclude import common_head, conclude, tell_peers
from pdtriage.launch.supervise.event_loop import EventLoop, SignalReceived
from pdtriage.launch.supervise.events import Configured, Finished, Noted, Observer
from pdtriage.launch.supervise.guardian import Guardian, guard
from pdtriage.launch.supervise.isolation import IsolatedAnalyst, IsolatedObserver
from pdtriage.launch.supervise.outcome import Analyst, ExitOrderAnalyst, LaunchChecks, Outcome
from pdtriage.launch.supervise.processes import become_subreaper, descriptors_in_reserve
from pdtriage.launch.supervise.restart import (
    TOLD_TO_STOP,
    Decision,
    Restarts,
    is_elastic,
    not_started_again,
    refuse_several_nodes,
    refuse_under_paddle,
    restarts_for,
)
from pdtriage.record.schema import RestartRecord
from pdtriage.record.writer import FolderLock, Recorder, amend
from pdtriage.support import exit_codes
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text

if TYPE_CHECKING:
    # Only elastic jobs need a client of etcd.
    from pdtriage.launch.elastic.participation import Elastic
    from pdtriage.launch.rendezvous.job_secret import JobSecret


def run(
    argv: Sequence[str] | LaunchFlags,
    *,
    environ: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    analyst: Analyst | None = None,
    language: Language = "en",
    probe: Probe | None = None,
    checks: LaunchChecks | None = None,
) -> Outcome:
    """Launch what `argv` (the words after `pdtriage run`) asks for and stay until it has ended.

    Who has parsed the words already hands over the flags.

    `observer` shows it (default: plain lines as Paddle's launcher prints them), `analyst` judges
    it (default: by exit order alone), `checks` warns of what may go wrong (default: nothing).
    Must be called in the main thread, for the signals.
    """
    variables = dict(os.environ if environ is None else environ)
    flags: LaunchFlags | None = None
    try:
        flags = argv if isinstance(argv, LaunchFlags) else parse_flags(argv, variables)
        for name in SECRET_VARIABLES:
            variables.pop(name, None)
            if environ is None:
                os.environ.pop(name, None)
        language = flags.answer_language(language)
        if flags.help:
            print(help_text(language), end="")
            return Outcome(exit_codes.OK, flags)
        shown = IsolatedObserver(Console(language) if observer is None else observer)
        judge = IsolatedAnalyst(ExitOrderAnalyst() if analyst is None else analyst, shown)
        cards = SystemProbe() if probe is None else probe
        return _Session(flags, variables, shown, judge, cards, checks).run()
    except UserError as refusal:
        print_refusal(refusal, language)
        return Outcome(exit_codes.USAGE, flags, refusal=refusal)
    except StopRequested as stop:
        return Outcome(exit_codes.of_signal(stop.number), flags)
    except KeyboardInterrupt:
        # Before or after the time in which signals go to the loop.
        return Outcome(exit_codes.of_signal(signal.SIGINT), flags)


def _secret_of(flags: LaunchFlags) -> JobSecret | None:
    if not flags.secret.reveal():
        return None
    from pdtriage.launch.rendezvous.job_secret import read_secret  # most jobs have none

    return read_secret(flags.secret.reveal())


class _Session:
    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        observer: Observer,
        analyst: Analyst,
        probe: Probe,
        checks: LaunchChecks | None,
    ) -> None:
        self.flags = as_elastic(flags)
        self.environ = environ
        self.observer = observer
        self.analyst = analyst
        self.probe = probe
        self.checks = checks
        self.launch = os.urandom(8).hex()
        self.secret = _secret_of(self.flags)
        self.restarts = Restarts(None, 0)
        self.elastic: Elastic | None = None
        self.ended: JobEnded | None = None
        self.noted: set[Text] = set()
        self.decisions: dict[int, Decision] = {}
        self.pod = "".join(chr(ord("a") + byte % 26) for byte in os.urandom(6))

    def run(self) -> Outcome:
        if self.flags.launcher == "paddle":
            refuse_under_paddle(self.flags)
            return self._run_paddle_launcher()
        refuse_unsupported(self.flags)
        self.restarts = restarts_for(self.flags, self.environ)
        refuse_missing_script(self.flags.training_script, self.environ)
        python = choose_python(self.flags.python, self.environ)
        wheel = installed_paddle(python)
        planner = self._planner(python, wheel)
        with self._guard() as (lock, guardian, loop), self._membership(loop):
            context = LaunchContext(
                lock, guardian, loop, wheel, self.launch, self.environ, self.checks
            )
            outcome = self._attempt(0, planner, context)
            for number in itertools.count(1):
                outcome = self._pause(outcome, loop)
                if outcome.decision is None or not outcome.decision.again:
                    break
                try:
                    # Everything anew: ports, cards and nodes may be others than before.
                    outcome = self._attempt(number, self._planner(python, wheel), context)
                except UserError as refusal:
                    self.observer.notice(Noted(refusal.text, "ERROR"))
                    outcome = self._end_without_restart(outcome, not_started_again(refusal))
                except StopRequested as stop:
                    code = exit_codes.of_signal(stop.number)
                    outcome = self._end_without_restart(outcome, TOLD_TO_STOP, code)
                except JobEnded as ended:
                    failed = outcome.exit_code or exit_codes.FAILED
                    code = exit_codes.OK if ended.completed else failed
                    outcome = self._end_without_restart(
                        outcome, Decision(False, end_elsewhere(ended.completed)), code
                    )
            return outcome._replace(decisions=self.decisions)
        # Only an elastic job can end while this node is not in it.
        return self._end_without_this_node()

    @contextlib.contextmanager
    def _membership(self, loop: EventLoop) -> Iterator[None]:
        """A node of an elastic job is in it from here to the end; others meet per attempt."""
        if not is_elastic(self.flags):
            yield
            return
        from pdtriage.launch.elastic.participation import Elastic
        from pdtriage.launch.elastic.restart_agreement import ElasticRestarts

        with Elastic(self.flags, self.environ, self.pod, loop, self.observer) as self.elastic:
            self.elastic.launch, self.elastic.secret = self.launch, self.secret
            self.restarts = ElasticRestarts(self.elastic, self.restarts)
            try:
                yield
            except JobEnded as ended:
                self.ended = ended

    def _end_without_this_node(self) -> Outcome:
        assert self.ended is not None
        completed = self.ended.completed
        unused = Text(
            "the job has completed; this node was not needed", "任务已完成；本节点未被使用"
        )
        text = unused if completed else end_elsewhere(completed)
        self.observer.notice(Noted(text, "INFO" if completed else "ERROR"))
        return Outcome(exit_codes.OK if completed else exit_codes.FAILED, self.flags)

    def _attempt(
        self, number: int, planner: Callable[[Nodes], Plan], context: LaunchContext
    ) -> Outcome:
        """Plan with whoever takes part this time, and see it through."""
        nodes = Nodes(
            self.flags,
            self.environ,
            self.pod,
            context.loop,
            self.observer,
            self.elastic,
            launch=self.launch,
            secret=self.secret,
        )
        with contextlib.closing(nodes):
            self._note(self.flags.notes)  # before it waits for other nodes
            plan = planner(nodes)
            plan = plan.as_attempt(number if self.elastic is None else self.elastic.attempt)
            refuse_several_nodes(self.restarts, plan)
            self._note(plan.cluster.notes)
            channel = nodes.open_channel(plan.cluster)
            attempt = Attempt(
                plan, self.flags, self.observer, self.analyst, context, channel, self.elastic
            )
            outcome = attempt.run(self.restarts)
            if outcome.decision is not None:
                self.decisions[plan.attempt] = outcome.decision
            return outcome

    def _note(self, notes: Sequence[Text]) -> None:
        """Notes something once, however many attempts there are."""
        for note in notes:
            if note not in self.noted:
                self.noted.add(note)
                self.observer.notice(Noted(note, "WARNING"))

    def _pause(self, outcome: Outcome, loop: EventLoop) -> Outcome:
        """Give what failed a moment to recover; a signal in that time ends the job."""
        if outcome.decision is None or not outcome.decision.again or self.elastic is not None:
            return outcome
        deadline = time.monotonic() + self.flags.restart_delay
        while (left := deadline - time.monotonic()) > 0:
            if any(isinstance(occurrence, SignalReceived) for occurrence in loop.wait(left)):
                return self._end_without_restart(outcome, TOLD_TO_STOP)
        return outcome

    def _end_without_restart(
        self, outcome: Outcome, decision: Decision, code: int | None = None
    ) -> Outcome:
        """Writes down that an attempt was to follow and does not: the last one was the last.

        `code`: to exit with, where that is not what the last attempt came to.
        """
        code = outcome.exit_code if code is None else code
        record, who = outcome.record, outcome.conclusion
        if record is not None and who is not None:
            record = amend(record, RestartRecord(*decision), code, who.verdict)
            self.decisions[record.attempt] = decision
            culprits = who.culprits if code != exit_codes.OK else ()
            self.observer.notice(Finished(record, code, culprits, who.role, decision))
        return outcome._replace(decision=decision, exit_code=code, record=record)

    def _planner(self, python: str, wheel: PaddleWheel | None) -> Callable[[Nodes], Plan]:
        """What will be planned once the nodes have met; refuses what is wrong before that."""
        mode = run_mode_of(self.flags)
        start = Start(python, self.pod, self.launch)
        if is_given(mode, self.environ) or mode in PS_MODES:
            from pdtriage.launch.plan.parameter_server import ps_planner

            return ps_planner(self.flags, mode, self.environ, wheel, self.probe, start)
        devices = find_devices(self.flags, self.environ, wheel, self.probe)
        assignments = assign(self.flags, devices)

        def collective(nodes: Nodes) -> Plan:
            cluster = nodes.gather(len(assignments), devices.dtype)
            self.flags = nodes.flags
            noted = cluster._replace(notes=(*devices.notes, *cluster.notes))
            return plan_collective(self.flags, devices, assignments, noted, start)

        return collective

    @contextlib.contextmanager
    def _guard(self) -> Iterator[tuple[FolderLock, Guardian, EventLoop]]:
        """The log folder is ours, a guardian is posted, and signals come to the loop."""
        refuse_lost_folder()
        with (
            contextlib.closing(FolderLock(self.flags.log_dir)) as lock,
            guard(self.launch, self.flags.failure_grace(), (lock.descriptor,)) as guardian,
            EventLoop() as loop,
            descriptors_in_reserve(),
        ):
            loop.ignore([guardian.pid])
            stacks = os.path.join(lock.folder, STACKS_FOLDER)
            self.environ = with_stack_signal(self.environ, stacks)
            self.observer.notice(Configured(self.flags))
            try:
                yield lock, guardian, loop
            finally:
                forget_stacks(stacks)

    def _run_paddle_launcher(self) -> Outcome:
        from pdtriage.launch.supervise.paddle_launcher import PaddleLauncher, refuse_a_secret

        python = choose_python(self.flags.python, self.environ)
        wheel = installed_paddle(python)
        refuse_without_paddle(python, wheel)
        refuse_a_secret(self.flags)
        with self._guard() as (lock, guardian, loop):
            become_subreaper()
            recorder = Recorder(lock.folder)
            guardian.write_to(os.path.abspath(recorder.path))
            recorder.launch(
                common_head(self.flags, self.launch, guardian, wheel)
                | {"job": self.flags.job_id, "launcher": "paddle"}
            )
            paddle = PaddleLauncher(
                self.flags,
                self.environ,
                self.launch,
                loop,
                recorder,
                self.observer,
                lambda channel: tell_peers(channel, recorder, self.analyst),
            )
            with contextlib.closing(paddle):
                ending = paddle.run(python, guardian, self.checks)
                return conclude(paddle, ending, paddle.channel, self.flags, self.analyst)
