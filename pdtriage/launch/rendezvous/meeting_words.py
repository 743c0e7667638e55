"""What is said of nodes that meet at `--master`: refusals, what they are warned of, and what the
report says of their exchange: whom it missed and what it ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_MOST_LISTED = 8


def another_secret(place: str) -> UserError:
    return UserError(
        Text(
            f"The job that meets at {place} has a secret, and this node was given another one or "
            "none.",
            f"在 {place} 汇合的任务设有密钥，而本节点没有密钥或密钥不一致。",
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


def counted_differently(own: int, others: Sequence[int]) -> UserError:
    counts = ", ".join(map(str, others[:_MOST_LISTED]))
    return UserError(
        Text(
            f"The nodes were started differently: this one waits for {own} nodes in all, another "
            f"one for {counts}.",
            f"各节点的启动方式不一致：本节点等待共 {own} 个节点，另有节点等待 {counts} 个。",
        ),
        Text("Start all nodes with the same --nnodes.", "请在所有节点上使用相同的 --nnodes。"),
    )


def other_jobs(own: str, place: str, others: Sequence[str]) -> Text:
    listed = ", ".join(others[:_MOST_LISTED]) + "…" * (len(others) > _MOST_LISTED)
    return Text(
        f"this is a node of the job {own}; at {place} there are also nodes of {listed}: those that "
        "belong together need the same --job_id",
        f"本节点属于任务 {own}；{place} 上还有任务 {listed} 的节点："
        "同一任务的节点须使用相同的 --job_id",
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
            f"{place} 上已有一个同名且节点已到齐的任务。",
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
            f"{size} 个节点的任务来了 {found} 个节点。",
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
            f"在 {place} 汇合的任务设有密钥，而 Paddle 自带的启动器不支持密钥。",
        ),
        Text(
            "Start this node without `--launcher paddle`, or all nodes without a secret.",
            "请去掉本节点的 `--launcher paddle`，或所有节点都不设置密钥。",
        ),
    )


def turned_away_text(address: str) -> Text:
    return Text(
        f"a node at {address} wants to join and does not know this job's secret: Paddle's own "
        "launcher knows none; start it with `pdtriage run` and the same --job_secret, or all nodes "
        "without one",
        f"{address} 上有节点想加入，但不知道本任务的密钥：Paddle 自带的启动器不支持密钥；"
        "请用 `pdtriage run` 和相同的 --job_secret 启动它，或所有节点都不设置密钥",
    )


def unreadable(number: int) -> Text:
    return Text(
        f"{number} announcement{'s' * (number != 1)} at the rendezvous cannot be understood and "
        f"{'are' if number != 1 else 'is'} left out: somebody else writes there; --job_secret "
        "keeps strangers away",
        f"汇合服务上有 {number} 条内容无法理解，已忽略：有其他程序向那里写入；"
        "设置 --job_secret 可拒绝外来者",
    )


def seen_as_another_text(address: str, seen: str) -> Text:
    return Text(
        f"the others see this node as {seen}, but are told to reach it at {address}: its network "
        "is hidden behind another machine's; in a container use `docker run --net=host`",
        f"其他节点看到的本机地址是 {seen}，而本机告知的是 {address}：本机位于另一台机器的网络之后，"
        "其他节点无法连接；在容器中请用 `docker run --net=host`",
    )


EXCHANGE_UNREACHED = Text(
    "the exchange between the nodes could not be reached at the end: what other nodes saw may be "
    "missing here",
    "结束时无法连接到节点之间交换信息的端口：其他节点看到的信息可能缺失",
)


def exchange_reached_late(seconds: float) -> Text:
    return Text(
        f"the exchange between the nodes could not be reached for the first {seconds:.0f} s: until "
        "then they knew nothing of each other",
        f"前 {seconds:.0f} 秒无法连接到节点之间交换信息的端口：在此之前各节点互不知情",
    )


def nodes_without_a_word(nodes: Sequence[int]) -> Text:
    listed = ", ".join(map(str, nodes[:_MOST_LISTED])) + "…" * (len(nodes) > _MOST_LISTED)
    return Text(
        f"nothing was heard of node {listed}: what it saw is missing here",
        f"没有收到节点 {listed} 的消息：它看到的信息缺失",
    )


def strangers_refused(number: int) -> Text:
    return Text(
        f"{number} request{'s' * (number != 1)} from somebody who does not know this job's secret "
        f"{'were' if number != 1 else 'was'} refused",
        f"拒绝了 {number} 个不知道本任务密钥的请求",
    )


def foreign_ranks_ignored(number: int) -> Text:
    return Text(
        f"what a node told of {number} rank(s) of other nodes was ignored",
        f"忽略了某节点关于其他节点上 {number} 个进程的说法",
    )
