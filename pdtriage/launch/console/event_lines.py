"""What the plain view writes for each event of a launch, in the words people know from Paddle's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pdtriage.launch.options.flags import DEFAULT_START_PORT, FLAGS, LaunchFlags
from pdtriage.launch.options.secret import SECRET_VARIABLE
from pdtriage.launch.options.unsupported import PS_FLAGS, run_mode_of
from pdtriage.launch.plan.cluster import node_count
from pdtriage.launch.plan.environment import LAUNCH_VARIABLE
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.launch.supervise.events import (
    AllStarted,
    Configured,
    Died,
    Finished,
    Interrupted,
    LaunchEvent,
    Level,
    Noted,
    PeerBack,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    Planned,
    Reforming,
    Restarting,
    Stopping,
    Trained,
)
from pdtriage.masking.secrets import masked_arguments, masked_value
from pdtriage.masking.substitution import MASK
from pdtriage.model.kinds import process_name
from pdtriage.record.schema import named_node, stopped_node
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.language import Text

Line = tuple[Level, Text | str]
"""Texts of Paddle's launcher are English only."""
_PADDLE_GROUPS = ("common", "new")
_ALSO_LISTED = (
    *("elastic_level", "elastic_timeout", "gloo_port", "max_restart", "server_num", "servers"),
    *("trainer_num", "trainers", "with_gloo"),
)
_LEGACY_FLAGS = ("ips", "backend", "legacy")
_NAMES = {
    "server": "server",
    "worker": "worker",
    "coordinator": "coordinator",
    "heter": "heter_worker",
}
_KILLED = {"heter": "heter_worker", "server": "parameter server", "coordinator": "coordinators"}
_NOT_SHOWN = (LAUNCH_VARIABLE, "PADDLE_LOG_DIR", "POD_NAME")
_OF_THE_JOB = "--job-secret"
_MOST_NODES = 8
_NAME_WIDTH = 40
_VALUE_WIDTH = 45
_VALUE_KEPT = 41


def lines_of(event: LaunchEvent, flags: LaunchFlags) -> Iterator[Line]:
    """The lines of an event, none where it has none."""
    if isinstance(event, Noted):
        yield event.level, event.text
    elif isinstance(event, (Configured, Planned, AllStarted)):
        yield from (("INFO", line) for line in _lines_at_start(event, flags))
    elif isinstance(event, (PeerSpoke, PeerSilent, PeerDiffers, PeerBack)):
        yield from _lines_about_peer(event)
    elif isinstance(event, (Died, Stopping, Interrupted, Trained)):
        yield from _lines_about_processes(event)
    elif isinstance(event, (Restarting, Reforming, Finished)):
        yield from _lines_at_end(event)


def invitation(command: Sequence[str]) -> Text:
    """Where no master was given: what to type on the other nodes."""
    import shlex

    shown = list(masked_arguments(command))
    for number, word in enumerate(command):
        drawn = word.startswith((_OF_THE_JOB, f"{SECRET_VARIABLE}="))
        if drawn or (number and command[number - 1] == _OF_THE_JOB):
            shown[number] = word  # other nodes cannot join without it
    rule = "-" * 80
    block = f"{rule}\n{shlex.join(shown)}\n{rule}\n"
    fill = ("", "")
    if shown != list(command):
        fill = (
            f" Type your own secrets instead of {MASK}.",
            f"其中 {MASK} 请换成您自己的密码或密钥。",
        )
    return Text(
        f"Copy the following command to other nodes to run.{fill[0]}\n{block}",
        f"请把下面的命令复制到其他节点运行。{fill[1]}\n{block}",
    )


def uses_legacy_flags(flags: LaunchFlags) -> bool:
    """`--ips`, `--backend`, `--legacy`, or cards in another word than `--devices`."""
    by_cards = flags.devices is not None and flags.device_flag != "devices"
    return by_cards or any(name in flags.given for name in _LEGACY_FLAGS)


def _lines_at_start(event: Configured | Planned | AllStarted, flags: LaunchFlags) -> Iterator[str]:
    if isinstance(event, Configured):
        if event.flags.launcher == "paddle":
            return  # It says so itself.
        yield "-----------  Configuration  ----------------------"
        for name, value in sorted(_configuration(event.flags).items()):
            yield f"{name}: {value}"
        yield "--------------------------------------------------"
        return
    plan = event.plan
    pod = f"Pod: {plan.pod}, replicas {len(plan.processes)}, status"
    if isinstance(event, AllStarted):
        yield f"Watching {pod} running"
        if plan.trainer_nodes:
            yield _where_to_look(plan)
        return
    yield _job_line(plan, flags)
    yield f"Run {pod} ready"
    if plan.trainer_nodes:
        yield from _role_lines(plan, flags)
    elif plan.mode == "collective" and uses_legacy_flags(flags):
        yield from _legacy_lines(plan, flags)


