"""Who takes part in a parameter-server job: servers, trainers, heter trainers and their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.addresses import (
    free_ports,
    host_part,
    is_local,
    is_loopback,
    is_port,
    loopback_among_nodes,
    port_of,
    refuse_taken,
)
from pdtriage.launch.plan.cluster import (
    CLOUD_START_PORT,
    Cluster,
    Meeting,
    node_count,
    own_rank,
    some_of,
)
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

LOOPBACK = "127.0.0.1"


class Roles(NamedTuple):
    """The whole job as one node knows it; the index in a list is the rank in that role."""

    servers: tuple[str, ...]
    workers: tuple[str, ...]
    gloo: str
    """Where gloo's processes meet: host:port."""
    nodes: tuple[str, ...]
    node_rank: int = 0
    stages: tuple[tuple[str, ...], ...] = ()
    """Heter trainers stage by stage; the trainers themselves are stage 1, these follow."""
    coordinators: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    """Endpoints of this node, where several nodes may share an address; empty: by the address."""
    peer_list: tuple[Mapping[str, object], ...] = ()
    """What the nodes told each other, where they met."""
    notes: tuple[Text, ...] = ()

    @property
    def heters(self) -> tuple[str, ...]:
        return tuple(endpoint for stage in self.stages for endpoint in stage)

    @property
    def address(self) -> str:
        return self.nodes[self.node_rank]

    @property
    def trainer_nodes(self) -> tuple[int, ...]:
        """Ranks of the nodes that hold trainers."""
        hosts = {host_part(endpoint) for endpoint in self.workers}
        return tuple(rank for rank, node in enumerate(self.nodes) if node in hosts)

    @property
    def everybody(self) -> tuple[str, ...]:
        """All endpoints of the job."""
        return (*self.servers, *self.workers, *self.coordinators, *self.heters)

    @property
    def own_endpoints(self) -> tuple[str, ...]:
        return tuple(endpoint for _, endpoint in self.here(self.everybody))

    def here(self, endpoints: Sequence[str]) -> list[tuple[int, str]]:
        """The processes that this node starts, as (rank, endpoint)."""
        return [
            (rank, endpoint)
            for rank, endpoint in enumerate(endpoints)
            if (endpoint in self.own if self.own else host_part(endpoint) == self.address)
        ]


def roles_of(flags: LaunchFlags, mode: str, environ: Mapping[str, str]) -> Roles:
    """Who takes part, by `--servers/--workers/--heter_workers` or by numbers alone."""
    roles = roles_of_job(flags, mode, environ)
    roles = roles._replace(node_rank=rank_among(flags, roles.nodes))
    refuse_taken(tuple(port_of(endpoint) for endpoint in roles.own_endpoints))
    return roles


def roles_of_job(flags: LaunchFlags, mode: str, environ: Mapping[str, str]) -> Roles:
    """The roles of a job before this node knows which of its nodes it is, or has free ports."""
    wanted = _wanted(flags, mode)
    hosts = list(dict.fromkeys(host for role in wanted for host, _ in role.listed))
    if len(hosts) > 1 and (unnamed := [r for r in wanted if r.number and not r.listed]):
        raise _role_without_hosts(unnamed[0].flag, hosts)
    _refuse_loopback(hosts)
    host = hosts[0] if hosts else flags.host or LOOPBACK
    single = len(hosts) < 2
    placed, notes = _assign_ports(wanted, flags, environ, host if single else None)
    servers, workers, coordinators, *stages = placed
    _refuse_twice([endpoint for role in placed for endpoint in role])
    return Roles(
        servers=servers,
        workers=workers,
        gloo=f"{host_part(servers[0])}:{_gloo_port(flags, environ, single)}",
        nodes=tuple(hosts) or (host,),
        stages=tuple(stages),
        coordinators=coordinators,
        notes=notes,
    )


def rank_among(flags: LaunchFlags, nodes: tuple[str, ...]) -> int:
    """Which of the nodes this machine is; raises `UserError` where it is none of them."""
    if len(nodes) == 1 and is_local(nodes[0]):
        return 0
    return own_rank(flags._replace(rank=-1), nodes, named="--servers/--workers")


def counts_of(flags: LaunchFlags) -> tuple[int, int]:
    """Servers and trainers of one node that is told no more than their numbers."""
    counts = (
        1 if flags.server_num is None else flags.server_num,
        1 if flags.trainer_num is None else flags.trainer_num,
    )
    for name, count in zip(("server_num", "worker_num"), counts, strict=True):
        _refuse_none(name, count)
    return counts


