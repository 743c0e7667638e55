"""A pod of a PaddleJob: its shared memory and the variables the operator sets."""

from __future__ import annotations

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Check, Finding, failed, ok, skipped, warning
from pdtriage.doctor.kernel import MIB, size, space_of
from pdtriage.launch.plan.cluster import CLOUD_VARIABLES
from pdtriage.support.language import Text

_DEFAULT = 64 * MIB
"""What a container gets when nothing is mounted there."""
_MOUNT = Text(
    "Mount memory there in the PaddleJob: volumes: [{name: shm, emptyDir: {medium: Memory}}], "
    "volumeMounts: [{name: shm, mountPath: /dev/shm}].",
    "请在 PaddleJob 中挂载内存卷：volumes: [{name: shm, emptyDir: {medium: Memory}}]，"
    "volumeMounts: [{name: shm, mountPath: /dev/shm}]。",
)


def shm_mount(context: Context) -> Finding:
    """A pod has 64 MiB of shared memory unless the PaddleJob mounts more."""
    name = "kubernetes-shm"
    if not context.environ.get("KUBERNETES_SERVICE_HOST"):
        return skipped(name, "not in Kubernetes", "不在 Kubernetes 中")
    mounts = [line.split() for line in (context.read("/proc/self/mounts") or "").splitlines()]
    mounted = [words for words in mounts if len(words) > 3 and words[1] == "/dev/shm"]
    space = space_of(context.path("/dev/shm"))
    if not mounted or space is None:
        seen = Text("nothing is mounted at /dev/shm", "/dev/shm 没有挂载")
        return failed(name, seen, _MOUNT)
    if mounted[-1][2] != "tmpfs":
        kind = mounted[-1][2]
        seen = Text(f"/dev/shm is {kind}, not memory", f"/dev/shm 是 {kind}，不是内存")
        return warning(name, seen, _MOUNT)
    if space.total <= _DEFAULT:
        return warning(
            name,
            Text(
                f"/dev/shm has the {size(space.total)} every container gets: the PaddleJob mounts "
                "none",
                f"/dev/shm 只有容器默认的 {size(space.total)}：PaddleJob 没有挂载",
            ),
            _MOUNT,
        )
    return ok(name, f"{size(space.total)} are mounted", f"已挂载 {size(space.total)}")


def operator_variables(context: Context) -> Finding:
    """Checks the operator's variables: half a set is ignored, and the node believes it is alone."""
    name = "operator-variables"
    environ = context.environ
    # The other two are set by other systems as well.
    if not environ.get("PADDLE_TRAINERS") and not environ.get("TRAINER_PORTS_NUM"):
        return skipped(name, "none set", "没有设置")
    missing = [variable for variable in CLOUD_VARIABLES if not environ.get(variable)]
    if missing:
        listed = ", ".join(missing)
        return warning(
            name,
            Text(
                f"{listed} not set: the other variables of the platform are ignored",
                f"{listed} 未设置：平台的其他变量将被忽略",
            ),
            Text(
                "Correct the platform's variables, or give --ips or --master.",
                "请修正平台变量，或使用 --ips 或 --master。",
            ),
        )
    nodes = [node for node in environ["PADDLE_TRAINERS"].split(",") if node.strip()]
    told = environ.get("PADDLE_TRAINERS_NUM", str(len(nodes)))
    if told != str(len(nodes)):
        return warning(
            name,
            Text(
                f"PADDLE_TRAINERS_NUM={told}, but PADDLE_TRAINERS names {len(nodes)}",
                f"PADDLE_TRAINERS_NUM={told}，但 PADDLE_TRAINERS 有 {len(nodes)} 项",
            ),
            Text("Correct the platform's variables.", "请修正平台设置的环境变量。"),
        )
    plural = "" if len(nodes) == 1 else "s"
    return ok(name, f"complete, {len(nodes)} node{plural}", f"完整，{len(nodes)} 个节点")


CHECKS = (
    Check("kubernetes-shm", shm_mount),
    Check("operator-variables", operator_variables),
)
