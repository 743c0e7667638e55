"""The plain view: launcher lines on stderr in Paddle's style, rank 0's log on stdout."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import BinaryIO, TextIO

from pdtriage.launch.console import legacy, parameter_server, restart
from pdtriage.launch.options.flags import DEFAULT_START_PORT, FLAGS, LaunchFlags
from pdtriage.launch.options.unsupported import mode_of
from pdtriage.launch.plan.cluster import node_count
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.launch.supervise.events import (
    AllStarted,
    Configured,
    Died,
    Finished,
    Interrupted,
    Invited,
    LaunchEvent,
    Noted,
    PeerBack,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    Planned,
    Reforming,
    Restarting,
    Started,
    Stopping,
    Trained,
)
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_PADDLE_GROUPS = ("common", "new")
_CHUNK = 1 << 20


class Console:
    """Shows a launch the way people know it from Paddle's launcher."""

    beat_seconds: float | None = 0.1

    def __init__(
        self,
        language: Language = "en",
        *,
        lines: TextIO | None = None,
        log: BinaryIO | None = None,
    ) -> None:
        self.language = language
        self._lines = sys.stderr if lines is None else lines
        self._log = sys.stdout.buffer if log is None else log
        self._flags = LaunchFlags()
        self._followed: int | None = None
        self._alone = False

    def notice(self, event: LaunchEvent) -> None:
        if isinstance(event, Noted):
            self._say(event.level, event.text.in_(self.language))
        elif isinstance(event, Configured):
            self._configured(event.flags)
        elif isinstance(event, Invited):
            self._invited(event)
        elif isinstance(event, Planned):
            self._planned(event.plan)
        elif isinstance(event, Started):
            self._follow(event)
        elif isinstance(event, AllStarted):
            self._say("INFO", f"Watching {_pod(event.plan)} running")
            if event.plan.trainer_nodes:
                self._say("INFO", parameter_server.where_to_look(event.plan))
        elif isinstance(event, Died):
            self._died(event)
        elif isinstance(event, Trained):
            if event.unheard:
                self._say("WARNING", parameter_server.unheard(event.unheard).in_(self.language))
            self._say("INFO", parameter_server.ALL_TRAINED)
        elif isinstance(event, Stopping) and event.reason == "finished":
            self._say("DEBUG", _sentence(event).in_(self.language))
        elif isinstance(event, (Stopping, Interrupted, PeerSilent, PeerDiffers, PeerBack)):
            self._say("WARNING", _sentence(event).in_(self.language))
        elif isinstance(event, PeerSpoke):
            self._peer_spoke(event)
        elif isinstance(event, Reforming):
            self._follow_no_more()
            self._say("INFO", restart.reform_line(event).in_(self.language))
        elif isinstance(event, Restarting):
            self._restarting(event)
        elif isinstance(event, Finished):
            self._finished(event)

    def beat(self) -> None:
        """Pass on what the followed process wrote since the last time."""
        if self._followed is None:
            return
        while chunk := os.read(self._followed, _CHUNK):
            try:
                self._log.write(chunk)
                self._log.flush()
            except (OSError, ValueError):
                # The reader of our output went away (`| head`); the job goes on without it.
                _silence(self._log)
                os.close(self._followed)
                self._followed = None
                return

    def _say(self, level: str, text: str) -> None:
        wanted = self._flags.log_level.upper()
        if wanted in _LEVELS and _LEVELS.index(level) < _LEVELS.index(wanted):
            return
        moment = time.time()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
        self._write(f"LAUNCH {level} {stamp},{int(moment % 1 * 1000):03d} {text}\n")

    def _write(self, text: str) -> None:
        try:
            self._lines.write(text)
            self._lines.flush()
        except (OSError, ValueError):
            # A closed terminal must not end the job before its children are ended properly.
            _silence(self._lines)

    def _configured(self, flags: LaunchFlags) -> None:
        self._flags = flags
        if flags.launcher == "paddle":
            return  # It says so itself, and shows rank 0's log, too.
        self._say("INFO", "-----------  Configuration  ----------------------")
        for name, value in sorted(_shown(flags).items()):
            self._say("INFO", f"{name}: {value}")
        self._say("INFO", "--------------------------------------------------")

    def _invited(self, invited: Invited) -> None:
        import shlex

        heading = Text(
            "Copy the following command to other nodes to run.",
            "请把下面的命令复制到其他节点运行。",
        )
        rule = "-" * 80
        command = shlex.join(invited.command)
        self._write(f"{heading.in_(self.language)}\n{rule}\n{command}\n{rule}\n")

    def _planned(self, plan: Plan) -> None:
        self._say("INFO", job_line(plan, self._flags))
        self._say("INFO", f"Run {_pod(plan)} ready")
        if plan.trainer_nodes:
            for line in parameter_server.planned_lines(plan, self._flags):
                self._say("INFO", line)
        elif plan.mode == "collective" and legacy.uses_legacy_flags(self._flags):
            for line in legacy.planned_lines(plan):
                self._say("INFO", line)
        self._alone = len(plan.processes) == 1

    def _follow(self, started: Started) -> None:
        process = started.process
        shown = self._alone or (process.role == "worker" and process.local_rank == 0)
        if not shown or process.log is None or self._flags.quiet:
            return
        if self._flags.launcher == "paddle":
            return
        self._followed = os.open(os.path.join(started.folder, process.log), os.O_RDONLY)
        os.lseek(self._followed, process.offset, os.SEEK_SET)

    def _died(self, died: Died) -> None:
        if died.first:
            self._say("ERROR", _end_of(died).in_(self.language))
        else:
            self._say("DEBUG", _end_of(died).in_(self.language))

    def _peer_spoke(self, spoke: PeerSpoke) -> None:
        if not spoke.facts.failed:
            return
        rank, role = spoke.facts.rank, spoke.facts.role
        who = Text(f"node {spoke.node} failed", f"节点 {spoke.node} 失败").in_(self.language)
        name = role if role in ("server", "heter", "coordinator") else "rank"
        self._say("ERROR", who if rank is None else f"{who}: {name} {rank}")

    def _restarting(self, restarting: Restarting) -> None:
        self._follow_no_more()
        self._say("INFO", "Pod failed")
        failed, again = restart.restart_lines(restarting)
        self._say("ERROR", failed.in_(self.language))
        self._say("WARNING", again.in_(self.language))

    def _follow_no_more(self) -> None:
        self.beat()
        if self._followed is not None:
            os.close(self._followed)
            self._followed = None

    def _finished(self, finished: Finished) -> None:
        self._follow_no_more()
        if finished.exit_code == 0:
            for line in parameter_server.ended_lines(finished.record):
                self._say("INFO", line)
        self._say("INFO", "Pod completed" if finished.exit_code == 0 else "Pod failed")
        if finished.culprits and finished.role == "worker":
            self._say("ERROR", abort_line(finished.record.world_size or 0, finished.culprits))
        elif finished.culprits:
            self._say("ERROR", parameter_server.abort_line(finished.role, finished.culprits))
        if finished.decision is not None:
            ended = restart.ended_line(finished.decision)
            self._say("WARNING", ended.in_(self.language))
        self._say("INFO", f"Exit code {finished.exit_code}")


