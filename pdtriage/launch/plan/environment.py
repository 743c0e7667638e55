"""The variables of every child, whatever its mode.

All modes pass through `child_variables`, and Paddle's own launcher gets `launched_environment`;
both contain `launch_variables`, so that one added there reaches every process of a launch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.launch.plan.addresses import host_part, port_of, split_endpoint
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.devices import Assignment, Devices

if TYPE_CHECKING:
    # Only jobs with servers pay for importing it.
    from pdtriage.launch.plan.ps_roles import Roles

ENV_LIMIT = 48_000
"""From this many characters on, the list of endpoints is only in the backup file."""
_LONG_VARIABLES = ("PADDLE_TRAINER_ENDPOINTS", "TRAINER_IP_PORT_LIST")
_PROXIES = ("http_proxy", "https_proxy")
_THREADS_VARIABLE = "OMP_NUM_THREADS"
"""Paddle's launcher imports Paddle, which sets it to 1 where nobody has set it, and its children
inherit that; a script that imports NumPy first would take all cores for every rank."""
LAUNCH_VARIABLE = "PDTRIAGE_LAUNCH"
"""Marks every process of a launch, so that none of them is overlooked when it ends."""
ATTEMPT_VARIABLE = "PDTRIAGE_ATTEMPT"
"""Tells a process that was started again how often: 1 for the first restart."""
TRAINING_ROLES = {
    "server": "PSERVER",
    "worker": "TRAINER",
    "heter": "HETER_TRAINER",
    "coordinator": "COORDINATOR",
}


def launch_variables(launch: str, attempt: int = 0) -> dict[str, str]:
    """What every process of a launch gets, whoever starts it."""
    variables = {LAUNCH_VARIABLE: launch}
    if attempt:
        variables[ATTEMPT_VARIABLE] = str(attempt)
    return variables


def launched_environment(inherited: Mapping[str, str], launch: str) -> dict[str, str]:
    """The whole environment of a helper, or of Paddle's launcher, which adds its own to it."""
    return {**inherited, **launch_variables(launch)}


def child_variables(
    launch: str,
    log_dir: str,
    pod: str | None,
    of_mode: Mapping[str, str],
    of_process: Mapping[str, str],
) -> dict[str, str]:
    """All that we set for one process; `pod` is None where a platform has named it."""
    return {
        **of_mode,
        "PADDLE_LOG_DIR": os.path.abspath(log_dir),
        **({"POD_NAME": pod} if pod is not None else {}),
        **launch_variables(launch),
        **of_process,
    }


def child_environment(
    inherited: Mapping[str, str], variables: Mapping[str, str], backup_file: str
) -> dict[str, str]:
    """The whole environment of a child: ours over what we inherited, without proxies."""
    environment = {key: value for key, value in inherited.items() if key not in _PROXIES}
    for proxy in _PROXIES:
        if proxy in inherited:
            environment[f"{proxy}_original"] = inherited[proxy]
    environment.setdefault(_THREADS_VARIABLE, "1")
    environment["PADDLE_BACKUP_ENV_PATH"] = backup_file
    limit = inherited.get("PADDLE_ENV_LIMIT_LEN", "")
    longest = int(limit) if limit.isdigit() else ENV_LIMIT
    for key, value in variables.items():
        if key in _LONG_VARIABLES and len(value) >= longest:
            environment.pop(key, None)
        else:
            environment[key] = value
    return environment


def collective_variables(
    cluster: Cluster,
    devices: Devices,
    assignments: tuple[Assignment, ...],
    local_rank: int,
    *,
    backend: str,
) -> dict[str, str]:
    """What distinguishes one trainer from the others, in the words of both launchers."""
    size = len(cluster.all_endpoints)
    rank = cluster.first_rank + local_rank
    own = assignments[local_rank]
    variables = {
        "PADDLE_MASTER": cluster.master,
        "PADDLE_GLOBAL_SIZE": str(size),
        "PADDLE_LOCAL_SIZE": str(len(assignments)),
        "PADDLE_GLOBAL_RANK": str(rank),
        "PADDLE_LOCAL_RANK": str(local_rank),
        "PADDLE_NNODES": str(len(cluster.nodes)),
        "PADDLE_CURRENT_ENDPOINT": cluster.own_endpoints[local_rank],
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_TRAINERS_NUM": str(size),
        "PADDLE_RANK_IN_NODE": str(local_rank),
        "PADDLE_AUTO_CLUSTER": "0",
        "PADDLE_TRAINER_ENDPOINTS": ",".join(cluster.all_endpoints),
    }
    if not own.relative:
        variables["PADDLE_DISTRI_BACKEND"] = "gloo"
        return variables
    variables["PADDLE_LOCAL_DEVICE_IDS"] = ",".join(own.relative)
    if cluster.meeting != "master":
        # Only where every node is known to use the same positions.
        each = [":".join(part.relative) for part in assignments]
        variables["PADDLE_WORLD_DEVICE_IDS"] = ",".join(each * len(cluster.nodes))
    variables[devices.selection_variable] = ",".join(own.relative)
    variables["FLAGS_selected_accelerators"] = ",".join(own.relative)
    if devices.custom:
        variables["PADDLE_DISTRI_BACKEND"] = "xccl"
        variables["PADDLE_XCCL_BACKEND"] = devices.kind
    elif backend != "auto":
        variables["PADDLE_DISTRI_BACKEND"] = backend
    return variables


