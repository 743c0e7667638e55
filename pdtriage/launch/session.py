"""`pdtriage run`, from the words typed to the exit code."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage import exit_codes
from pdtriage.bilingual import Language
from pdtriage.launch.bookkeeping import (
    common_head,
    conclude,
    plan_head,
    process_record,
    read_back,
    start_fields,
)
from pdtriage.launch.cluster import Cluster
from pdtriage.launch.console import Console, print_refusal
from pdtriage.launch.devices import Assignment, Devices, Probe, assign, find_devices
from pdtriage.launch.environment import LAUNCH_VARIABLE, child_environment
from pdtriage.launch.files import backup_file, write_companions
from pdtriage.launch.flags import LaunchFlags, parse_flags
from pdtriage.launch.guardian import Guardian, guarded
from pdtriage.launch.happenings import Configured, Noted, Observer, Planned, Started
from pdtriage.launch.happenings import Watching as AllRunning
from pdtriage.launch.interpreter import PaddleWheel, choose_python, installed_paddle
from pdtriage.launch.nodes import Nodes, ToldToStop
from pdtriage.launch.outcome import Analyst, ExitOrderAnalyst, Outcome
from pdtriage.launch.plan import Plan, plan_collective, refuse_missing_script
from pdtriage.launch.probe import SystemProbe
from pdtriage.launch.processes import become_subreaper, birth_of, send_to_group
from pdtriage.launch.recorder import FolderLock, Recorder, now
from pdtriage.launch.refusal import RefusedError
from pdtriage.launch.shield import ShieldedAnalyst, ShieldedObserver
from pdtriage.launch.spawn import Child, not_started, spawn
from pdtriage.launch.supervise import Ending, Patience, Supervisor
from pdtriage.launch.support import PS_MODES, is_given, mode_of, refuse_unsupported
from pdtriage.launch.watch import Watch

if TYPE_CHECKING:
    # The HTTP modules are imported only by jobs of several nodes.
    from pdtriage.launch.facts import FactsChannel
    from pdtriage.launch.ps_lifetime import Lifetime

_PARTING = 3.0
"""Seconds a node that has ended waits for what the others saw."""


def run(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    analyst: Analyst | None = None,
    language: Language = "en",
    probe: Probe | None = None,
) -> Outcome:
    """Launch what `argv` (the words after `pdtriage run`) asks for and stay until it has ended.

    `observer` shows it (default: plain lines as Paddle's launcher prints them), `analyst` judges
    it (default: by exit order alone). Must be called in the main thread, for the signals.
    """
    variables = dict(os.environ if environ is None else environ)
    flags: LaunchFlags | None = None
    try:
        flags = parse_flags(argv, variables)
        if flags.lang in ("en", "zh"):
            language = "zh" if flags.lang == "zh" else "en"
        if flags.help:
            from pdtriage.launch.usage import help_text

            print(help_text(language), end="")
            return Outcome(exit_codes.OK, flags)
        shown = ShieldedObserver(Console(language) if observer is None else observer)
        judge = ShieldedAnalyst(ExitOrderAnalyst() if analyst is None else analyst, shown)
        cards = SystemProbe() if probe is None else probe
        return _Session(flags, variables, shown, judge, cards).run()
    except RefusedError as refusal:
        print_refusal(refusal, language)
        return Outcome(exit_codes.USAGE, flags, refusal=refusal)
    except ToldToStop as told:
        return Outcome(exit_codes.of_signal(told.number), flags)
    except KeyboardInterrupt:
        # Before or after the time in which signals go to the loop.
        return Outcome(exit_codes.of_signal(signal.SIGINT), flags)


class _Session:
    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        observer: Observer,
        analyst: Analyst,
        probe: Probe,
    ) -> None:
        self.flags = flags
        self.environ = environ
        self.observer = observer
        self.analyst = analyst
        self.probe = probe
        self.launch = os.urandom(8).hex()
        self.pod = "".join(chr(ord("a") + byte % 26) for byte in os.urandom(6))

    def run(self) -> Outcome:
        if self.flags.launcher == "paddle":
            return self._run_foreign()
        refuse_unsupported(self.flags)
        refuse_missing_script(self.flags.training_script, self.environ)
        python = choose_python(self.flags.python, self.environ)
        wheel = installed_paddle(python)
        planner = self._planner(python, wheel)
        with self._guarded() as (lock, guardian, watch):
            nodes = Nodes(self.flags, self.environ, self.pod, watch, self.observer)
            with contextlib.closing(nodes):
                plan = planner(nodes)
                for note in (*self.flags.notes, *plan.cluster.notes):
                    self.observer.notice(Noted(note, "WARNING"))
                channel = nodes.open_channel(plan.cluster)
                return self._attempt(plan, watch, guardian, wheel, lock, channel)

    def _planner(self, python: str, wheel: PaddleWheel | None) -> Callable[[Nodes], Plan]:
        """What will be planned once the nodes have met; refuses what is wrong before that."""
        mode = mode_of(self.flags)
        if is_given(mode, self.environ) or mode in PS_MODES:
            from pdtriage.launch.ps_plan import Start, ps_planner

            start = Start(python, self.pod, self.launch)
            return ps_planner(self.flags, mode, self.environ, wheel, self.probe, start)
        devices = find_devices(self.flags, self.environ, wheel, self.probe)
        assignments = assign(self.flags, devices)

        def collective(nodes: Nodes) -> Plan:
            cluster = nodes.gather(len(assignments), devices.dtype)
            self.flags = nodes.flags
            noted = cluster._replace(notes=(*devices.notes, *cluster.notes))
            return self._plan(devices, assignments, noted, python)

        return collective

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[tuple[FolderLock, Guardian, Watch]]:
        """The log folder is ours, a guardian is posted, and signals come to the loop."""
        with (
            contextlib.closing(FolderLock(self.flags.log_dir)) as lock,
            guarded(self.launch, self.flags.failure_grace(), (lock.descriptor,)) as guardian,
            Watch() as watch,
        ):
            watch.know([guardian.pid])
            self.observer.notice(Configured(self.flags))
            yield lock, guardian, watch

    def _run_foreign(self) -> Outcome:
        from pdtriage.launch.foreign import ForeignLauncher

        python = choose_python(self.flags.python, self.environ)
        wheel = installed_paddle(python)
        with self._guarded() as (lock, guardian, watch):
            become_subreaper()
            recorder = Recorder(lock.folder)
            guardian.write_to(os.path.abspath(recorder.path))
            recorder.launch(
                common_head(self.flags, self.launch, guardian, wheel)
                | {"job": self.flags.job_id, "launcher": "paddle"}
            )
            foreign = ForeignLauncher(
                self.flags,
                self.environ,
                self.launch,
                watch,
                recorder,
                self.observer,
                lambda channel: self._tell_peers(channel, recorder),
            )
            with contextlib.closing(foreign):
                ending = foreign.run(python, guardian)
                self._part(foreign.channel, foreign.listen, ending, recorder)
                return self._conclude(recorder, foreign.folder, foreign.logs(), ending)

    def _plan(
        self,
        devices: Devices,
        assignments: tuple[Assignment, ...],
        cluster: Cluster,
        python: str,
    ) -> Plan:
        return plan_collective(
            self.flags,
            devices,
            assignments,
            cluster,
            python=python,
            pod=self.pod,
            launch=self.launch,
        )

    def _attempt(
        self,
        plan: Plan,
        watch: Watch,
        guardian: Guardian,
        wheel: PaddleWheel | None,
        lock: FolderLock,
        channel: FactsChannel | None,
    ) -> Outcome:
        recorder = Recorder(lock.folder)
        guardian.write_to(os.path.abspath(recorder.path))
        recorder.launch(plan_head(self.flags, plan, guardian, wheel))
        self.observer.notice(Planned(plan, recorder.path))
        write_companions(plan)
        become_subreaper()
        children = self._start(plan, recorder, watch, guardian)
        self._log_cards(plan, guardian)
        self._warn(len(plan.processes))
        self.observer.notice(AllRunning(plan))
        supervisor = Supervisor(
            self.launch,
            children,
            watch,
            recorder,
            self.observer,
            Patience(self.flags.settle, self.flags.failure_grace(), self.flags.interrupt_grace()),
            besides=frozenset({guardian.pid}),
            on_failure=lambda: self._tell_peers(channel, recorder),
            lifetime=self._lifetime(plan, children, channel),
        )
        ending = supervisor.run()
        self._part(channel, supervisor.listen, ending, recorder)
        logs = {child.pid: child.plan.log for child in children}
        return self._conclude(recorder, plan.folder, logs, ending)

    def _lifetime(
        self, plan: Plan, children: Sequence[Child], channel: FactsChannel | None
    ) -> Lifetime | None:
        if not plan.trainer_nodes:
            return None
        from pdtriage.launch.ps_lifetime import lifetime_of

        return lifetime_of(plan, children, channel)

    def _log_cards(self, plan: Plan, guardian: Guardian) -> None:
        """Behind the trainers: nothing may delay them."""
        if plan.device_kind != "gpu" or not self.flags.enable_gpu_log:
            return
        from pdtriage.launch.gpu_log import start_gpu_log

        cards = [process.device or "" for process in plan.processes]
        numbers = tuple(card.removeprefix("gpu:") for card in cards)
        path = os.path.join(plan.folder, f"{plan.job}.gpu.log")
        marked = {**self.environ, LAUNCH_VARIABLE: self.launch}
        helper = start_gpu_log(path, numbers, marked)
        if helper is not None:
            guardian.watch(helper, birth_of(helper))

    def _warn(self, processes: int) -> None:
        """What the doctor sees at a glance; behind the trainers, too."""
        from pdtriage.doctor import cheap_findings

        for finding in cheap_findings(self.flags, self.environ, processes):
            self.observer.notice(Noted(finding.line(), "WARNING"))

    def _tell_peers(self, channel: FactsChannel | None, recorder: Recorder) -> None:
        if channel is not None:
            channel.publish("failed", self.analyst.facts(read_back(recorder.path)))

    def _part(
        self,
        channel: FactsChannel | None,
        listen: Callable[[float, Callable[[], bool]], None],
        ending: Ending,
        recorder: Recorder,
    ) -> None:
        """Say how it ended here and hear how it ended elsewhere."""
        if channel is None:
            return
        if ending.reason == "interrupted":
            channel.publish("failed", {"interrupted": ending.interrupted_by})
        elif ending.reason == "completed":
            channel.publish("done")
        elif ending.reason != "failed":
            # The culprit may be here although somebody else died first of it.
            channel.publish("stopped", self.analyst.facts(read_back(recorder.path)))
        listen(_PARTING, channel.all_over)
        if channel.reached is False and not channel.all_over():
            recorder.note("the exchange between the nodes could not be reached at the end")

    def _start(
        self, plan: Plan, recorder: Recorder, watch: Watch, guardian: Guardian
    ) -> list[Child]:
        children: list[Child] = []
        for process in plan.processes:
            environment = child_environment(
                self.environ, process.variables, backup_file(plan, process)
            )
            try:
                child = spawn(process, environment, plan.folder, overwrite=plan.overwrite)
            except OSError as error:
                for started in children:
                    send_to_group(started.pid, signal.SIGKILL)
                recorder.write("end", {"reason": "refused", **now()})
                raise not_started(process.argv[0], error) from None
            guardian.watch(child.pid, child.born)
            watch.add_child(child.pid)
            children.append(child)
            record = process_record(child)
            recorder.write("start", start_fields(record))
            self.observer.notice(Started(record, plan.folder))
        return children

    def _conclude(
        self, recorder: Recorder, folder: str, logs: Mapping[int, str], ending: Ending
    ) -> Outcome:
        return conclude(recorder, folder, logs, ending, self.flags, self.observer, self.analyst)
