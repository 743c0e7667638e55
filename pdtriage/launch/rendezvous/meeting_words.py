"""What is said of nodes that meet at `--master`: refusals, and what they are warned of."""

from __future__ import annotations

from collections.abc import Mapping

from pdtriage.support.errors import UserError
from pdtriage.support.language import Text


def another_secret(place: str) -> UserError:
    return UserError(
        Text(
            f"The job that meets at {place} has a secret, and this node was given another one or "
            "none.",
            f"在 {place} 汇合的作业设有密钥，而本节点没有密钥或密钥不一致。",
        ),
        Text(
            "Give every node the same --job_secret (or PDTRIAGE_JOB_SECRET).",
            "请为所有节点设置相同的 --job_secret（或 PDTRIAGE_JOB_SECRET）。",
        ),
    )


def ranks_twice(found: Mapping[str, str]) -> UserError:
    ranks = ", ".join(sorted(key.rpartition("/")[2] for key in found)[:16])
    return UserError(
        Text(
            f"The nodes were started with --rank {ranks}; each needs one of its own.",
            f"各节点的 --rank 为 {ranks}；每个节点应各不相同。",
        ),
        Text(
            "Give every node its own --rank, or none of them any.",
            "请为每个节点指定不同的 --rank，或全部不指定。",
        ),
    )


def still_there(place: str) -> Text:
    return Text(
        f"nodes that met at {place} before are still there: waiting for them to end",
        f"之前在 {place} 汇合的节点尚未结束：正在等待",
    )


def already_running(place: str) -> UserError:
    return UserError(
        Text(
            f"A job of this name that is already complete meets at {place}.",
            f"{place} 上已有一个同名且节点已到齐的作业。",
        ),
        Text(
            "Choose another --job_id or --master, or wait until it has ended.",
            "请换一个 --job_id 或 --master，或等它结束。",
        ),
    )


def too_many(found: int, size: int) -> UserError:
    return UserError(
        Text(
            f"{found} nodes have come to the rendezvous of a job of {size}.",
            f"{size} 个节点的作业来了 {found} 个节点。",
        ),
        Text(
            "End nodes left over from an earlier start, or choose another --job_id or --master.",
            "请结束之前遗留的节点，或换一个 --job_id 或 --master。",
        ),
    )


def no_secret_at_paddles(place: str) -> UserError:
    return UserError(
        Text(
            f"The nodes meet at {place} under Paddle's own launcher, which knows no --job_secret.",
            f"节点在 {place} 由 Paddle 自带的启动器汇合，它不支持 --job_secret。",
        ),
        Text(
            "Start every node with `pdtriage run`, or all of them without a secret.",
            "请用 `pdtriage run` 启动所有节点，或都不设置密钥。",
        ),
    )


def secret_under_paddles(place: str) -> UserError:
    return UserError(
        Text(
            f"The job that meets at {place} has a secret, and Paddle's own launcher knows none.",
            f"在 {place} 汇合的作业设有密钥，而 Paddle 自带的启动器不支持密钥。",
        ),
        Text(
            "Start this node without `--launcher paddle`, or all nodes without a secret.",
            "请去掉本节点的 `--launcher paddle`，或所有节点都不设置密钥。",
        ),
    )


def turned_away(address: str) -> Text:
    return Text(
        f"a node at {address} wants to join and does not know this job's secret: Paddle's own "
        "launcher knows none; start it with `pdtriage run` and the same --job_secret, or all nodes "
        "without one",
        f"{address} 上有节点想加入，但不知道本作业的密钥：Paddle 自带的启动器不支持密钥；"
        "请用 `pdtriage run` 和相同的 --job_secret 启动它，或所有节点都不设置密钥",
    )


def seen_as_another(address: str, seen: str) -> Text:
    return Text(
        f"the others see this node as {seen}, but are told to reach it at {address}: its network "
        "is hidden behind another machine's; in a container use `docker run --net=host`",
        f"其他节点看到的本机地址是 {seen}，而本机告知的是 {address}：本机位于另一台机器的网络之后，"
        "其他节点无法连接；在容器中请用 `docker run --net=host`",
    )
