"""What servers and trainers cannot be started with, each in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pdtriage.launch.plan.addresses import is_loopback
from pdtriage.launch.plan.cluster import some_of
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text


def refuse_none(number_flag: str, count: int) -> None:
    if count < 1:
        raise UserError(
            Text(f"--{number_flag} cannot be {count}.", f"--{number_flag} 不能是 {count}。"),
            Text("It takes 1 or more.", "它至少为 1。"),
        )


def refuse_mixed_loopback(hosts: Sequence[str]) -> None:
    loopback = [host for host in hosts if is_loopback(host)]
    if loopback and len(hosts) > 1:
        raise UserError(
            Text(
                f"{loopback[0]} means a different machine on every node.",
                f"{loopback[0]} 在每个节点上都指向它自己。",
            ),
            Text(
                "Write in --servers and --workers the addresses by which the nodes reach each "
                "other.",
                "请在 --servers 与 --workers 中写各节点能互相访问的地址。",
            ),
        )


def refuse_twice(endpoints: Sequence[str]) -> None:
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


def differing(flag: str, number_flag: str, listed: int, count: int) -> UserError:
    return UserError(
        Text(
            f"--{flag} names {listed}, but --{number_flag} says {count}.",
            f"--{flag} 有 {listed} 项，但 --{number_flag} 为 {count}。",
        ),
        Text("Correct one of them, or leave the number out.", "请更正其一，或省略数量。"),
    )


def nobody(flag: str, number_flag: str) -> UserError:
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


def unnamed_role(flag: str, hosts: Sequence[str]) -> UserError:
    listed = some_of(hosts)
    return UserError(
        Text(
            f"The job spans {listed}, and nothing says where the {flag} run.",
            f"作业分布在 {listed} 上，但没有说明 {flag} 在哪里运行。",
        ),
        Text(f"Add --{flag}=host:port,….", f"请加上 --{flag}=host:port,…。"),
    )