def _lines_about_peer(event: PeerSpoke | PeerSilent | PeerDiffers | PeerBack) -> Iterator[Line]:
    node = event.node
    if isinstance(event, PeerSpoke):
        if event.facts.failed:
            rank, role = event.facts.rank, event.facts.role
            name = role if role in ("server", "heter", "coordinator") else "rank"
            who = "" if rank is None else f": {name} {rank}"
            yield "ERROR", Text(f"node {node} failed{who}", f"节点 {node} 失败{who}")
        elif event.facts.state == "interrupted" and event.facts.interrupted is not None:
            yield "WARNING", stopped_node(node, event.host, event.facts.interrupted)
    elif isinstance(event, PeerSilent):
        silent = named_node(node, event.host)
        yield (
            "WARNING",
            Text(
                f"{silent.en} stopped answering {event.seconds:.1f} s ago",
                f"{silent.zh}已 {event.seconds:.1f} 秒没有响应",
            ),
        )
    elif isinstance(event, PeerDiffers):
        yield "WARNING", event.text
    else:
        yield "WARNING", Text(f"node {node} answers again", f"节点 {node} 恢复响应")


def _lines_about_processes(event: Died | Stopping | Interrupted | Trained) -> Iterator[Line]:
    if isinstance(event, Died):
        yield "ERROR" if event.first else "DEBUG", _end_of(event)
    elif isinstance(event, Stopping):
        name, to = signal_name(event.signal), _short_list(event.who)
        level: Level = "DEBUG" if event.reason == "finished" else "WARNING"
        yield level, Text(f"{name} to {to}", f"向 {to} 发送 {name}")
    elif isinstance(event, Trained):
        if event.unreported:
            yield "WARNING", _without_word(event.unreported)
        yield "INFO", "all workers exit, going to finish parameter server and heter_worker."
    elif event.again:
        yield "WARNING", Text("killing all processes now", "立即强制结束所有进程")
    else:
        name = signal_name(event.signal)
        yield (
            "WARNING",
            Text(
                f"told to stop by {name}; Ctrl-C again ends all processes at once",
                f"收到 {name}，正在停止；再按一次 Ctrl-C 立即强制结束",
            ),
        )


def _lines_at_end(event: Restarting | Reforming | Finished) -> Iterator[Line]:
    if isinstance(event, Reforming):
        number = event.record.attempt + 1
        yield (
            "INFO",
            Text(
                f"attempt {number} is cut short, the nodes meet again: {event.why.en}",
                f"第 {number} 次尝试中止，各节点重新汇合：{event.why.zh}",
            ),
        )
        return
    if isinstance(event, Restarting):
        yield "INFO", "Pod failed"
        yield from _restart_lines(event)
        return
    if event.exit_code == 0:
        roles = {process.role for process in event.record.processes}
        for role, name in _KILLED.items():
            if role in roles:
                yield "INFO", f"all {name} are killed"
    yield "INFO", "Pod completed" if event.exit_code == 0 else "Pod failed"
    if event.culprits:
        yield "ERROR", _abort_line(event)
    if event.decision is not None:
        why = event.decision.why
        yield "WARNING", Text(f"not restarted: {why.en}", f"不再重启：{why.zh}")
    yield "INFO", f"Exit code {event.exit_code}"


def _configuration(flags: LaunchFlags) -> dict[str, object]:
    """What the configuration block lists: the flags of the new launcher, and what was asked for."""
    names = {flag.name for flag in FLAGS if flag.group in _PADDLE_GROUPS}
    names |= flags.given.union(_ALSO_LISTED)
    listed: dict[str, object] = {name: getattr(flags, name) for name in names}
    listed["run_mode"] = run_mode_of(flags)
    listed["start_port"] = flags.start_port or DEFAULT_START_PORT
    listed["training_script"] = flags.training_script
    listed["training_script_args"] = list(flags.training_script_args)
    return {name: masked_value(name, value) for name, value in listed.items()}


def _job_line(plan: Plan, flags: LaunchFlags) -> str:
    nodes = len(plan.cluster.nodes)
    least, most = node_count(flags) if plan.cluster.meeting == "master" else (nodes, nodes)
    return (
        f"Job: {plan.job}, mode {plan.mode}, replicas {nodes}[{least}:{most}], "
        f"elastic {':' in flags.nnodes}"
    )


def _role_lines(plan: Plan, flags: LaunchFlags) -> Iterator[str]:
    """How many processes of each role, with the variables of the first one."""
    typed = [f"--{name}" for name in PS_FLAGS if name in flags.given]
    yield f"Run parameter-sever mode. pserver arguments:{typed}"
    for role, name in _NAMES.items():
        own = [process for process in plan.processes if process.role == role]
        if own:
            yield (
                f"Local {name} start {len(own)} processes. First process distributed environment "
                f"info (Only For Debug): {_table(own[0].variables)}"
            )


