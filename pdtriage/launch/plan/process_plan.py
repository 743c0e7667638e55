"""What will be started on this node, and the files that say so beside the logs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TextIO, cast

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.unsupported import PS_MODES
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.environment import child_environment, launch_variables
from pdtriage.masking.secrets import masked_variable
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.private_files import private_opener, unlinked_opener


class Start(NamedTuple):
    """What every plan of one command has in common."""

    python: str
    pod: str
    launch: str


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
        """The same plan as a later attempt: what earlier ones wrote stays."""
        if number == 0:
            return self
        again = launch_variables(self.launch, number)
        processes = tuple(p._replace(variables={**p.variables, **again}) for p in self.processes)
        return self._replace(attempt=number, processes=processes, overwrite=False)


def script_argv(flags: LaunchFlags, python: str) -> tuple[str, ...]:
    script = flags.training_script
    if script.endswith(".py"):
        return (python, "-u", script, *flags.training_script_args)
    if script.endswith(".pyxes"):
        return (python, script, *flags.training_script_args)
    return (script, *flags.training_script_args)


def write_companions(plan: Plan, inherited: Mapping[str, str]) -> None:
    """`endpoints.log`, `<job>.<pod>.log`, and per process `envlog.N` and `backup_env.R.json`.

    As Paddle's launchers write them, with whole environments; but secrets are masked in them.
    """
    os.makedirs(plan.folder, exist_ok=True)
    shown = {name: masked_variable(name, value) for name, value in inherited.items()}
    _endpoints_log(plan)
    _pod_log(plan, shown)
    for number, process in enumerate(plan.processes):
        _envlog(
            plan, number, child_environment(shown, process.variables, backup_file(plan, process))
        )
        with _open_private(backup_file(plan, process), "w") as stream:
            json.dump(dict(process.variables), stream, indent=4, sort_keys=True)


def backup_file(plan: Plan, process: ProcessPlan) -> str:
    # A server, a trainer and a heter trainer may all be the first of their role.
    number = plan.processes.index(process) if plan.mode in PS_MODES else process.rank
    return os.path.join(plan.folder, f"backup_env.{number}.json")


def job_file(plan: Plan, name: str) -> str:
    """`<job>.<name>` in the log folder, also where the job's name looks like a path."""
    return os.path.join(plan.folder, f"{plan.job.replace('/', '_')}.{name}")


def _endpoints_log(plan: Plan) -> None:
    path = os.path.join(plan.folder, "endpoints.log")
    with open(path, "w", encoding="utf-8", opener=unlinked_opener) as stream:
        # The space and the missing last newline are Paddle's.
        stream.write("PADDLE_TRAINER_ENDPOINTS: \n" + "\n".join(plan.cluster.all_endpoints))


def _pod_log(plan: Plan, inherited: Mapping[str, str]) -> None:
    path = job_file(plan, f"{plan.pod}.log")
    shared = dict(plan.processes[0].variables) if plan.processes else {}
    for process in plan.processes[1:]:
        shared = {k: v for k, v in shared.items() if process.variables.get(k) == v}
    cluster = plan.cluster
    peers: list[object] = [dict(peer) for peer in cluster.peer_list]
    if not peers and plan.mode in PS_MODES:
        servers = shared.get("PADDLE_PSERVERS_IP_PORT_LIST", "")
        peers = [servers.split(",") if servers else [], list(cluster.all_endpoints)]
    if not peers and cluster.meeting == "alone":
        peers = [
            {
                "name": plan.pod,
                "rank": -1,
                "replicas": len(plan.processes),
                "dtype": plan.device_kind,
                "candidate": cluster.master,
                "endpoints": ",".join(cluster.own_endpoints),
            }
        ]
    with _open_private(path, "a") as stream:
        if stream.tell() == 0:
            stream.write(f"environ({ {**inherited, **shared} })\n")
        stream.write(f"{peers or list(cluster.all_endpoints)}\n")


def _envlog(plan: Plan, number: int, environment: Mapping[str, str]) -> None:
    path = os.path.join(plan.folder, f"envlog.{number}")
    with _open_private(path, "w" if plan.overwrite else "a") as stream:
        stream.writelines(
            f"{key}={_one_line(value)}\n" for key, value in sorted(environment.items())
        )


def _one_line(value: str) -> str:
    """A value on one line: a line break would make one variable look like several."""
    return value if value.isprintable() else value.encode("unicode_escape").decode("ascii")


def _open_private(path: str, mode: str) -> TextIO:
    """Opens a file that only its owner may read: values of variables may be secret."""
    return cast("TextIO", open(path, mode, encoding="utf-8", opener=private_opener))
