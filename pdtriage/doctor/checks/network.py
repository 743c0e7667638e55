"""Addresses and ports: our own, and those of the other nodes."""

from __future__ import annotations

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Check, Finding, failed, ok, refused, skipped, warning
from pdtriage.doctor.kernel import listener_on
from pdtriage.doctor.ports import (
    fixed_ports,
    http_answer,
    ports_of_peers,
    reach,
    reach_all,
    wanted_ports,
)
from pdtriage.launch.plan.addresses import is_local, is_loopback, is_port, is_taken, split_endpoint
from pdtriage.launch.plan.cluster import node_count
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text


def nodes(context: Context) -> Finding:
    """`--nnodes`, servers and trainers, and the platform's variables make sense."""
    if isinstance(context.roles, UserError):
        return refused("nodes", context.roles)
    try:
        least, most = node_count(context.flags)
    except UserError as refusal:
        return refused("nodes", refusal)
    if context.node_addresses:
        least = most = len(context.node_addresses)
    shown = str(least) if least == most else f"{least}:{most}"
    plural = "" if shown == "1" else "s"
    return ok("nodes", f"{shown} node{plural}", f"{shown} 个节点")


def own_address_listed(context: Context) -> Finding:
    """Our place in `--ips`, or among servers and trainers."""
    name = "own-address"
    listed = context.node_addresses
    if not listed:
        return skipped(name, "no list of addresses", "没有地址列表")
    found = context.node_rank
    if isinstance(found, UserError):
        return refused(name, found)
    if found is None or not 0 <= found < len(listed):
        return failed(
            name,
            Text(
                f"PADDLE_TRAINER_ID={context.environ.get('PADDLE_TRAINER_ID')} is no place in "
                f"PADDLE_TRAINERS={','.join(listed)}",
                f"PADDLE_TRAINER_ID={context.environ.get('PADDLE_TRAINER_ID')} 与 "
                f"PADDLE_TRAINERS={','.join(listed)} 不符",
            ),
            Text("Correct the platform's variables.", "请修正平台设置的环境变量。"),
        )
    loopback = [node for node in listed if is_loopback(node)]
    if loopback and len(loopback) < len(listed):
        return failed(
            name,
            Text(
                f"{loopback[0]} means a different machine on every node",
                f"{loopback[0]} 在每个节点上都指向它自己",
            ),
            Text(
                "Write in --ips the address by which the other nodes reach it.",
                "请在 --ips 中写其他节点能访问到的地址。",
            ),
        )
    if len(loopback) > 1:
        return warning(
            name,
            Text("all nodes are loopback addresses", "所有节点都是回环地址"),
            Text(
                "Fine for several pods on this machine; for several machines write addresses by "
                "which the others reach them.",
                "仅适用于本机多个节点；多机任务请写其他机器能访问到的地址。",
            ),
        )
    return ok(
        name,
        f"{listed[found]} is node {found} of {len(listed)}",
        f"{listed[found]} 是 {len(listed)} 个节点中的第 {found} 个",
    )


def ports_free(context: Context) -> Finding:
    """Every port this node will listen on."""
    name = "ports"
    wanted = wanted_ports(context)
    wrong = [port for port in wanted if not is_port(port)]
    if wrong:
        return failed(
            name,
            Text(f"{wrong[0]} is not a port", f"{wrong[0]} 不是合法端口"),
            Text("Lower --start_port.", "请调小 --start_port。"),
        )
    if not wanted:
        return ok(name, "free ones will be chosen", "将自动选择空闲端口")
    taken = [port for port in wanted if is_taken(port)]
    if not taken:
        shown = _ranges(wanted)
        return ok(name, f"{shown} free", f"{shown} 空闲")
    shown = ", ".join(_holder(context, port) for port in taken)
    # Without the exchange between the nodes a job still runs.
    judged = failed if set(taken) & set(fixed_ports(context)) else warning
    return judged(
        name,
        Text(f"taken: {shown}", f"已被占用：{shown}"),
        Text(
            f"End what uses them (`ss -ltnp 'sport = :{taken[0]}'`), or choose other ports on "
            "every node (--start_port, --servers, --trainers, --facts-port).",
            f"请结束占用进程（`ss -ltnp 'sport = :{taken[0]}'`），或在所有节点上换端口"
            "（--start_port、--servers、--trainers、--facts-port）。",
        ),
    )