def abort_line(world_size: int, culprits: Sequence[int]) -> str:
    """The documented line, word for word."""
    return (
        f"ABORT!!! Out of all {world_size} trainers, the trainer process with "
        f"rank={list(culprits)} was aborted. Please check its log."
    )


def job_line(plan: Plan, flags: LaunchFlags) -> str:
    nodes = len(plan.cluster.nodes)
    least, most = node_count(flags) if plan.cluster.meeting == "master" else (nodes, nodes)
    return (
        f"Job: {plan.job}, mode {plan.mode}, replicas {nodes}[{least}:{most}], "
        f"elastic {':' in flags.nnodes}"
    )


def print_refusal(refusal: UserError, language: Language, stream: TextIO | None = None) -> None:
    target = sys.stderr if stream is None else stream
    with contextlib.suppress(OSError, ValueError):
        target.write(f"pdtriage run: {refusal.text.in_(language)}\n")
        target.flush()


def _shown(flags: LaunchFlags) -> dict[str, object]:
    """What the configuration block lists: the usual flags, and whatever was asked for."""
    names = {flag.name for flag in FLAGS if flag.group in _PADDLE_GROUPS} | flags.given
    shown: dict[str, object] = {name: getattr(flags, name) for name in names}
    shown["run_mode"] = mode_of(flags)
    shown["start_port"] = flags.start_port or DEFAULT_START_PORT
    shown["training_script"] = flags.training_script
    shown["training_script_args"] = list(flags.training_script_args)
    return shown


def _silence(stream: TextIO | BinaryIO) -> None:
    """Let what is still buffered go nowhere, or the interpreter's last flush fails with 120."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _pod(plan: Plan) -> str:
    return f"Pod: {plan.pod}, replicas {len(plan.processes)}, status"


def _end_of(died: Died) -> Text:
    death = died.death
    role = "rank" if death.role == "worker" else death.role
    name = role if death.rank is None else f"{role} {death.rank}"  # a launcher has no rank
    who_en, who_zh = f"{name} (pid {death.pid})", f"{name}（pid {death.pid}）"
    if death.signal is not None:
        by = _signal_name(death.signal)
        core = (", core dumped", "，已转储 core") if death.core else ("", "")
        return Text(f"{who_en} was ended by {by}{core[0]}", f"{who_zh} 被 {by} 终止{core[1]}")
    return Text(f"{who_en} exited with code {death.code}", f"{who_zh} 退出，退出码 {death.code}")


def _sentence(
    event: Stopping | Interrupted | PeerSilent | PeerDiffers | PeerBack,
) -> Text:
    if isinstance(event, Stopping):
        name = _signal_name(event.signal)
        to = _short_list(event.who)
        return Text(f"{name} to {to}", f"向 {to} 发送 {name}")
    if isinstance(event, Interrupted):
        name = _signal_name(event.signal)
        if event.again:
            return Text("killing all processes now", "立即强制结束所有进程")
        return Text(
            f"told to stop by {name}; Ctrl-C again ends all processes at once",
            f"收到 {name}，正在停止；再按一次 Ctrl-C 立即强制结束",
        )
    if isinstance(event, PeerSilent):
        return Text(
            f"node {event.node} stopped answering {event.seconds:.1f} s ago",
            f"节点 {event.node} 已 {event.seconds:.1f} 秒没有响应",
        )
    if isinstance(event, PeerDiffers):
        return Text(
            f"node {event.node} starts {event.processes} processes, this node "
            f"{event.own}: use the same number of cards on every node",
            f"节点 {event.node} 启动 {event.processes} 个进程，本节点 {event.own} 个："
            "各节点的卡数必须一致",
        )
    return Text(f"node {event.node} answers again", f"节点 {event.node} 恢复响应")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _short_list(who: Sequence[tuple[str, int | None]]) -> str:
    """`rank 0, 1, server 0`; no more than eight of them."""
    parts: list[str] = []
    role_before = None
    for role, rank in who[:8]:
        name = "rank" if role == "worker" else role
        parts.append(str(rank) if role == role_before else f"{name} {rank}")
        role_before = role
    return ", ".join(parts) + (f", … ({len(who)})" if len(who) > 8 else "")
