"""`--launcher paddle`: Paddle's own launcher does the work, we watch it from outside."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import NamedTuple

from pdtriage.launch.bookkeeping import start_fields
from pdtriage.launch.environment import LAUNCH_VARIABLE
from pdtriage.launch.flags import LaunchFlags
from pdtriage.launch.guardian import Guardian, end_members
from pdtriage.launch.happenings import Died, Interrupted, Observer, Started
from pdtriage.launch.outcome import has_failed
from pdtriage.launch.processes import (
    birth_of,
    children_of,
    environment_of,
    members_of_launch,
    reset_signals,
    send,
)
from pdtriage.launch.record import DeathRecord, ProcessRecord
from pdtriage.launch.recorder import Recorder
from pdtriage.launch.supervise import Ending
from pdtriage.launch.watch import Death, Told, Watch

MODULE = "paddle.distributed.launch"
_LOOK = 0.025
"""Seconds between looks at the launcher's children: a trainer may die as soon as it starts."""
_ROLES = {"PSERVER": "server", "HETER_TRAINER": "heter", "COORDINATOR": "coordinator"}


class Seen(NamedTuple):
    """A process of the job as it looks from outside."""

    process: ProcessRecord
    job: Mapping[str, object]
    """What its environment says about the whole job."""


class ForeignLauncher:
    """Runs Paddle's launcher and records what becomes of its processes."""

    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        launch: str,
        watch: Watch,
        recorder: Recorder,
        observer: Observer,
    ) -> None:
        self.flags = flags
        self.environ = dict(environ) | {LAUNCH_VARIABLE: launch}
        self.launch = launch
        self.watch = watch
        self.recorder = recorder
        self.observer = observer
        self.folder = os.path.abspath(flags.log_dir)
        self.sizes = _sizes_in(self.folder)
        self.processes: dict[int, ProcessRecord] = {}
        self.alive: set[int] = set()
        self.deaths: list[DeathRecord] = []
        self.looked_at: set[int] = set()
        self.interrupted_by: int | None = None
        self.kill_at: float | None = None
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
        while self.alive:
            if pid in self.alive:
                self._look_for_trainers(pid)
            self._turn(_LOOK)
            if self.kill_at is not None and time.monotonic() >= self.kill_at:
                self.kill_at += 1.0
                for member in members_of_launch(self.launch, {pid: born}):
                    send(member, signal.SIGKILL)
            if pid not in self.alive:
                break
        self._sweep(pid, born)
        return Ending(self._reason(), self.interrupted_by, tuple(self.deaths))

    def logs(self) -> dict[int, str]:
        """The log file of every process that has one."""
        return {pid: process.log for pid, process in self.processes.items() if process.log}

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
            self._started(seen.process)

    def _turn(self, timeout: float) -> None:
        for occurrence in self.watch.wait(timeout):
            if isinstance(occurrence, Death):
                self._died(occurrence)
            elif isinstance(occurrence, Told):
                self._told(occurrence.signal)
        beat = self.observer.beat_seconds
        if beat is not None and time.monotonic() >= self._next_beat:
            self.observer.beat()
            self._next_beat = time.monotonic() + beat

    def _started(self, process: ProcessRecord) -> None:
        self.processes[process.pid] = process
        self.alive.add(process.pid)
        self.recorder.write("start", start_fields(process))
        self.observer.notice(Started(process, self.folder))

    def _died(self, death: Death) -> None:
        self.alive.discard(death.pid)
        process = self.processes[death.pid]
        failed_before = any(has_failed(earlier) for earlier in self.deaths)
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
            and (failed_before or self.interrupted_by is not None),
        )
        self.deaths.append(record)
        self.recorder.write("death", record._asdict())
        self.observer.notice(Died(record, first=has_failed(record) and not failed_before))

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
        return "failed" if any(has_failed(death) for death in self.deaths) else "completed"


def look_at(pid: int, sizes: Mapping[str, int]) -> Seen | None:
    """A trainer or server by its environment; None for anything else."""
    variables = environment_of(pid)
    if "PADDLE_RANK_IN_NODE" not in variables and "PADDLE_PORT" not in variables:
        return None
    log = _log_of(pid)
    role = _ROLES.get(variables.get("TRAINING_ROLE", ""), "worker")
    rank = _whole(variables.get("PADDLE_TRAINER_ID"))
    local = variables.get("PADDLE_LOCAL_RANK", variables.get("PADDLE_RANK_IN_NODE"))
    process = ProcessRecord(
        role=role,
        rank=rank,
        local_rank=_whole(local),
        device=_device_of(variables),
        endpoint=variables.get("PADDLE_CURRENT_ENDPOINT"),
        pid=pid,
        log=log,
        offset=sizes.get(log or "", 0),
        started=time.time(),
        monotonic=time.monotonic(),
    )
    endpoints = [part for part in variables.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if part]
    job: dict[str, object] = {
        "world_size": _whole(variables.get("PADDLE_TRAINERS_NUM")),
        "endpoints": endpoints,
        "master": variables.get("PADDLE_MASTER"),
        "nnodes": _whole(variables.get("PADDLE_NNODES")) or 1,
        "pod": variables.get("POD_NAME", ""),
        "mode": "collective" if "TRAINING_ROLE" not in variables else "ps",
    }
    if process.endpoint:
        job["address"] = process.endpoint.rpartition(":")[0]
    size = _whole(variables.get("PADDLE_LOCAL_SIZE"))
    if rank is not None and size:
        job["node_rank"] = rank // size
    return Seen(process, job)


def _log_of(pid: int) -> str | None:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/fd/1"))
    except OSError:
        return None


def _device_of(variables: Mapping[str, str]) -> str | None:
    for kind in ("gpu", "xpu", "npu"):
        selected = variables.get(f"FLAGS_selected_{kind}s")
        if selected:
            visible = variables.get("CUDA_VISIBLE_DEVICES", "").split(",")
            if kind == "gpu" and selected.isdigit() and int(selected) < len(visible):
                selected = visible[int(selected)] or selected
            return f"{kind}:{selected}"
    return None


def _whole(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def _sizes_in(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
    except OSError:
        return {}
