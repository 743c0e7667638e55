"""What will be started, decided before anything is: a pure function of what is known."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.devices import Assignment, Devices
from pdtriage.launch.plan.environment import (
    ATTEMPT_VARIABLE,
    LAUNCH_VARIABLE,
    collective_variables,
)
from pdtriage.launch.plan.start_refusals import refuse_lost_folder
from pdtriage.launch.plan.rpc import refuse_taken_master, rpc_variables
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text


class ProcessPlan(NamedTuple):
    """One process to start."""

    role: str
    rank: int
    local_rank: int
    device: str | None
    """`gpu:3`, physical; None on a CPU."""
    endpoint: str
    argv: tuple[str, ...]
    variables: Mapping[str, str]
    """What we set; the rest of its environment is inherited."""
    log: str
    """Name of its log file inside the log folder."""


class Plan(NamedTuple):
    """One attempt on one node."""

    launch: str
    attempt: int
    pod: str
    job: str
    mode: str
    log_dir: str
    """As the user wrote it."""
    cluster: Cluster
    device_kind: str
    processes: tuple[ProcessPlan, ...]
    overwrite: bool = False
    trainer_nodes: tuple[int, ...] = ()
    """Nodes whose trainers the servers wait for; empty where there are no servers."""
    roles: Mapping[str, tuple[str, ...]] = {}
    """Endpoints of servers, heter trainers and coordinators of the whole job."""

    @property
    def world_size(self) -> int:
        return len(self.cluster.all_endpoints)

    @property
    def folder(self) -> str:
        return os.path.abspath(self.log_dir)

    def as_attempt(self, number: int) -> Plan:
        """The same as a later attempt: what earlier ones wrote is kept."""
        if number == 0:
            return self
        told = {ATTEMPT_VARIABLE: str(number)}
        processes = tuple(p._replace(variables={**p.variables, **told}) for p in self.processes)
        return self._replace(attempt=number, processes=processes, overwrite=False)


def plan_collective(
    flags: LaunchFlags,
    devices: Devices,
    assignments: tuple[Assignment, ...],
    cluster: Cluster,
    *,
    python: str,
    pod: str,
    launch: str,
    attempt: int = 0,
) -> Plan:
    """One trainer for every assignment of cards."""
    rpc = flags.run_mode == "rpc"
    if rpc:
        refuse_taken_master(cluster)
    shared = {
        "PADDLE_LOG_DIR": os.path.abspath(flags.log_dir),
        "POD_NAME": pod,
        LAUNCH_VARIABLE: launch,
    }
    argv = script_argv(flags, python)
    processes = tuple(
        ProcessPlan(
            role="worker",
            rank=cluster.first_rank + local_rank,
            local_rank=local_rank,
            device=assignment.label(devices.kind),
            endpoint=cluster.own_endpoints[local_rank],
            argv=argv,
            variables=(
                rpc_variables(cluster, local_rank)
                if rpc
                else collective_variables(
                    cluster, devices, assignments, local_rank, backend=flags.backend
                )
            )
            | shared,
            # As Paddle: here the number is that of the whole job.
            log=f"workerlog.{cluster.first_rank + local_rank if rpc else local_rank}",
        )
        for local_rank, assignment in enumerate(assignments)
    )
    return Plan(
        launch=launch,
        attempt=attempt,
        pod=pod,
        job=flags.job_id,
        mode="rpc" if rpc else "collective",
        log_dir=flags.log_dir,
        cluster=cluster,
        device_kind=devices.kind,
        processes=processes,
        overwrite=flags.log_overwrite,
    )


def script_argv(flags: LaunchFlags, python: str) -> tuple[str, ...]:
    script = flags.training_script
    if script.endswith(".py"):
        return (python, "-u", script, *flags.training_script_args)
    if script.endswith(".pyxes"):
        return (python, script, *flags.training_script_args)
    return (script, *flags.training_script_args)


def refuse_missing_script(script: str, environ: Mapping[str, str]) -> None:
    """Refuse before anything is started rather than fail N times."""
    refuse_lost_folder()
    if script.endswith((".py", ".pyxes")):
        if not os.path.isfile(script):
            raise UserError(
                Text(
                    f"The script {script} does not exist in {os.getcwd()}.",
                    f"{os.getcwd()} 下没有脚本 {script}。",
                ),
                Text("Check its path.", "请检查路径。"),
            )
        return
    import shutil

    if shutil.which(script, path=environ.get("PATH", os.defpath)) is not None:
        return
    if os.path.isfile(script):
        hint = f"./{script}" if "/" not in script else script
        raise UserError(
            Text(f"{script} cannot be executed.", f"{script} 不可执行。"),
            Text(
                f"Run `chmod +x {script}` and write {hint}, or give it the suffix .py.",
                f"请执行 `chmod +x {script}` 并写成 {hint}，或使用 .py 后缀。",
            ),
        )
    raise UserError(
        Text(
            f"{script} is neither a file nor a command.",
            f"{script} 既不是文件也不是命令。",
        ),
        Text(
            "Write `pdtriage run [flags] train.py [its arguments]`.",
            "请写成 `pdtriage run [参数] train.py [脚本参数]`。",
        ),
    )