def _legacy_lines(plan: Plan, flags: LaunchFlags) -> Iterator[str]:
    """As Paddle's legacy launcher: the mode, the variables of the first process, where to read."""
    first = plan.processes[0]
    if "ips" in flags.given:
        yield "Run collective mode. gpu arguments:['--ips']"
    elif plan.device_kind != "cpu":
        yield (
            "Not found distinct arguments and compiled with cuda or xpu. "
            "Default use collective mode"
        )
    yield f"launch train in {plan.device_kind.upper()} mode"
    folder = plan.log_dir.rstrip("/") or "/"
    yield (
        f"Local start {len(plan.processes)} processes. First process distributed environment "
        f"info (Only For Debug): {_table(first.variables)}"
    )
    yield (
        "details abouts PADDLE_TRAINER_ENDPOINTS can be found in "
        f"{folder}/endpoints.log, and detail running logs maybe found in {folder}/{first.log}"
    )


def _where_to_look(plan: Plan) -> str:
    folder = plan.log_dir.rstrip("/") or "/"
    if plan.roles.get("coordinator"):
        # Paddle's line names files that do not exist (coordinatorlog.*).
        return (
            f"Please check servers, workers, coordinator and heter_worker logs in "
            f"{folder}/workerlog.*, {folder}/serverlog.*, {folder}/coordinator.* and "
            f"{folder}/heterlog.*"
        )
    return (
        f"Please check servers, workers and heter_worker logs in {folder}/workerlog.*, "
        f"{folder}/serverlog.* and {folder}/heterlog.*"
    )


def _without_word(nodes: Sequence[int]) -> Text:
    more = ", …" if len(nodes) > _MOST_NODES else ""
    listed = ", ".join(map(str, nodes[:_MOST_NODES])) + more
    return Text(
        f"node {listed} does not tell whether its trainers have finished: the servers of this "
        "node are stopped all the same",
        f"节点 {listed} 没有告知其训练进程是否结束：本节点的服务进程照常停止",
    )


def _end_of(died: Died) -> Text:
    death = died.death
    name = process_name(death.role, death.rank)
    who_en, who_zh = f"{name} (pid {death.pid})", f"{name}（pid {death.pid}）"
    if death.signal is not None:
        by = signal_name(death.signal)
        core = (", core dumped", "，已转储 core") if death.core else ("", "")
        return Text(f"{who_en} was ended by {by}{core[0]}", f"{who_zh} 被 {by} 终止{core[1]}")
    return Text(f"{who_en} exited with code {death.code}", f"{who_zh} 退出，退出码 {death.code}")


def _restart_lines(restarting: Restarting) -> Iterator[Line]:
    """What failed, and that another attempt follows; people count attempts from 1."""
    number = restarting.record.attempt + 1
    failure = restarting.conclusion.failure
    what = Text("cause unknown", "原因不明") if failure is None else failure.title
    why, most = restarting.decision.why, restarting.most
    limit = (f" of at most {most}", f"，最多 {most} 次")
    if most is None:
        times = restarting.restarts
        plural = "" if times == 1 else "s"
        limit = (
            f" (at most {times} restart{plural} after failures)",
            f"（失败后最多重启 {times} 次）",
        )
    yield "ERROR", Text(f"attempt {number} failed: {what.en}", f"第 {number} 次尝试失败：{what.zh}")
    yield (
        "WARNING",
        Text(
            f"restarting, attempt {number + 1}{limit[0]}: {why.en}",
            f"重新启动，第 {number + 1} 次尝试{limit[1]}：{why.zh}",
        ),
    )


def _abort_line(finished: Finished) -> str:
    """The documented line, word for word, and its like for others than trainers."""
    culprits = list(finished.culprits)
    if finished.role != "worker":
        return (
            f"ABORT!!! The {finished.role} process with index={culprits} was aborted. "
            "Please check its log."
        )
    return (
        f"ABORT!!! Out of all {finished.record.world_size or 0} trainers, the trainer process with "
        f"rank={culprits} was aborted. Please check its log."
    )


def _short_list(who: Sequence[tuple[str, int | None]]) -> str:
    """`rank 0, 1, server 0`; no more than eight of them."""
    parts: list[str] = []
    role_before = None
    for role, rank in who[:8]:
        parts.append(str(rank) if role == role_before else process_name(role, rank))
        role_before = role
    return ", ".join(parts) + (f", … ({len(who)})" if len(who) > 8 else "")


def _table(variables: Mapping[str, str]) -> str:
    """The frame of the documents, on lines of its own."""
    width = _NAME_WIDTH + 2 + _VALUE_WIDTH
    rows = [_row(name, value) for name, value in variables.items() if name not in _NOT_SHOWN]
    border, line = f"    +{'=' * width}+", f"    +{'-' * width}+"
    return "\n".join(["", border, _row("Distributed Envs", "Value"), line, *rows, border, ""])


def _row(name: str, value: str) -> str:
    if len(value) >= _VALUE_WIDTH:
        value = f"... {value[-_VALUE_KEPT:]}"
    return f"    |{name:>{_NAME_WIDTH}}  {value:^{_VALUE_WIDTH}}|"
