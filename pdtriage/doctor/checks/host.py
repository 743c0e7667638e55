"""The machine: shared memory, limits, memory, clock, proxies, the container around it."""

from __future__ import annotations

import re

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Check, Finding, failed, ok, skipped, warning
from pdtriage.doctor.kernel import (
    GIB,
    MIB,
    DiskRoom,
    clock_is_synchronised,
    file_limit,
    in_container,
    interfaces,
    process_room,
    size,
    space_of,
    total_memory,
)
from pdtriage.launch.plan.cluster import some_of
from pdtriage.support.cgroup import cgroup_memory
from pdtriage.support.language import Text

SHM_FAILS_BELOW = 16 * MIB
SHM_PER_PROCESS = 256 * MIB
FILES_FAIL_BELOW = 256
FILES_BY_WORLD = ((8, 1024), (64, 4096))
FILES_OF_MANY = 65536
THREADS_PER_PROCESS = 64
THREADS_AT_LEAST = 8
MEMORY_PER_PROCESS = GIB
CLOCK_BEGINS = 1_704_067_200
"""2024-01-01: before it, a machine's clock has never been set."""
_GLANCE = 1.0
"""Seconds to wait for a node; the job has started already."""
_HOST_NETWORK = Text(
    "Start it with `docker run --net=host`.", "请用 `docker run --net=host` 启动容器。"
)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def shm(context: Context) -> Finding:
    """Where data-loader workers and NCCL hand over what they have; 64 MiB in a plain container."""
    space = space_of(context.path("/dev/shm"))
    if space is None:
        seen = Text("/dev/shm is missing", "没有 /dev/shm")
        return failed("shm", seen, _more_shm(SHM_PER_PROCESS))
    wanted = SHM_PER_PROCESS * context.processes
    seen = Text(
        f"/dev/shm: {size(space.free)} of {size(space.total)} free",
        f"/dev/shm：共 {size(space.total)}，剩余 {size(space.free)}",
    )
    if space.free < SHM_FAILS_BELOW:
        return failed("shm", seen, _more_shm(wanted))
    if space.free < wanted:
        return warning("shm", seen, _more_shm(wanted))
    return Finding("shm", "ok", seen)


def open_files(context: Context) -> Finding:
    limit = file_limit(context)
    if limit is None:
        return ok("open-files", "no limit", "没有限制")
    world = context.processes * context.node_total
    wanted = next((files for most, files in FILES_BY_WORLD if world <= most), FILES_OF_MANY)
    seen = Text(f"at most {limit} open files", f"最多打开 {limit} 个文件")
    advice = Text(
        f"Raise it: `ulimit -n {wanted}`, or `docker run --ulimit nofile={wanted}`.",
        f"请调大：`ulimit -n {wanted}`，或 `docker run --ulimit nofile={wanted}`。",
    )
    if limit < FILES_FAIL_BELOW:
        return failed("open-files", seen, advice)
    return (
        warning("open-files", seen, advice) if limit < wanted else Finding("open-files", "ok", seen)
    )


def processes(context: Context) -> Finding:
    """Threads count, too: a trainer has dozens."""
    room = process_room(context)
    if room is None:
        return ok("processes", "no limit", "没有限制")
    seen = Text(
        f"room for {room.left} more processes and threads ({room.why})",
        f"还可创建 {room.left} 个进程或线程（{room.why}）",
    )
    return _judge_room(room, context.processes, seen)


def memory(context: Context) -> Finding:
    """The limit of the cgroup, which ends processes without a word when it is reached."""
    total = total_memory(context)
    limited = cgroup_memory(context.read)
    if limited is None:
        if total is None:
            return skipped("memory", "/proc/meminfo cannot be read", "无法读取 /proc/meminfo")
        return ok("memory", f"{size(total)}, no limit of a cgroup", f"{size(total)}，cgroup 无限制")
    limit = limited.limit
    left = max(0, limit - limited.used)
    seen = Text(
        f"the cgroup allows {size(limit)}, {size(left)} are left",
        f"cgroup 限制为 {size(limit)}，剩余 {size(left)}",
    )
    if left >= MEMORY_PER_PROCESS * context.processes:
        return Finding("memory", "ok", seen)
    advice = Text(
        "Raise the limit (docker run --memory, resources.limits.memory); files in /dev/shm count "
        "against it.",
        "请调大限制（docker run --memory，或 resources.limits.memory）；"
        "/dev/shm 中的文件也计入其中。",
    )
    return warning("memory", seen, advice)


def clock(context: Context) -> Finding:
    moment = context.clock()
    if moment < CLOCK_BEGINS:
        import time

        shown = time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))
        return warning(
            "clock",
            Text(f"the clock says {shown} UTC", f"系统时间为 {shown} UTC"),
            Text(
                "Set it: stamps in logs, certificates and storage services depend on it.",
                "请校正时间：日志时间戳、证书和存储服务都依赖它。",
            ),
        )
    if context.node_total < 2:
        return ok("clock", "set, and there is no other node", "时间正常，没有其他节点")
    synchronised = clock_is_synchronised()
    if synchronised is None:
        return skipped("clock", "the kernel does not say", "内核没有给出同步状态")
    if synchronised:
        return ok("clock", "kept in step by a time service", "由时间服务保持同步")
    return warning(
        "clock",
        Text("no time service keeps the clock in step", "没有时间服务同步系统时间"),
        Text("Run chrony or ntpd on every node.", "请在所有节点上运行 chrony 或 ntpd。"),
    )


