"""What will be started of a collective or an rpc job: a pure function of what is known."""

from __future__ import annotations

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.addresses import port_of, refuse_taken
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.devices import Assignment, Devices
from pdtriage.launch.plan.environment import (
    child_variables,
    collective_variables,
    rpc_master,
    rpc_variables,
)
from pdtriage.launch.plan.process_plan import Plan, ProcessPlan, Start, script_argv


def plan_collective(
    flags: LaunchFlags,
    devices: Devices,
    assignments: tuple[Assignment, ...],
    cluster: Cluster,
    start: Start,
) -> Plan:
    """One trainer for every assignment of cards."""
    rpc = flags.run_mode == "rpc"
    if rpc:
        _refuse_taken_master(cluster)
    argv = script_argv(flags, start.python)
    processes = []
    for local_rank, assignment in enumerate(assignments):
        rank = cluster.first_rank + local_rank
        if rpc:
            variables = rpc_variables(cluster, local_rank)
        else:
            variables = collective_variables(
                cluster, devices, assignments, local_rank, backend=flags.backend
            )
        processes.append(
            ProcessPlan(
                role="worker",
                rank=rank,
                local_rank=local_rank,
                device=assignment.label(devices.kind),
                endpoint=cluster.own_endpoints[local_rank],
                argv=argv,
                variables=child_variables(start.launch, flags.log_dir, start.pod, variables, {}),
                # As Paddle: with rpc the number is that of the whole job.
                log=f"workerlog.{rank if rpc else local_rank}",
            )
        )
    return Plan(
        launch=start.launch,
        attempt=0,
        pod=start.pod,
        job=flags.job_id,
        mode="rpc" if rpc else "collective",
        log_dir=flags.log_dir,
        cluster=cluster,
        device_kind=devices.kind,
        processes=tuple(processes),
        overwrite=flags.log_overwrite,
    )


def _refuse_taken_master(cluster: Cluster) -> None:
    """The port that nobody wrote down must be free where rank 0 runs."""
    if cluster.node_rank == 0 and cluster.meeting in ("ips", "cloud"):
        refuse_taken((port_of(rpc_master(cluster)),))
