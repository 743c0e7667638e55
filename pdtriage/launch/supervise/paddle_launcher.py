"""`--launcher paddle`: Paddle's own launcher does the work, we watch it from outside."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.addresses import split_endpoint
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.devices import KIND_OF_FLAG
from pdtriage.launch.plan.environment import launched_environment
from pdtriage.launch.supervise.conclude import tell_of_stop
from pdtriage.launch.supervise.console_copy import ConsoleFile, console_name
from pdtriage.launch.supervise.event_loop import Death, EventLoop
from pdtriage.launch.supervise.events import Noted, Observer, Started
from pdtriage.launch.supervise.guardian import Guardian
from pdtriage.launch.supervise.inspect_process import inspect_pid
from pdtriage.launch.supervise.isolation import do_beside
from pdtriage.launch.supervise.outcome import LaunchChecks
from pdtriage.launch.supervise.policy import (
    AllEnded,
    Coordinate,
    Forward,
    Policy,
    StartedAgain,
    TimePassed,
    patience_of,
)
from pdtriage.launch.supervise.processes import birth_of, children_of, reset_signals, send_signal
from pdtriage.launch.supervise.supervisor import Ending, Supervision
from pdtriage.record.schema import ProcessRecord
from pdtriage.record.writer import Recorder

if TYPE_CHECKING:
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel

MODULE = "paddle.distributed.launch"
_LOOK, _QUICK_LOOK = 0.025, 0.004
"""Seconds between looks at the launcher's children; a trainer that finds nothing to do, or no
module to import, lives for 15 ms, and once it is dead nobody knows which rank it was."""
_PATIENCE = 2.0
"""Seconds that Paddle's launcher gives its processes at least, from the first failure on."""
_QUICK_FOR = 5.0
"""Seconds after a start or a death in which others are likely."""
_OWN_GRACE = 5.0
"""Seconds that Paddle's launcher has beyond the grace period of its trainers."""


def refuse_a_secret(flags: LaunchFlags) -> None:
    """Where a node of pdtriage serves a job that has a secret, Paddle's launcher waits for ever."""
    if not flags.master or "://" in flags.master:
        return
    from pdtriage.launch.rendezvous.kv import KVClient
    from pdtriage.launch.rendezvous.meeting_words import secret_under_paddles

    with contextlib.suppress(ValueError):
        client = KVClient(*split_endpoint(flags.master), timeout=1.0)
        client.get_prefix(f"/{flags.job_id}/info")
        if client.refused:
            raise secret_under_paddles(client.endpoint)


