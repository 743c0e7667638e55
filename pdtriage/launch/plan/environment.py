"""The variables a child gets."""

from __future__ import annotations

from collections.abc import Mapping

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.devices import Assignment, Devices

ENV_LIMIT = 48_000
"""From this many characters on, the list of endpoints is only in the backup file."""
_LONG_VARIABLES = ("PADDLE_TRAINER_ENDPOINTS", "TRAINER_IP_PORT_LIST")
_PROXIES = ("http_proxy", "https_proxy")
LAUNCH_VARIABLE = "PDTRIAGE_LAUNCH"
"""Marks every process of a launch, so that none of them is overlooked when it ends."""
ATTEMPT_VARIABLE = "PDTRIAGE_ATTEMPT"
"""Tells a process that was started again how often: 1 for the first restart."""


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
    if devices.custom:
        variables["PADDLE_DISTRI_BACKEND"] = "xccl"
        variables["PADDLE_XCCL_BACKEND"] = devices.kind
    elif backend != "auto":
        variables["PADDLE_DISTRI_BACKEND"] = backend
    return variables


def child_environment(
    inherited: Mapping[str, str], variables: Mapping[str, str], backup_file: str
) -> dict[str, str]:
    """The whole environment of a child: ours over what we inherited, without proxies."""
    environment = {key: value for key, value in inherited.items() if key not in _PROXIES}
    for proxy in _PROXIES:
        if proxy in inherited:
            environment[f"{proxy}_original"] = inherited[proxy]
    environment["PADDLE_BACKUP_ENV_PATH"] = backup_file
    limit = inherited.get("PADDLE_ENV_LIMIT_LEN", "")
    longest = int(limit) if limit.isdigit() else ENV_LIMIT
    for key, value in variables.items():
        if key in _LONG_VARIABLES and len(value) >= longest:
            environment.pop(key, None)
        else:
            environment[key] = value
    return environment