def rpc_variables(cluster: Cluster, local_rank: int) -> dict[str, str]:
    """`--run_mode rpc`: no more than Paddle's launcher sets: who we are and where all meet."""
    return {
        "PADDLE_MASTER_ENDPOINT": rpc_master(cluster),
        "PADDLE_WORKER_ENDPOINT": cluster.own_endpoints[local_rank],
        "PADDLE_TRAINER_ID": str(cluster.first_rank + local_rank),
        "PADDLE_TRAINERS_NUM": str(len(cluster.all_endpoints)),
    }


def rpc_master(cluster: Cluster) -> str:
    """Where processes of `--run_mode rpc` meet: rank 0 listens there beside its own endpoint.

    The static lists give rank 0's endpoint to both; here the next port of its node has to do.
    """
    if cluster.master not in cluster.all_endpoints:
        return cluster.master
    endpoints = [split_endpoint(endpoint) for endpoint in cluster.all_endpoints]
    host = endpoints[0][0]
    return f"{host}:{1 + max(port for other, port in endpoints if other == host)}"


def server_job_variables(roles: Roles, *, gloo: str, gloo_path: str) -> dict[str, str]:
    """What servers, trainers, heter trainers and coordinators of one job all know."""
    variables = {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(roles.servers),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(roles.workers),
        "PADDLE_TRAINERS_NUM": str(len(roles.workers)),
        "PADDLE_COORDINATOR_ENDPOINTS": ",".join(roles.coordinators),
        "PADDLE_HETER_TRAINER_IP_PORT_LIST": ",".join(roles.heters),
        "PADDLE_NNODES": str(len(roles.nodes)),
        "PADDLE_WITH_GLOO": gloo,
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_GLOO_FS_PATH": gloo_path,
        "PADDLE_GLOO_HTTP_ENDPOINT": roles.gloo,
    }
    if roles.coordinators:
        variables["PADDLE_COORDINATOR_NUM"] = str(len(roles.coordinators))
    if roles.stages:
        variables["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"] = ",".join(roles.heters)
    return variables


def role_variables(role: str, rank: int, endpoint: str, card: str | None) -> dict[str, str]:
    """What tells one process from the others of its role; `card` as the driver numbers it."""
    variables = {
        "PADDLE_ROLE": TRAINING_ROLES[role],
        "TRAINING_ROLE": TRAINING_ROLES[role],
        "POD_IP": host_part(endpoint),
        "PADDLE_PORT": str(port_of(endpoint)),
    }
    if role in ("worker", "coordinator"):
        variables["PADDLE_TRAINER_ID"] = str(rank)
    if role != "server":
        # Paddle sets these on a CPU, too.
        visible = "0" if card is None else card
        variables |= {
            "FLAGS_selected_gpus": "0",
            "FLAGS_selected_xpus": "0",
            "CUDA_VISIBLE_DEVICES": visible,
            "XPU_VISIBLE_DEVICES": visible,
        }
    return variables


def stage_variables(roles: Roles, stage: int, devices: Sequence[str]) -> dict[str, str]:
    """The neighbours of a heter trainer's stage in the pipeline; trainers are stage 1."""
    groups = (roles.workers, *roles.stages)
    before = groups[stage - 2] if stage > 1 else ()
    after = groups[stage] if stage < len(groups) else ()
    return {
        "STAGE_ID": str(stage),
        "STAGE_NUM": str(len(groups)),
        "PADDLE_STAGE_TRAINERS_NUM": str([len(group) for group in groups]),
        "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": ",".join(before),
        "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": ",".join(after),
        "HETER_DEVICE_TYPE": devices[stage - 1],
    }
