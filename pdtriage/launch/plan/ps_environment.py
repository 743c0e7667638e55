"""The variables of a server, a trainer, a heter trainer and a coordinator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.ps_roles import Roles, host_of, port_of

TRAINING_ROLES = {
    "server": "PSERVER",
    "worker": "TRAINER",
    "heter": "HETER_TRAINER",
    "coordinator": "COORDINATOR",
}
_LEGACY_SPELLINGS = ("--worker", "--heter", "--http_port", "--http-port", "--coordinator")


def with_gloo(flags: LaunchFlags) -> str:
    """As asked for; else each generation of flags has a default of its own."""
    if "with_gloo" in flags.given:
        return flags.with_gloo
    own = flags.argv[: len(flags.argv) - len(flags.training_script_args)]
    legacy = flags.legacy or any(word.startswith(_LEGACY_SPELLINGS) for word in own)
    return "0" if legacy else flags.with_gloo


def shared_variables(roles: Roles, *, gloo: str, gloo_path: str) -> dict[str, str]:
    """What all roles know."""
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
    """What tells one process from the others; `card` as the driver numbers it."""
    variables = {
        "PADDLE_ROLE": TRAINING_ROLES[role],
        "TRAINING_ROLE": TRAINING_ROLES[role],
        "POD_IP": host_of(endpoint),
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


def stage_variables(roles: Roles, stage: int, devices: Sequence[str]) -> Mapping[str, str]:
    """Neighbours of a trainer in the pipeline of a heter job; the trainers are stage 1."""
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
