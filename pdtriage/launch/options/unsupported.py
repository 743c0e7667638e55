"""What the native launcher leaves to Paddle's own, and says so."""

from __future__ import annotations

from collections.abc import Mapping

from pdtriage.launch.options.elastic import etcd_access, etcd_address, etcd_of
from pdtriage.launch.options.flags import FLAGS, LaunchFlags
from pdtriage.launch.plan.cluster import is_cloud
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_TUNER = tuple(flag.name for flag in FLAGS if flag.group == "tuner")
HETER_FLAGS = ("heter_workers", "heter_devices", "heter_worker_num")
_SERVERS = (
    *("servers", "trainers", "server_num", "trainer_num"),
    *("coordinators", "coordinator_num", "http_port"),
)
PS_FLAGS = (*_SERVERS, *HETER_FLAGS)
PS_MODES = ("ps", "ps-heter")
_GIVEN_ROLES = ("PSERVER", "TRAINER", "HETER_TRAINER", "COORDINATOR")


def refuse_unsupported(flags: LaunchFlags) -> None:
    for name in _TUNER:
        if name in flags.given and getattr(flags, name):
            raise _needs_paddle(
                f"--{name}", "is a flag of Paddle's tuner", "属于 Paddle 的自动调优"
            )
    if flags.training_script == "ipu":
        raise _needs_paddle(
            "`ipu`",
            "starts Graphcore's poprun, which only Paddle's launcher does",
            "由 Paddle 自带的启动器调用 poprun 启动",
        )
    if etcd_of(flags) is not None:
        etcd_address(flags)
        etcd_access(flags)
        _refuse_elastic(flags)


def run_mode_of(flags: LaunchFlags) -> str:
    """`--run_mode`, or what the other flags mean."""
    if flags.run_mode is not None:
        return flags.run_mode
    if any(name in flags.given for name in HETER_FLAGS):
        return "ps-heter"
    if any(name in flags.given for name in _SERVERS):
        return "ps"
    return "collective"


def is_given(mode: str, environ: Mapping[str, str]) -> bool:
    """A platform (PaddleCloud, paddle-operator) has already said which one process this is."""
    told = environ.get("TRAINING_ROLE", "") in _GIVEN_ROLES
    if told and environ.get("PADDLE_PSERVERS_IP_PORT_LIST"):
        return mode in ("collective", "ps")
    return mode == "ps" and is_cloud(environ)


def _refuse_elastic(flags: LaunchFlags) -> None:
    mode = run_mode_of(flags)
    if mode != "collective":
        raise UserError(
            Text(
                f"Nodes of a job in mode {mode} cannot meet at an etcd: only collective jobs are "
                "elastic.",
                f"{mode} 模式的任务不能通过 etcd 汇合：只有 collective 任务支持弹性。",
            ),
            Text(
                "Give the nodes with --servers and --workers, or --master ip:port.",
                "请用 --servers 与 --workers，或 --master ip:port 指定节点。",
            ),
        )


def _needs_paddle(what: str, en: str, zh: str) -> UserError:
    return UserError(
        Text(f"{what[0].upper()}{what[1:]} {en}.", f"{what} {zh}。"),
        Text(
            "Add `--launcher paddle` to run Paddle's own launcher under pdtriage.",
            "请加上 `--launcher paddle`，由 pdtriage 调用 Paddle 自带的启动器。",
        ),
    )