def needs_meeting(flags: LaunchFlags, mode: str) -> bool:
    """Whether the nodes have to tell each other where their servers and trainers are."""
    if flags.servers or flags.trainers or flags.heter_workers or node_count(flags)[1] < 2:
        return False
    if mode == "ps-heter" or flags.coordinator_num:
        raise UserError(
            Text(
                f"{node_count(flags)[1]} nodes cannot agree on heter trainers or coordinators by "
                "numbers alone.",
                f"{node_count(flags)[1]} 个节点无法仅凭数量协商异构训练节点或协调节点。",
            ),
            Text(
                "Name all processes on every node: --servers, --workers and --heter_workers.",
                "请在每个节点上写出全部进程：--servers、--workers 与 --heter_workers。",
            ),
        )
    return True


def stage_devices(flags: LaunchFlags, stages: int, kind: str) -> tuple[str, ...]:
    """Device of every heter stage: as asked for, else what this node has."""
    listed = [part.strip() for part in flags.heter_devices.split(";") if part.strip()]
    if not listed:
        return (kind,) * stages
    if len(listed) == 1:
        return (listed[0],) * stages
    if len(listed) != stages:
        raise UserError(
            Text(
                f"--heter_devices names {len(listed)} stages, but there are {stages}.",
                f"--heter_devices 给出 {len(listed)} 个阶段的设备，但共有 {stages} 个阶段。",
            ),
            Text(
                "Name one device for each stage, split by `;`.", "每个阶段写一种设备，用 ; 分隔。"
            ),
        )
    return tuple(listed)


def cluster_of(roles: Roles, meeting: Meeting, notes: tuple[Text, ...] = ()) -> Cluster:
    """The cluster of the trainers alone, as other modules know a job."""
    by_node = [
        tuple(endpoint for endpoint in roles.workers if host_part(endpoint) == node)
        for node in roles.nodes
    ]
    return Cluster(
        meeting=meeting,
        node_rank=roles.node_rank,
        nodes=roles.nodes,
        endpoints=tuple(by_node),
        master=roles.gloo,
        peer_list=roles.peer_list,
        notes=(*notes, *roles.notes),
        listed=roles.workers,
    )


class _Wanted(NamedTuple):
    """One role, or one stage of heter trainers, as the flags ask for it."""

    flag: str
    number: int
    listed: tuple[tuple[str, int | None], ...] = ()


def _wanted(flags: LaunchFlags, mode: str) -> list[_Wanted]:
    heter = mode == "ps-heter"
    least = None if heter or flags.servers or flags.trainers else 1
    server_num = least if flags.server_num is None else flags.server_num
    worker_num = least if flags.trainer_num is None else flags.trainer_num
    servers = _role("servers", "server_num", flags.servers, server_num)
    workers = _role("workers", "worker_num", flags.trainers, worker_num)
    coordinators = _Wanted("coordinators", 0)
    if flags.coordinators or flags.coordinator_num:
        coordinators = _role(
            "coordinators", "coordinator_num", flags.coordinators, flags.coordinator_num
        )
    return [servers, workers, coordinators, *(_heter_stages(flags) if heter else [])]


def _heter_stages(flags: LaunchFlags) -> list[_Wanted]:
    lists = flags.heter_workers.split(";") if flags.heter_workers else []
    numbers = [_number(part) for part in (flags.heter_worker_num or "").split(";") if part.strip()]
    if lists and numbers and len(lists) != len(numbers):
        raise _contradiction("heter_workers", "heter_worker_num", len(lists), len(numbers))
    if not lists and not numbers:
        raise _nothing_given("heter_workers", "heter_worker_num")
    stages = max(len(lists), len(numbers))
    return [
        _role(
            "heter_workers",
            "heter_worker_num",
            lists[stage] if lists else "",
            numbers[stage] if numbers else None,
        )
        for stage in range(stages)
    ]


def _role(flag: str, number_flag: str, text: str, count: int | None) -> _Wanted:
    listed = tuple(_entry(flag, part.strip()) for part in text.split(",") if part.strip())
    if count is not None:
        _refuse_none(number_flag, count)
    if listed and count is not None and count != len(listed):
        raise _contradiction(flag, number_flag, len(listed), count)
    if not listed and count is None:
        raise _nothing_given(flag, number_flag)
    return _Wanted(flag, len(listed) or count or 0, listed)


def _entry(flag: str, text: str) -> tuple[str, int | None]:
    host, colon, port = text.rpartition(":")
    if not colon:
        return text, None
    if not host or not port.isdecimal() or not is_port(int(port)):
        raise UserError(
            Text(f"--{flag} cannot name {text!r}.", f"--{flag} 中不能有 {text!r}。"),
            Text("It takes host:port,host:port,…", "它的值应为 host:port,host:port,…"),
        )
    return host, int(port)


