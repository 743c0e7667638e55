"""What will be started of a parameter-server or heter job on this node."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.unsupported import HETER_FLAGS, is_given
from pdtriage.launch.plan.addresses import host_part
from pdtriage.launch.plan.cluster import Cluster, Meeting
from pdtriage.launch.plan.devices import Assignment, Devices, Probe, assign, find_devices
from pdtriage.launch.plan.environment import (
    TRAINING_ROLES,
    child_variables,
    role_variables,
    server_job_variables,
    stage_variables,
)
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.process_plan import Plan, ProcessPlan, Start, script_argv
from pdtriage.launch.plan.ps_roles import Roles, cluster_of, needs_meeting, roles_of, stage_devices
from pdtriage.launch.rendezvous.announcements import ServerAnnouncement
from pdtriage.launch.rendezvous.job_nodes import Nodes
from pdtriage.support.language import Text

_LOGS = {
    "server": "serverlog",
    "worker": "workerlog",
    "heter": "heterlog",
    "coordinator": "coordinator",
}
_LEGACY_SPELLINGS = ("--worker", "--heter", "--http_port", "--http-port", "--coordinator")


def ps_planner(
    flags: LaunchFlags,
    mode: str,
    environ: Mapping[str, str],
    wheel: PaddleWheel | None,
    probe: Probe,
    start: Start,
) -> Callable[[Nodes], Plan]:
    """What will be planned once the nodes have met; refuses what is wrong before that."""
    if is_given(mode, environ):
        given = plan_given(flags, environ, start)
        return lambda _: given
    devices = ps_devices(flags, environ, wheel, probe)
    if mode == "ps":
        devices = devices._replace(notes=(*devices.notes, *_heter_ignored(flags)))
    if not needs_meeting(flags, mode):
        plan = plan_ps(flags, mode, devices, roles_of(flags, mode, environ), start)
        return lambda _: plan
    announcement = ServerAnnouncement(flags, devices.dtype, environ)

    def met(nodes: Nodes) -> Plan:
        nodes.meet(announcement)
        return plan_ps(flags, mode, devices, announcement.roles(), start, "master")

    return met


def ps_devices(
    flags: LaunchFlags,
    environ: Mapping[str, str],
    wheel: PaddleWheel | None,
    probe: Probe,
) -> Devices:
    """The cards of this node. Servers and trainers can do without, so that none is no refusal
    where this Paddle could not use one."""
    if wheel is None or wheel.kind != "cpu" or not flags.devices:
        return find_devices(flags, environ, wheel, probe)
    note = Text(
        f"--{flags.device_flag}={flags.devices} has no effect: {wheel.name} {wheel.version} can "
        "only use the CPU",
        f"--{flags.device_flag}={flags.devices} 不起作用：{wheel.name} {wheel.version} 只支持 CPU",
    )
    devices = find_devices(flags._replace(devices=None), environ, wheel, probe)
    return devices._replace(notes=(*devices.notes, note))


def plan_ps(
    flags: LaunchFlags,
    mode: str,
    devices: Devices,
    roles: Roles,
    start: Start,
    meeting: Meeting = "alone",
) -> Plan:
    """Servers first, then trainers, coordinators and heter trainers, as Paddle starts them."""
    cards = assign(flags._replace(nproc_per_node=None), devices)
    kinds = ("cpu", *stage_devices(flags, len(roles.stages), devices.kind))
    of_job = server_job_variables(
        roles,
        gloo=_with_gloo(flags),
        gloo_path=os.path.join(tempfile.gettempdir(), f"pdtriage-gloo-{start.launch}"),
    )
    argv = script_argv(flags, start.python)
    processes = []
    for role, endpoints in _by_role(roles):
        for local_rank, (rank, endpoint) in enumerate(roles.here(endpoints)):
            stage = _stage_of(roles, role, endpoint)
            card = cards[local_rank % len(cards)] if role in ("worker", "heter") else Assignment()
            own = role_variables(role, rank, endpoint, _first(card))
            if stage is not None:
                own |= stage_variables(roles, stage, kinds)
            uses_card = stage is None or kinds[stage - 1] != "cpu"
            processes.append(
                ProcessPlan(
                    role=role,
                    rank=rank,
                    local_rank=local_rank,
                    device=card.label(devices.kind) if uses_card else None,
                    endpoint=endpoint,
                    argv=argv,
                    variables=child_variables(start.launch, flags.log_dir, start.pod, of_job, own),
                    log=f"{_LOGS[role]}.{local_rank}",
                )
            )
    return Plan(
        launch=start.launch,
        attempt=0,
        pod=start.pod,
        job=flags.job_id,
        mode=mode,
        log_dir=flags.log_dir,
        cluster=cluster_of(roles, meeting, devices.notes),
        device_kind=devices.kind,
        processes=tuple(processes),
        overwrite=flags.log_overwrite,
        trainer_nodes=roles.trainer_nodes,
        roles={role: tuple(listed) for role, listed in _by_role(roles) if role != "worker"},
    )


def plan_given(flags: LaunchFlags, environ: Mapping[str, str], start: Start) -> Plan:
    """One process, with the environment the platform gave us."""
    told = environ.get("TRAINING_ROLE", "TRAINER")
    role = next((name for name, word in TRAINING_ROLES.items() if word == told), "worker")
    address = environ.get("POD_IP", "") or "127.0.0.1"
    port = environ.get("PADDLE_PORT", "")
    endpoint = f"{address}:{port}" if port else address
    trainers = _listed(environ, "PADDLE_TRAINER_ENDPOINTS")
    process = ProcessPlan(
        role=role,
        rank=_given_rank(role, endpoint, environ),
        local_rank=0,
        device=None,
        endpoint=endpoint,
        argv=script_argv(flags, start.python),
        variables=child_variables(start.launch, flags.log_dir, None, {}, {}),
        log=f"{_LOGS[role]}.0",
    )
    own = tuple(endpoint for endpoint in trainers if host_part(endpoint) == address)
    return Plan(
        launch=start.launch,
        attempt=0,
        pod=environ.get("POD_NAME", "") or start.pod,
        job=flags.job_id,
        mode="ps",
        log_dir=flags.log_dir,
        cluster=Cluster("cloud", 0, (address,), (own,), "", listed=trainers or (endpoint,)),
        device_kind="cpu",
        processes=(process,),
        overwrite=flags.log_overwrite,
        roles={"server": _listed(environ, "PADDLE_PSERVERS_IP_PORT_LIST")},
    )


def _with_gloo(flags: LaunchFlags) -> str:
    """As asked for; else each generation of flags has a default of its own."""
    if "with_gloo" in flags.given:
        return flags.with_gloo
    own = flags.argv[: len(flags.argv) - len(flags.training_script_args)]
    legacy = flags.legacy or any(word.startswith(_LEGACY_SPELLINGS) for word in own)
    return "0" if legacy else flags.with_gloo


def _by_role(roles: Roles) -> list[tuple[str, Sequence[str]]]:
    return [
        ("server", roles.servers),
        ("worker", roles.workers),
        ("coordinator", roles.coordinators),
        ("heter", roles.heters),
    ]


def _stage_of(roles: Roles, role: str, endpoint: str) -> int | None:
    """Place in the pipeline; None where there is none."""
    if not roles.stages or role not in ("worker", "heter"):
        return None
    if role == "worker":
        return 1
    return next(2 + number for number, stage in enumerate(roles.stages) if endpoint in stage)


def _first(card: Assignment) -> str | None:
    """The child sees this card alone, so it gets the number the driver gives it."""
    return card.physical[0] if card.physical else None


def _heter_ignored(flags: LaunchFlags) -> tuple[Text, ...]:
    names = [f"--{name}" for name in HETER_FLAGS if name in flags.given]
    if not names:
        return ()
    listed = ", ".join(names)
    return (
        Text(
            f"{listed} has no effect with --run_mode ps: use ps-heter",
            f"{listed} 在 --run_mode ps 下不起作用：请用 ps-heter",
        ),
    )


def _given_rank(role: str, endpoint: str, environ: Mapping[str, str]) -> int:
    if role == "server":
        servers = _listed(environ, "PADDLE_PSERVERS_IP_PORT_LIST")
        return servers.index(endpoint) if endpoint in servers else 0
    told = environ.get("PADDLE_TRAINER_ID", "")
    return int(told) if told.isdecimal() else 0


def _listed(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in environ.get(name, "").split(",") if part.strip())
