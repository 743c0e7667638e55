"""`--launcher paddle`: Paddle's own launcher does the work, we watch it from outside."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.environment import LAUNCH_VARIABLE
from pdtriage.launch.plan.network import split_endpoint
from pdtriage.launch.supervise.event_loop import Death, EventLoop, SignalReceived
from pdtriage.launch.supervise.events import (
    Died,
    Interrupted,
    Noted,
    Observer,
    PeerBack,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    Started,
)
from pdtriage.launch.supervise.guardian import Guardian, end_members
from pdtriage.launch.supervise.inspect_process import look_at
from pdtriage.launch.supervise.outcome import LaunchChecks, has_failed
from pdtriage.launch.supervise.processes import (
    birth_of,
    children_of,
    members_of_launch,
    reset_signals,
    send,
)
from pdtriage.launch.supervise.supervisor import Ending, peer_record
from pdtriage.record.schema import DeathRecord, ProcessRecord
from pdtriage.record.writer import Recorder

if TYPE_CHECKING:
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel

MODULE = "paddle.distributed.launch"
_KINDS = {"gpus": "gpu", "xpus": "xpu", "npus": "npu"}
_LOOK = 0.025
"""Seconds between looks at the launcher's children: a trainer may die as soon as it starts."""


class PaddleLauncher:
    """Runs Paddle's launcher and records what becomes of its processes."""

    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        launch: str,
        watch: EventLoop,
        recorder: Recorder,
        observer: Observer,
        on_failure: Callable[[FactsChannel | None], None],
        checks: LaunchChecks | None,
    ) -> None:
        self.flags = flags
        self.environ = dict(environ) | {LAUNCH_VARIABLE: launch}
        self.launch = launch
        self.watch = watch
        self.recorder = recorder
        self.observer = observer
        self.folder = os.path.abspath(flags.log_dir)
        self.sizes = self.sizes_after = _sizes_in(self.folder)
        """Of the logs: where this attempt began, and where another one would."""
        self.processes: dict[int, ProcessRecord] = {}
        self.alive: set[int] = set()
        self.deaths: list[DeathRecord] = []
        self.attempt = 0
        self.recent: list[DeathRecord] = []
        """Of this attempt: an elastic job is restarted by Paddle's launcher itself."""
        self.looked_at: set[int] = set()
        self.interrupted_by: int | None = None
        self.kill_at: float | None = None
        self.tell_at: float | None = None
        self.channel: FactsChannel | None = None
        self.on_failure = on_failure
        self.checks = checks
        self._next_beat = 0.0

    def run(self, python: str, guardian: Guardian) -> Ending:
        argv = [python, "-m", MODULE, *self.flags.passthrough]
        pid = os.posix_spawn(
            python, argv, self.environ, setsid=True, setsigmask=[], setsigdef=reset_signals()
        )
        born = birth_of(pid)
        guardian.watch(pid, born)
        self.watch.add_child(pid)
        self._started(
            ProcessRecord(
                "launcher", None, None, None, None, pid, None, 0, time.time(), time.monotonic()
            )
        )
        self.recorder.launch({"pid": pid})
        self._warn()
        while self.alive:
            if pid in self.alive:
                self._look_for_trainers(pid)
            self._turn(_LOOK)
            if self.kill_at is not None and time.monotonic() >= self.kill_at:
                self.kill_at += 1.0
                for member in members_of_launch(self.launch, {pid: born}):
                    send(member, signal.SIGKILL)
            if self.tell_at is not None and time.monotonic() >= self.tell_at:
                self._tell()
            if pid not in self.alive:
                break
        if self.tell_at is not None:
            self._tell()
        self._sweep(pid, born)
        return Ending(self._reason(), self.interrupted_by, tuple(self.deaths))

    def logs(self) -> dict[int, str]:
        """The log file of every process that has one."""
        return {pid: process.log for pid, process in self.processes.items() if process.log}

    def listen(self, seconds: float, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + seconds
        told = self.interrupted_by
        while not until() and time.monotonic() < deadline and self.interrupted_by == told:
            self._turn(0.05)
        # What made it true may still lie in the queue.
        self._turn(0)

    def close(self) -> None:
        if self.channel is not None:
            self.channel.close()

    def _warn(self) -> None:
        """What the checks find, as far as the flags tell what will be started."""
        if self.checks is None:
            return
        kind = _KINDS.get(self.flags.device_flag, "gpu")
        listed = (self.flags.devices or "").split(",")
        cards = [f"{kind}:{card.strip()}" for card in listed if card.strip()]
        processes = self.flags.nproc_per_node or len(cards) or 1
        for warning in self.checks(self.flags, self.environ, processes, cards=cards):
            self.observer.notice(Noted(warning, "WARNING"))

    def _tell(self) -> None:
        self.tell_at = None
        self.on_failure(self.channel)

    def _look_for_trainers(self, launcher: int) -> None:
        for pid in children_of(launcher):
            if pid in self.looked_at or pid in self.processes:
                continue
            seen = look_at(pid, self.sizes)
            if seen is None:
                # Perhaps not executed yet: until then it has its parent's environment.
                continue
            self.looked_at.add(pid)
            if not self.watch.add_stranger(pid):
                continue
            if not any(process.role != "launcher" for process in self.processes.values()):
                self.recorder.launch(dict(seen.job))
                self._open_channel(seen.cluster)
            self._trains(seen.process)

    def _trains(self, process: ProcessRecord) -> None:
        holder = self._holder(process)
        if holder in self.alive:
            # Its death may not have been heard of yet.
            self._turn(0)
        if holder is not None and holder not in self.alive:
            self.attempt += 1
            self.recent = []
            self.sizes = self.sizes_after
            process = process._replace(offset=self.sizes.get(process.log or "", 0))
        self._started(process._replace(attempt=self.attempt))

    def _holder(self, process: ProcessRecord) -> int | None:
        """Who had the same place in this attempt: only a restart gives it to another process."""
        place = _place(process)
        for pid, other in self.processes.items():
            same = other.attempt == self.attempt and _place(other) == place
            if same and place[1] is not None:
                return pid
        return None

    def _open_channel(self, cluster: Cluster | None) -> None:
        """Where the nodes meet at a key-value master, facts travel over it as well."""
        if cluster is None or not self.flags.master or self.flags.master.startswith("etcd:"):
            return
        from pdtriage.launch.rendezvous.kv import KVClient
        from pdtriage.launch.rendezvous.peer_channel import FactsChannel

        client = KVClient(*split_endpoint(self.flags.master))
        self.channel = FactsChannel(client, cluster, self.flags.job_id, self.watch.send)

    def _turn(self, timeout: float) -> None:
        for occurrence in self.watch.wait(timeout):
            if isinstance(occurrence, Death):
                self._died(occurrence)
            elif isinstance(occurrence, SignalReceived):
                self._told(occurrence.signal)
            elif isinstance(occurrence, (PeerSpoke, PeerSilent, PeerBack, PeerDiffers)):
                self.observer.notice(occurrence)
                self.recorder.peer(peer_record(occurrence))
        beat = self.observer.beat_seconds
        if beat is not None and time.monotonic() >= self._next_beat:
            self.observer.beat()
            self._next_beat = time.monotonic() + beat

    def _started(self, process: ProcessRecord) -> None:
        self.processes[process.pid] = process
        self.alive.add(process.pid)
        self.recorder.start(process)
        self.observer.notice(Started(process, self.folder))

    def _died(self, death: Death) -> None:
        self.alive.discard(death.pid)
        process = self.processes[death.pid]
        failed_before = any(_failed_itself(earlier) for earlier in self.recent)
        record = DeathRecord(
            order=len(self.deaths),
            role=process.role,
            rank=process.rank,
            local_rank=process.local_rank,
            pid=death.pid,
            time=death.time,
            monotonic=death.monotonic,
            code=death.code,
            signal=death.signal,
            core=death.core,
            # Paddle's launcher ends the rest with SIGTERM, and nobody else is around to do so.
            stopped=death.signal == signal.SIGTERM
            and (failed_before or self.interrupted_by is not None or self._only_served(process)),
        )
        self.deaths.append(record)
        self.recent.append(record)
        self.sizes_after = _sizes_in(self.folder)
        self.recorder.death(record)
        first = _failed_itself(record) and not failed_before
        if first:
            self.tell_at = death.monotonic + self.flags.settle
        self.observer.notice(Died(record, first))

    def _only_served(self, process: ProcessRecord) -> bool:
        """Not a trainer, and there is none left: this is how Paddle ends its servers."""
        trainers = {pid for pid, other in self.processes.items() if other.role == "worker"}
        serves = process.role in ("server", "heter", "coordinator")
        return serves and bool(trainers) and not trainers & self.alive

    def _told(self, number: int) -> None:
        again = self.interrupted_by is not None
        self.observer.notice(Interrupted(number, again=again))
        for pid, process in self.processes.items():
            if process.role == "launcher" and pid in self.alive:
                send(pid, number)
        moment = time.monotonic()
        if again and number == signal.SIGINT:
            self.kill_at = moment
        elif not again:
            self.interrupted_by = number
            # Paddle's launcher takes up to 30 s by itself.
            self.kill_at = moment + self.flags.interrupt_grace() + 5

    def _sweep(self, launcher: int, born: int) -> None:
        sessions = {launcher: born} | {
            pid: birth_of(pid) for pid in self.processes if pid != launcher
        }
        own = {os.getpid()}
        end_members(
            lambda: members_of_launch(self.launch, sessions, besides=own),
            self.flags.failure_grace(),
            wait=self._turn,
        )
        self._turn(0)

    def _reason(self) -> str:
        if self.interrupted_by is not None:
            return "interrupted"
        return "failed" if any(_failed_itself(death) for death in self.recent) else "completed"


def _failed_itself(death: DeathRecord) -> bool:
    return has_failed(death) and not death.stopped


def _place(process: ProcessRecord) -> tuple[str, int | str | None]:
    local = process.local_rank
    return process.role, process.log if local is None else local


def _sizes_in(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
    except OSError:
        return {}