class PaddleLauncher(Supervision):
    """Runs Paddle's launcher and records what becomes of its processes."""

    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        launch: str,
        loop: EventLoop,
        recorder: Recorder,
        observer: Observer,
        on_failure: Callable[[FactsChannel | None], None],
    ) -> None:
        patience = patience_of(flags, _OWN_GRACE)
        until = time.monotonic() + flags.timeout if flags.timeout > 0 else None
        policy = Policy(patience, delegates=True, until=until)
        folder = os.path.abspath(flags.log_dir)
        super().__init__(launch, folder, loop, recorder, observer, policy)
        self.flags = flags
        self.environ = launched_environment(environ, launch)
        self.on_failure = on_failure
        self.sizes = self.sizes_after = _sizes_in(folder)
        """Of the logs: where this attempt began, and where another one would."""
        self.attempt = 0
        """An elastic job is restarted by Paddle's launcher itself."""
        self.channel: FactsChannel | None = None
        self.console = ConsoleFile(self._console_path())
        self._launcher = 0
        self._local_size = 0
        """How many trainers an attempt has here, as soon as one of them was seen."""
        self._inspected: set[int] = set()
        self._quick_until = math.inf
        """Until the first trainer is there, starts are likely at any time."""

    def run(self, python: str, guardian: Guardian, checks: LaunchChecks | None) -> Ending:
        argv = [python, "-m", MODULE, *self.flags.passthrough]
        pid = self._launcher = os.posix_spawn(
            python,
            argv,
            self.environ,
            file_actions=self.console.file_actions,
            setsid=True,
            setsigmask=[],
            setsigdef=reset_signals(),
        )
        self.console.start()
        guardian.watch(pid, birth_of(pid))
        self.loop.add_child(pid)
        self._start_launcher(pid)
        if checks is not None:
            do_beside(lambda: self._warn(checks), self.observer)
        self.announce()
        while pid in self.alive:
            self._find_trainers()
            self.turn(_QUICK_LOOK if time.monotonic() < self._quick_until else _LOOK)
            self.advance(TimePassed())
        self.advance(AllEnded())
        self.sweep(self.flags.failure_grace())
        self.turn(0)
        self.console.close()
        return Ending(self.policy.ending(), self.policy.interrupted_by)

    def close(self) -> None:
        self.console.close()
        if self.channel is not None:
            self.channel.close()

    def is_stopped(self, process: ProcessRecord, death: Death) -> bool:
        """Paddle's launcher ends the rest with SIGTERM, and nobody else is around to do so.

        When it was told to stop itself, all its processes are: some then exit with a code.
        """
        if self.policy.interrupted_by is not None and process.role != "launcher":
            return True
        if death.code is death.signal is None and self._was_launcher_killed():
            return True  # by us: nobody else was left to end it
        ending = self.policy.reason is not None or self._ends_unseen()
        if death.signal == signal.SIGKILL:
            return ending and self._was_given_up(death)
        return death.signal == signal.SIGTERM and (ending or self._only_served(process))

    def _was_given_up(self, death: Death) -> bool:
        """Paddle's launcher kills what has not obeyed SIGTERM for some seconds."""
        failed = [
            other.monotonic
            for other in self.deaths
            if self.processes[other.pid].attempt == self.attempt and (other.signal or other.code)
        ]
        return bool(failed) and death.monotonic - min(failed) > _PATIENCE

    def record_death(self, death: Death) -> None:
        self.sizes_after = _sizes_in(self.folder)
        self._quick_until = time.monotonic() + _QUICK_FOR
        super().record_death(death)

    def signal_all(self, number: int, reason: str) -> None:  # noqa: ARG002
        for member in self.members():
            send_signal(member, number)

    def pass_on(self, action: Forward | Coordinate) -> None:
        if isinstance(action, Coordinate) and action.what == "interrupted":
            tell_of_stop(self.channel, action.signal)
            if self.channel is not None:
                # Paddle's launcher closes the place where nodes meet as soon as it is told to stop.
                self.channel.await_readers()
        elif isinstance(action, Coordinate):
            self.on_failure(self.channel)
        elif self._launcher in self.alive:
            send_signal(self._launcher, action.signal)

    def _warn(self, checks: LaunchChecks) -> None:
        """What the checks find, as far as the flags tell what will be started."""
        kind = KIND_OF_FLAG.get(self.flags.device_flag, "gpu")
        listed = (self.flags.devices or "").split(",")
        cards = [f"{kind}:{card.strip()}" for card in listed if card.strip()]
        processes = self.flags.nproc_per_node or len(cards) or 1
        for warning in checks(self.flags, self.environ, processes, cards=cards):
            self.observer.notice(Noted(warning, "WARNING"))

    def _find_trainers(self) -> None:
        for pid in children_of(self._launcher):
            if pid in self._inspected or pid in self.processes:
                continue
            seen = inspect_pid(pid, self.sizes)
            if seen is None:
                # Perhaps not executed yet: until then it has its parent's environment.
                continue
            self._inspected.add(pid)
            self._local_size = seen.local_size or self._local_size
            if not self.loop.add_stranger(pid):
                continue
            if len(self.processes) == 1:  # the launcher alone
                self.recorder.launch(dict(seen.job))
                self._open_channel(seen.cluster)
            self._add_trainer(seen.process)

    def _add_trainer(self, process: ProcessRecord) -> None:
        before = self._predecessor(process)
        if before in self.alive:
            # Its death may not have been collected yet.
            self.turn(0)
        if before is not None and before not in self.alive:
            self.attempt += 1
            self.advance(StartedAgain())
            self.sizes = self.sizes_after
            process = process._replace(offset=self.sizes.get(process.log or "", 0))
        self._start(process._replace(attempt=self.attempt))

    def _predecessor(self, process: ProcessRecord) -> int | None:
        """The process that had the same part in this attempt: only a restart gives it to another
        one."""
        part = _part(process)
        for pid, other in self.processes.items():
            same = other.attempt == self.attempt and _part(other) == part
            if same and part[1] is not None:
                return pid
        return None

    def _open_channel(self, cluster: Cluster | None) -> None:
        """Where the nodes meet at a key-value master, facts travel over it as well."""
        if cluster is None or not self.flags.master or self.flags.master.startswith("etcd:"):
            return
        from pdtriage.launch.rendezvous.job_nodes import no_channel
        from pdtriage.launch.rendezvous.job_secret import exchange_of, read_secret
        from pdtriage.launch.rendezvous.kv import KVClient
        from pdtriage.launch.rendezvous.peer_channel import FactsChannel

        secret = read_secret(self.flags.secret.reveal())
        client = KVClient(*split_endpoint(self.flags.master), secret=secret)
        place = exchange_of(client, secret, self.launch, cluster)
        try:
            self.channel = FactsChannel(
                place, cluster, self.flags.job_id, self.loop.send, address=client.host
            )
        except OSError as error:
            self.observer.notice(Noted(no_channel(error), "WARNING"))

    def _start_launcher(self, pid: int) -> None:
        process = ProcessRecord(
            "launcher", None, None, None, None, pid, None, 0, time.time(), time.monotonic()
        )
        self.watch(process, birth_of(pid))
        self.recorder.start(process)
        self.recorder.launch({"pid": pid})
        console = os.path.relpath(self._console_path(), self.folder)
        shown = process._replace(log=console if self.console.is_open else None)
        self.observer.notice(Started(shown, self.folder))

    def _console_path(self) -> str:
        folder = os.path.dirname(os.path.abspath(self.recorder.path))
        return os.path.join(folder, console_name(self.recorder.path))

    def _start(self, process: ProcessRecord) -> None:
        self._quick_until = time.monotonic() + _QUICK_FOR
        self.watch(process, birth_of(process.pid))
        self.recorder.start(process)
        self.observer.notice(Started(process, self.folder))

    def _was_launcher_killed(self) -> bool:
        return any(d.pid == self._launcher and d.signal is not None for d in self.deaths)

    def _ends_unseen(self) -> bool:
        """Whether a trainer of this attempt ended and nobody saw how: it came and went between
        two looks, or Paddle's launcher collected it before us."""
        trainers = {
            pid
            for pid, process in self.processes.items()
            if process.role == "worker" and process.attempt == self.attempt
        }
        unseen = (death.pid for death in self.deaths if death.code is death.signal is None)
        return len(trainers) < self._local_size or not trainers.isdisjoint(unseen)

    def _only_served(self, process: ProcessRecord) -> bool:
        """Not a trainer, and there is none left: this is how Paddle ends its servers."""
        trainers = {pid for pid, other in self.processes.items() if other.role == "worker"}
        serves = process.role in ("server", "heter", "coordinator")
        return serves and bool(trainers) and not trainers & self.alive


def _part(process: ProcessRecord) -> tuple[str, int | str | None]:
    local = process.local_rank
    return process.role, process.log if local is None else local


def _sizes_in(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
    except OSError:
        return {}
