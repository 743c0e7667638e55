"""What the console says of a parameter-server job, in the words people know from Paddle's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.unsupported import PS_FLAGS
from pdtriage.launch.plan.environment import LAUNCH_VARIABLE
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.record.schema import RunRecord
from pdtriage.support.language import Text

ALL_TRAINED = "all workers exit, going to finish parameter server and heter_worker."
_NAMES = {
    "server": "server",
    "worker": "worker",
    "coordinator": "coordinator",
    "heter": "heter_worker",
}
_KILLED = {"heter": "heter_worker", "server": "parameter server", "coordinator": "coordinators"}
_NOT_SHOWN = (LAUNCH_VARIABLE, "PADDLE_LOG_DIR", "POD_NAME")
_MOST_NODES = 8
_NAME_WIDTH = 40
_VALUE_WIDTH = 45
_VALUE_KEPT = 41


def planned_lines(plan: Plan, flags: LaunchFlags) -> list[str]:
    """How many processes of each role, with the variables of the first one."""
    typed = [f"--{name}" for name in PS_FLAGS if name in flags.given]
    lines = [f"Run parameter-sever mode. pserver arguments:{typed}"]
    for role, name in _NAMES.items():
        own = [process for process in plan.processes if process.role == role]
        if own:
            lines.append(
                f"Local {name} start {len(own)} processes. First process distributed environment "
                f"info (Only For Debug): {table(own[0].variables)}"
            )
    return lines


def where_to_look(plan: Plan) -> str:
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


def unheard(nodes: Sequence[int]) -> Text:
    more = ", …" if len(nodes) > _MOST_NODES else ""
    listed = ", ".join(map(str, nodes[:_MOST_NODES])) + more
    return Text(
        f"node {listed} does not tell whether its trainers have finished: the servers of this "
        "node are stopped all the same",
        f"节点 {listed} 没有告知其训练进程是否结束：本节点的服务进程照常停止",
    )


def ended_lines(record: RunRecord) -> list[str]:
    """After a training that went well: who was only there to serve has ended, too."""
    roles = {process.role for process in record.processes}
    return [f"all {name} are killed" for role, name in _KILLED.items() if role in roles]


def abort_line(role: str, culprits: Sequence[int]) -> str:
    """The documented line speaks of trainers only; this is its like for the other roles."""
    return (
        f"ABORT!!! The {role} process with index={list(culprits)} was aborted. "
        "Please check its log."
    )


def table(variables: Mapping[str, str]) -> str:
    """The frame of the documents, on lines of its own."""
    width = _NAME_WIDTH + 2 + _VALUE_WIDTH
    rows = [_row(name, value) for name, value in variables.items() if name not in _NOT_SHOWN]
    border, line = f"    +{'=' * width}+", f"    +{'-' * width}+"
    return "\n".join(["", border, _row("Distributed Envs", "Value"), line, *rows, border, ""])


def _row(name: str, value: str) -> str:
    if len(value) >= _VALUE_WIDTH:
        value = f"... {value[-_VALUE_KEPT:]}"
    return f"    |{name:>{_NAME_WIDTH}}  {value:^{_VALUE_WIDTH}}|"