def _assign_ports(
    wanted: list[_Wanted], flags: LaunchFlags, environ: Mapping[str, str], host: str | None
) -> tuple[list[tuple[str, ...]], tuple[Text, ...]]:
    """A port for everybody. Ports that are not given count on from the first one, so that every
    node computes the same; a node by itself takes free ones instead."""
    start = CLOUD_START_PORT if flags.start_port is None else flags.start_port
    numbered = sum(role.number for role in wanted if not role.listed)
    free: list[int] = []
    if flags.start_port is None and numbered:
        free = list(free_ports(numbered, environ))
    placed: list[tuple[str, ...]] = []
    notes: list[Text] = []
    before = 0
    for role in wanted:
        counted = range(start + before, start + before + role.number)
        before += role.number
        if not role.listed:
            ports = [free.pop(0) for _ in counted] if free else list(counted)
            placed.append(tuple(f"{host}:{port}" for port in ports))
        elif all(port is not None for _, port in role.listed):
            placed.append(tuple(f"{name}:{port}" for name, port in role.listed))
        else:
            if any(port is not None for _, port in role.listed):
                notes.append(_some_without_port(role.flag, counted))
            names = [name for name, _ in role.listed]
            placed.append(tuple(f"{n}:{port}" for n, port in zip(names, counted, strict=True)))
    return placed, tuple(notes)


def _gloo_port(flags: LaunchFlags, environ: Mapping[str, str], single: bool) -> int:
    if flags.http_port:
        return flags.http_port
    if single and "gloo_port" not in flags.given:
        return free_ports(1, environ)[0]
    return flags.gloo_port


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(
            Text(
                f"--heter_worker_num cannot be {text!r}.", f"--heter_worker_num 不能是 {text!r}。"
            ),
            Text("It takes numbers, one for each stage: 2;2.", "它的值应为各阶段的数字，如 2;2。"),
        ) from None


def _some_without_port(flag: str, ports: range) -> Text:
    return Text(
        f"some of --{flag} have no port: all of them get {ports[0]} to {ports[-1]}",
        f"--{flag} 中有的没有端口：全部改用 {ports[0]} 到 {ports[-1]}",
    )


def _refuse_none(number_flag: str, count: int) -> None:
    if count < 1:
        raise UserError(
            Text(f"--{number_flag} cannot be {count}.", f"--{number_flag} 不能是 {count}。"),
            Text("It takes 1 or more.", "它至少为 1。"),
        )


def _refuse_loopback(hosts: Sequence[str]) -> None:
    loopback = [host for host in hosts if is_loopback(host)]
    if loopback and len(hosts) > 1:
        remedy = Text(
            "Write in --servers and --workers the addresses by which the nodes reach each other.",
            "请在 --servers 与 --workers 中写各节点能互相访问的地址。",
        )
        raise loopback_among_nodes(loopback[0], remedy)


def _refuse_twice(endpoints: Sequence[str]) -> None:
    for endpoint, times in Counter(endpoints).items():
        if times > 1:
            raise UserError(
                Text(
                    f"{endpoint} is given to {times} processes.",
                    f"{endpoint} 被分配给 {times} 个进程。",
                ),
                Text(
                    "Give every server and every trainer a port of its own.",
                    "请为每个服务进程和训练进程指定不同的端口。",
                ),
            )


def _contradiction(flag: str, number_flag: str, listed: int, count: int) -> UserError:
    return UserError(
        Text(
            f"--{flag} names {listed}, but --{number_flag} says {count}.",
            f"--{flag} 有 {listed} 项，但 --{number_flag} 为 {count}。",
        ),
        Text("Correct one of them, or leave the number out.", "请更正其一，或省略数量。"),
    )


def _nothing_given(flag: str, number_flag: str) -> UserError:
    return UserError(
        Text(
            f"Neither --{flag} nor --{number_flag} is given.",
            f"没有给出 --{flag} 或 --{number_flag}。",
        ),
        Text(
            f"Write --{number_flag}=2 for this machine alone, or --{flag}=host:port,… for several.",
            f"单机请写 --{number_flag}=2，多机请写 --{flag}=host:port,…。",
        ),
    )


def _role_without_hosts(flag: str, hosts: Sequence[str]) -> UserError:
    listed = some_of(hosts)
    return UserError(
        Text(
            f"The job spans {listed}, and nothing says where the {flag} run.",
            f"任务分布在 {listed} 上，但没有说明 {flag} 在哪里运行。",
        ),
        Text(f"Add --{flag}=host:port,….", f"请加上 --{flag}=host:port,…。"),
    )