def proxies(context: Context) -> Finding:
    """Traffic between nodes must not go to a proxy; `run` takes only two of them out."""
    given = [name for name in _PROXIES if context.environ.get(name)]
    if not given:
        return ok("proxies", "none set", "没有设置")
    listed = ", ".join(f"{name}={_without_login(context.environ[name])}" for name in given)
    seen = Text(f"set: {listed}", f"已设置：{listed}")
    others = [node for node in context.node_addresses if node != context.address]
    if context.node_total < 2 or (others and all(_exempt(context, node) for node in others)):
        return Finding("proxies", "ok", seen)
    every = ",".join(context.node_addresses) or "<addresses of all nodes>"
    return warning(
        "proxies",
        seen,
        Text(
            f"Unset them on every node (unset {' '.join(given)}), or set no_proxy={every}.",
            f"请在所有节点上取消（unset {' '.join(given)}），或设置 no_proxy={every}。",
        ),
    )


def container_network(context: Context) -> Finding:
    """A container with a network of its own cannot be reached at the host's address."""
    name = "container-network"
    if not in_container(context):
        return ok(name, "not in a container", "不在容器中")
    if context.environ.get("KUBERNETES_SERVICE_HOST"):
        return ok(
            name, "a pod of Kubernetes has an address of its own", "Kubernetes 的 Pod 有独立地址"
        )
    found = interfaces(context)
    if context.node_total < 2:
        return skipped(name, "only one node", "只有一个节点")
    if any(not interface.virtual for interface in found):
        return ok(name, "the container uses the host's network", "容器使用宿主机网络")
    if not found:
        return failed(
            name,
            Text("the container has no network but its own lo", "容器没有网络，只有 lo"),
            _HOST_NETWORK,
        )
    from pdtriage.doctor.ports import one_of_each_peer, reach_all  # seldom needed at a launch

    listed = ", ".join(interface.name for interface in found)
    tried = reach_all(one_of_each_peer(context), _GLANCE)
    lost = [host for (host, _), how in tried.items() if how not in ("listening", "free")]
    if not lost:
        how = ("who answer", "其他节点可达") if tried else ("who are not known yet", "其他节点未知")
        return ok(
            name,
            f"the container has a network of its own ({listed}) towards the other nodes, {how[0]}",
            f"容器使用独立网络（{listed}）；{how[1]}",
        )
    return warning(
        name,
        Text(
            f"the container has a network of its own ({listed}), and there is no way from it to "
            f"{some_of(lost)}",
            f"容器使用独立网络（{listed}），从中无法连接 {some_of(lost)}",
        ),
        _HOST_NETWORK,
    )


CHECKS = (
    Check("shm", shm, cheap=True),
    Check("open-files", open_files, cheap=True),
    Check("processes", processes),
    Check("memory", memory, cheap=True),
    Check("clock", clock),
    Check("proxies", proxies),
    Check("container-network", container_network, cheap=True),
)


def _more_shm(wanted: int) -> Text:
    amount = max(1, -(-wanted // GIB))
    return Text(
        f"Start the container with `--shm-size={amount}g` or more (or --ipc=host), or remount: "
        f"`mount -o remount,size={amount}g /dev/shm`.",
        f"启动容器时加 `--shm-size={amount}g` 或更大（或 --ipc=host），或重新挂载："
        f"`mount -o remount,size={amount}g /dev/shm`。",
    )


def _judge_room(room: DiskRoom, started: int, seen: Text) -> Finding:
    advice = Text(
        "Raise `ulimit -u` or the cgroup's pids.max (docker run --pids-limit), or end processes.",
        "请调大 `ulimit -u` 或 cgroup 的 pids.max（docker run --pids-limit），或结束部分进程。",
    )
    if room.left < THREADS_AT_LEAST * started:
        return failed("processes", seen, advice)
    if room.left < THREADS_PER_PROCESS * started:
        return warning("processes", seen, advice)
    return Finding("processes", "ok", seen)


def _without_login(address: str) -> str:
    return re.sub(r"(?<=//)[^/@]*@", "***@", address) if "//" in address else _bare(address)


def _bare(address: str) -> str:
    login, at, rest = address.rpartition("@")
    return f"***@{rest}" if at and login else address


def _exempt(context: Context, node: str) -> bool:
    """Whether `no_proxy` covers a node, as most programs read it."""
    for name in ("no_proxy", "NO_PROXY"):
        for part in context.environ.get(name, "").split(","):
            entry = part.strip().lstrip(".")
            if entry == "*" or node == entry or (entry and node.endswith(f".{entry}")):
                return True
    return False