def port_range(context: Context) -> Finding:
    """Fixed ports inside the range the kernel gives to outgoing connections may be gone."""
    name = "port-range"
    wanted = fixed_ports(context)
    told = (context.read("/proc/sys/net/ipv4/ip_local_port_range") or "").split()
    if not wanted or len(told) != 2:
        return skipped(name, "no fixed ports", "没有固定端口")
    low, high = int(told[0]), int(told[1])
    reserved = _reserved_ports(context.read("/proc/sys/net/ipv4/ip_local_reserved_ports") or "")
    risky = [port for port in wanted if low <= port <= high and port not in reserved]
    if not risky:
        return ok(
            name,
            f"{_ranges(wanted)} outside of {low}-{high}, which outgoing connections use",
            f"{_ranges(wanted)} 不在对外连接使用的 {low}-{high} 范围内",
        )
    return warning(
        name,
        Text(
            f"any outgoing connection may take {_ranges(risky)}: the kernel gives out {low}-{high}",
            f"{_ranges(risky)} 可能被任意对外连接占用：内核从 {low}-{high} 中分配端口",
        ),
        Text(
            f"Choose --start_port below {low}, or reserve them: "
            f"`sysctl net.ipv4.ip_local_reserved_ports={_ranges(risky)}`.",
            f"请选择小于 {low} 的 --start_port，或保留这些端口："
            f"`sysctl net.ipv4.ip_local_reserved_ports={_ranges(risky)}`。",
        ),
    )


def master(context: Context) -> Finding:
    """The place where the nodes meet."""
    given = context.flags.master
    if not given or given.startswith("etcd://"):
        return skipped("master", "no --master of a node", "没有指定节点作为 --master")
    try:
        host, port = split_endpoint(given)
    except ValueError:
        return failed(
            "master",
            Text(f"--master cannot be {given!r}", f"--master 不能是 {given!r}"),
            Text("Write ip:port of node 0.", "请写节点 0 的 ip:port。"),
        )
    found = reach(host, port)
    if found == "listening":
        answer = http_answer(host, port, "/healthy")
        if answer is not None and answer.status == 200 and b"ok" in answer.body:
            return ok("master", f"a rendezvous is up at {given}", f"{given} 的汇合服务已就绪")
        return failed(
            "master",
            Text(
                f"something that is not the rendezvous of a Paddle job listens at {given}",
                f"{given} 上运行的不是 Paddle 任务的汇合服务",
            ),
            Text("Choose another port on all nodes.", "请在所有节点上换一个端口。"),
        )
    if found == "free" and is_local(host):
        return ok("master", f"{given} is here and free", f"{given} 在本机且空闲")
    if found == "free":
        return ok(
            "master", f"{given} can be reached, not up yet", f"{given} 可达，汇合服务尚未启动"
        )
    return failed("master", _no_way(given, found), _look_at_network())


def peers(context: Context) -> Finding:
    """Whether packets come through to every other node on every port of the job."""
    targets = ports_of_peers(context)
    if not targets:
        return skipped("peers", "no other nodes are named", "没有列出其他节点")
    found = reach_all(targets)
    blocked = {endpoint: how for endpoint, how in found.items() if how not in ("listening", "free")}
    hosts = list(dict.fromkeys(host for host, _ in targets))
    if not blocked:
        shown = _ranges(sorted({port for _, port in targets}))
        return ok(
            "peers",
            f"{', '.join(hosts)} can be reached on {shown}",
            f"{', '.join(hosts)} 的端口 {shown} 可达",
        )
    lines = []
    for host in hosts:
        ports = [port for (name, port) in blocked if name == host]
        if not ports:
            continue
        how = blocked[host, ports[0]]
        everything = len(ports) == sum(1 for name, _ in targets if name == host)
        lines.append(_no_way(host if everything else f"{host}:{_ranges(ports)}", how))
    seen = Text("; ".join(line.en for line in lines), "；".join(line.zh for line in lines))
    return failed("peers", seen, _look_at_network())


CHECKS = (
    Check("nodes", nodes),
    Check("own-address", own_address_listed),
    Check("ports", ports_free),
    Check("port-range", port_range),
    Check("master", master),
    Check("peers", peers),
)


def _holder(context: Context, port: int) -> str:
    who = listener_on(context, port)
    return f"{port} ({who})" if who else str(port)


def _no_way(what: str, how: str) -> Text:
    if how == "unknown-name":
        return Text(f"{what}: the name cannot be resolved", f"{what}：无法解析主机名")
    if how == "silent":
        return Text(f"{what} does not answer", f"{what} 没有响应")
    return Text(f"there is no way to {what}", f"{what} 无法到达")


def _look_at_network() -> Text:
    return Text(
        "Is that node up, the address right, and no firewall in between (open the ports, or choose "
        "others with --start_port)?",
        "请确认该节点已开机、地址正确、且没有防火墙阻挡"
        "（放行这些端口，或用 --start_port 换端口）。",
    )


def _ranges(ports: list[int]) -> str:
    """'6070-6077,6968'."""
    runs: list[list[int]] = []
    for port in sorted(ports):
        if runs and port == runs[-1][-1] + 1:
            runs[-1].append(port)
        else:
            runs.append([port])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _reserved_ports(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.strip().split(","):
        low, dash, high = part.partition("-")
        if low.isdecimal():
            found |= set(range(int(low), int(high if dash else low) + 1))
    return found
