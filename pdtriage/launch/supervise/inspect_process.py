"""What can be seen of a process that somebody else started: its environment and its log."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.supervise.processes import environment_of
from pdtriage.record.schema import ProcessRecord
from pdtriage.support.fast_namedtuple import NamedTuple

_ROLES = {"PSERVER": "server", "HETER_TRAINER": "heter", "COORDINATOR": "coordinator"}
_LISTS = {
    "server": "PADDLE_PSERVERS_IP_PORT_LIST",
    "heter": "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST",
}
_MARKS = ("PADDLE_RANK_IN_NODE", "PADDLE_PORT", "PADDLE_WORKER_ENDPOINT")
"""Every process of a job has one of these, for trainers, servers and callers in turn."""


class InspectedProcess(NamedTuple):
    """A process of the job as it looks from outside."""

    process: ProcessRecord
    job: Mapping[str, object]
    """What its environment says about the whole job."""
    cluster: Cluster | None
    """The nodes, where they meet over HTTP and can exchange facts there."""
    local_size: int | None = None
    """How many trainers this node has, where its environment says so."""


def inspect_pid(pid: int, sizes: Mapping[str, int]) -> InspectedProcess | None:
    """A trainer or server by its environment; None for anything else."""
    variables = environment_of(pid)
    if not any(name in variables for name in _MARKS):
        return None
    log = _log_of(pid)
    role = _ROLES.get(variables.get("TRAINING_ROLE", ""), "worker")
    served = "TRAINING_ROLE" in variables
    endpoint = (
        variables.get("PADDLE_CURRENT_ENDPOINT")
        or variables.get("PADDLE_WORKER_ENDPOINT")
        or _served_endpoint(variables)
    )
    rank = _rank_of(role, endpoint, variables)
    local = variables.get("PADDLE_LOCAL_RANK", variables.get("PADDLE_RANK_IN_NODE"))
    if local is None and log is not None and "PADDLE_WORKER_ENDPOINT" not in variables:
        local = log.rpartition(".")[2]
    process = ProcessRecord(
        role=role,
        rank=rank,
        local_rank=_whole(local),
        # Among servers Paddle selects card 0 on a CPU, too.
        device=None if served else _device_of(variables),
        endpoint=endpoint,
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
        "master": variables.get("PADDLE_MASTER") or variables.get("PADDLE_MASTER_ENDPOINT"),
        "nnodes": _whole(variables.get("PADDLE_NNODES")) or 1,
        "pod": variables.get("POD_NAME", ""),
        "roles": {
            other: variables[name].split(",") for other, name in _LISTS.items() if name in variables
        },
        "mode": _mode_of(variables),
    }
    if process.endpoint:
        job["address"] = process.endpoint.rpartition(":")[0]
    size = _whole(variables.get("PADDLE_LOCAL_SIZE"))
    if rank is not None and size:
        job["node_rank"] = rank // size
    return InspectedProcess(
        process, job, _cluster_of(endpoints, size, rank, variables.get("PADDLE_MASTER")), size
    )


def _cluster_of(
    endpoints: list[str], size: int | None, rank: int | None, master: str | None
) -> Cluster | None:
    if not size or rank is None or master is None or len(endpoints) <= size:
        return None
    pods = [tuple(endpoints[i : i + size]) for i in range(0, len(endpoints), size)]
    hosts = tuple(pod[0].rpartition(":")[0] for pod in pods)
    return Cluster("master", rank // size, hosts, tuple(pods), master)


def _mode_of(variables: Mapping[str, str]) -> str:
    if "PADDLE_WORKER_ENDPOINT" in variables:
        return "rpc"
    if "TRAINING_ROLE" not in variables:
        return "collective"
    return "ps-heter" if "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST" in variables else "ps"


def _served_endpoint(variables: Mapping[str, str]) -> str | None:
    host, port = variables.get("POD_IP"), variables.get("PADDLE_PORT")
    return f"{host}:{port}" if host and port else None


def _rank_of(role: str, endpoint: str | None, variables: Mapping[str, str]) -> int | None:
    listed = variables.get(_LISTS.get(role, ""), "").split(",")
    if endpoint in listed:
        return listed.index(endpoint)
    return _whole(variables.get("PADDLE_TRAINER_ID"))


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
